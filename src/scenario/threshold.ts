/**
 * A condition on the summary of a run. As a person writes it:
 *
 *   threshold := measure [ "of" call ] [ "in" stage ] operator bound
 *   measure   := ( "p(" number ")" | "mean" | "min" | "max" ) timing     bound: a duration, `400ms`
 *              | count                                                  bound: `0`, `1%` (of the requests sent) or `5/s`
 *              | "credits"                                              bound: a whole number
 *              | "capacity"                                             bound: a rate, `50/s`
 *              | "spend"                                                bound: dollars, `$0.25`
 *   timing    := "latency" | "service-time" | "ttft" | "ttfct" | "tpot" | "itl" | "icl" | "lateness"
 *   count     := "sent" | "answered" | "good" | "failed" | "dropped" | "status(" number ")"
 *              | "violations" | "discrepancies" | "unexpected-429"
 *   operator  := "<" | "<=" | ">" | ">=" | "==" | "!="
 *
 * What judges and bills add up is known for the whole run only: violations, discrepancies, unexpected-429, credits and
 * spend take neither "of" nor "in". A capacity is that of a stage that searches for it; of one call, its share of it.
 */
export type Threshold = {
  /** As it was written. */
  readonly expression: string
  readonly why: string
  readonly measure: Measure
  /** The call that it is about; null: all of them. */
  readonly call: string | null
  /** The stage that it is about; null: the whole run. */
  readonly stage: string | null
  readonly operator: Operator
  /** In the unit of the measure: milliseconds, a count, a ratio (1 is 100 %), a count per second, credits or USD. */
  readonly bound: number
}

export type Measure =
  | { readonly kind: 'timing'; readonly timing: Timing; readonly of: Aggregate }
  | { readonly kind: 'count' | 'ratio' | 'per-second'; readonly count: Count }
  | { readonly kind: 'capacity' }
  | { readonly kind: 'credits' }
  | { readonly kind: 'spend' }

export type Aggregate =
  | { readonly kind: 'percentile'; readonly percent: number }
  | { readonly kind: 'mean' | 'min' | 'max' }

export type Count =
  | { readonly kind: (typeof plainCounts)[number] }
  /** Answers with this HTTP status. */
  | { readonly kind: 'status'; readonly status: number }

export type Operator = (typeof operators)[number]
export type Timing = (typeof timings)[number]

export const timings = ['latency', 'service-time', 'ttft', 'ttfct', 'tpot', 'itl', 'icl', 'lateness'] as const
export const plainCounts = [
  'sent',
  'answered',
  'good',
  'failed',
  'dropped',
  'violations',
  'discrepancies',
  'unexpected-429',
] as const
export const operators = ['<', '<=', '>', '>=', '==', '!='] as const
