import type { Contract } from '../contract/contract.ts'
import { formatDuration, formatRatio, threeDigits } from '../lib/format.ts'
import { formatPico, pico } from '../lib/money.ts'
import { tQuantile } from '../lib/statistics/student-t.ts'
import { type Mistake, oneOf, UsageError } from '../lib/usage-error.ts'
import { parseThreshold } from '../scenario/threshold.ts'
import { maxUsd } from './cost.ts'
import { type Plan, traitsOf } from './plan.ts'

/** The timings that runs are compared by. */
const timings = ['latency', 'service-time', 'ttft', 'tpot'] as const

/** A change for the worse that somebody wants to notice. */
export type Change = {
  readonly timing: (typeof timings)[number]
  readonly percent: number
  readonly call: string | null
  readonly stage: string | null
  /** 0.05 is 5 %. */
  readonly ratio: number
}

/** How much the values of a run vary, and how it is known. */
export type Spread = {
  /** Of the logarithm of the percentile, if a run had one value. */
  readonly deviation: number
  /** The values of the baseline; null: it gets as many as the run. */
  readonly values: number | null
  /** A sentence without its full stop. */
  readonly assumption: string
}

/** What noticing a change takes. A part that no length of a run gives is null. */
export type Detection = {
  readonly change: string
  readonly power: number
  readonly assumption: string
  /** Values that the plan as it is expects, and the smallest rise that they show. */
  readonly planned: { readonly values: number; readonly ratio: number | null }
  /** If nothing but the change differs, as between the targets of `turnpike diff`. */
  readonly sideBySide: Needed | null
  /** If runs also differ by chance as a whole, as `turnpike compare` assumes. */
  readonly separate: Needed | null
}

/** For one run. Stages that give values last `times` as long as planned. */
type Needed = {
  readonly values: number
  readonly times: number
  readonly requests: number
  readonly durationMs: number
  /** The worst case, a decimal; null: a price is unknown. */
  readonly usd: string | null
}

const example = '"p95 ttft of chat +5%"'

/** Parses `p95 ttft of chat in steady +5%`. Throws a UsageError. */
export function parseChange(text: string, plan: Pick<Plan, 'calls' | 'stages'>): Change {
  const refuse = (mistake: Omit<Mistake, 'where'>) => new UsageError({ where: '--detect', ...mistake })
  const [, of = '', rise = ''] = /^(.*?)\s*\+\s*(\d+(?:\.\d+)?)\s*%\s*$/.exec(text) ?? []
  const ratio = Number(rise) / 100
  if (!(ratio > 0 && ratio <= maxRatio))
    throw refuse({
      got: JSON.stringify(text),
      expected: `a measure and a rise of up to ${maxRatio * 100}%, such as ${example}`,
    })
  const calls = Object.keys(plan.calls)
  const stages = plan.stages.map(({ name }) => name)
  const read = parseThreshold(`${of.replace(/^p(\d+(?:\.\d+)?)(?=\s)/, 'p($1)')} < 1s`, calls, stages)
  const expected = `a percentile of ${oneOf(timings)}, such as ${example}`
  if (Array.isArray(read)) {
    const [first] = read
    throw refuse({
      got: first?.got.includes('end of') ? JSON.stringify(of) : (first?.got ?? of),
      expected: first?.expected ?? expected,
      ...(first?.hint && { hint: first.hint }),
    })
  }
  const { measure, call, stage } = read as Exclude<typeof read, readonly unknown[]>
  const timing = measure.kind === 'timing' ? timings.find(each => each === measure.timing) : undefined
  if (measure.kind !== 'timing' || measure.of.kind !== 'percentile' || timing === undefined)
    throw refuse({ got: JSON.stringify(of), expected })
  return { timing, percent: measure.of.percent, call, stage, ratio }
}

const maxRatio = 10

/** Throws a UsageError for a power that is none. */
export function assertPower(power: number): number {
  if (power >= 0.5 && power <= 0.999) return power
  throw new UsageError({ where: '--power', got: String(power), expected: 'a chance from 0.5 to 0.999, such as 0.9' })
}

/** The chance of an alarm without a change. */
const falseAlarm = 0.05

const normal = (tail: number): number => (tail === 0.5 ? 0 : tQuantile(tail, Number.POSITIVE_INFINITY))

/** How far apart two estimates must be on average, in standard deviations of their difference. */
const distance = (power: number): number => normal(falseAlarm) + normal(1 - power)

/** Times of many services are about log-normal; with this sigma, their p95 is 2.3 times their median. */
const usualSigma = 0.5

