import type { Observation } from '../../observation/observation.ts'
import { eachBy, type MergeRules, sum } from '../merge.ts'
import { lateForLoadMs } from '../metrics/instrument-error.ts'
import { missedByMs, type Slo, sloOutcome } from '../metrics/slo.ts'
import { isSuccess } from '../metrics/timings.ts'
import type { CallTally } from './judge-trial.ts'

/**
 * The requests of one call that one worker has sent in a trial. Plain data. `badBy`: how many of the certainly bad ones
 * were bad by 2ⁿ⁻¹ ms or more; the first number also has those that are bad whatever their times.
 */
export type PartialTally = Omit<CallTally, 'exposed'> & { readonly badBy: readonly number[] }

export type MutableTally = { -readonly [Name in keyof Omit<CallTally, 'exposed'>]: number } & {
  readonly badBy: number[]
}

export const emptyTally = (): MutableTally => ({
  good: 0,
  bad: 0,
  refused: 0,
  unmeasured: 0,
  doubtfullyGood: 0,
  doubtfullyBad: 0,
  badBy: [],
})

export function addToTally(tally: MutableTally, o: Observation, slo: Slo): void {
  if (o.outcome.kind === 'answered' && o.outcome.status === 429) tally.refused++
  else if (!isSuccess(o)) addBad(tally, 0)
  else {
    switch (sloOutcome(o, slo)) {
      case 'good':
        tally.good++
        return
      case 'doubtfully-good':
        tally.good++
        tally.doubtfullyGood++
        return
      case 'unmeasured':
        tally.unmeasured++
        return
      case 'doubtfully-missed':
        tally.bad++
        tally.doubtfullyBad++
        return
      case 'missed':
        addBad(tally, missedByMs(o, slo))
    }
  }
}

function addBad(tally: MutableTally, byMs: number): void {
  tally.bad++
  const index = byMs < 1 ? 0 : 1 + Math.floor(Math.log2(byMs))
  while (tally.badBy.length <= index) tally.badBy.push(0)
  tally.badBy[index] = (tally.badBy[index] ?? 0) + 1
}

export const copyTally = (tally: PartialTally): PartialTally => ({ ...tally, badBy: [...tally.badBy] })

export const tallyRules: MergeRules<PartialTally> = {
  ...eachBy(sum, ['good', 'bad', 'refused', 'unmeasured', 'doubtfullyGood', 'doubtfullyBad']),
  badBy: (own, part) =>
    (own.length > part.length ? own : part).map((_, index) => (own[index] ?? 0) + (part[index] ?? 0)),
}

/** The tally of a trial. `latestMs`: the largest lateness of its requests, which no other response is delayed beyond. */
export const tallyOf = ({ badBy, ...counts }: PartialTally, latestMs: number): CallTally => ({
  ...counts,
  exposed:
    latestMs <= lateForLoadMs
      ? 0
      : badBy.reduce((sum, each, index) => sum + (index === 0 || 2 ** (index - 1) <= latestMs ? each : 0), 0),
})