/** Without a run that shows it. */
export function usualSpread(percent: number): Spread {
  const share = percent / 100
  const z = percent === 50 ? 0 : normal(Math.min(share, 1 - share))
  const density = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)
  return {
    deviation: (Math.sqrt(share * (1 - share)) / density) * usualSigma,
    values: null,
    assumption:
      'times are log-normal, with a p95 of 2.3 times the median; with --baseline, a run of yours says how they are',
  }
}

export function detect(
  plan: Plan,
  contract: Contract,
  change: Change,
  { spread, power, noise }: { readonly spread: Spread; readonly power: number; readonly noise: number },
): Detection {
  const { percent, timing, call, stage, ratio } = change
  const rows = plan.forecast.calls.filter(row => (call ?? row.call) === row.call && (stage ?? row.stage) === row.stage)
  const isTimed = (name: string) => {
    const planned = plan.calls[name]
    return timing === 'latency' || timing === 'service-time' || (planned !== undefined && traitsOf(planned).isStream)
  }
  const values = rows.reduce((sum, row) => sum + (isTimed(row.call) ? row.samples : 0), 0)
  const { deviation } = spread
  const least = (of: number) => Math.expm1((distance(power) * deviation * Math.SQRT2) / Math.sqrt(of))
  const neededFor = (between: number): Needed | null => {
    if (values === 0) return null
    const room = (Math.log1p(ratio) / distance(power)) ** 2 - 2 * between ** 2
    const each = spread.values === null ? room / (2 * deviation ** 2) : room / deviation ** 2 - 1 / spread.values
    return each > 0
      ? lengthened(
          plan,
          contract,
          new Set(rows.filter(row => isTimed(row.call)).map(row => row.stage)),
          Math.ceil(1 / each),
          values,
        )
      : null
  }
  return {
    change: `p(${percent}) ${timing}${call === null ? '' : ` of ${call}`}${stage === null ? '' : ` in ${stage}`} +${threeDigits(ratio * 100)}%`,
    ...{ power, assumption: spread.assumption },
    planned: { values, ratio: values === 0 ? null : least(values) },
    sideBySide: neededFor(0),
    separate: neededFor(noise),
  }
}

/** The plan with stages that are long enough for the values. It is never shorter than it is. */
function lengthened(
  plan: Plan,
  contract: Contract,
  stages: ReadonlySet<string>,
  needed: number,
  values: number,
): Needed {
  const times = Math.max(1, needed / values)
  const rows = plan.forecast.calls.filter(({ stage }) => stages.has(stage))
  const requests = rows.reduce((sum, row) => sum + row.requests, 0)
  const durationMs = plan.stages.reduce((sum, stage) => sum + (stages.has(stage.name) ? stage.durationMs : 0), 0)
  const counts = rows.flatMap(({ call: name, requests: sent }) => {
    const call = plan.calls[name]
    return call === undefined ? [] : [{ call, arrivals: (sent / traitsOf(call).requests) * (times - 1) }]
  })
  const [ofPlan, more] = [plan.forecast.worstUsd, maxUsd(counts, contract)]
  return {
    values: needed,
    times,
    requests: Math.round(plan.forecast.requests + requests * (times - 1)),
    durationMs: plan.forecast.durationMs + durationMs * (times - 1),
    usd: ofPlan === null || more === null ? null : formatPico(pico(ofPlan) + pico(more)),
  }
}

/** As text, with a blank line before it. */
export function describeDetection(
  { change, power, assumption, planned, sideBySide, separate }: Detection,
  noise: number,
): string {
  const needed = (found: Needed | null, why: string) =>
    found === null
      ? why
      : `${count(found.values)} values: ${count(found.requests)} requests, ${formatDuration(found.durationMs)}, worst case ${found.usd === null ? 'unknown' : `$${found.usd}`}${found.times > 1 ? `; the plan, ${threeDigits(found.times)} times as long` : '; the plan as it is'}`
  const none = 'no length of a run is enough'
  const lines = [
    [
      'as planned',
      planned.ratio === null
        ? 'no value is expected'
        : `${count(planned.values)} values notice ${formatRatio(planned.ratio)} or more`,
    ],
    [
      'side by side',
      needed(sideBySide, planned.values === 0 ? none : `${none}, since the baseline has too few values`),
    ],
    [
      'separate runs',
      needed(
        separate,
        `${none}: two runs differ by ${formatRatio(noise)} each without a change (--noise-floor); use turnpike diff`,
      ),
    ],
    ['assumption', assumption],
  ] as const
  const text = lines.map(([name, value]) => `  ${name.padEnd(15)}${value}\n`).join('')
  return `\nTo notice ${change} with power ${power}, each of two runs needs\n\n${text}`
}

const count = (value: number): string => value.toLocaleString('en')
