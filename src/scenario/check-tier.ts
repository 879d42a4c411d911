import type { AccountTier } from '../contract/contract.ts'
import { plural } from '../lib/format.ts'
import { entriesOf } from '../lib/schemas.ts'
import { describeValue } from '../lib/usage-error.ts'
import type { Path, ReportMistake } from '../lib/yaml.ts'
import type { Call, Calls } from './calls/calls.ts'
import type { Mix } from './fields.ts'
import type { Stage } from './stage-schema.ts'
import { arrivalsPerSecond, burstArrivals, type LimitOf, tierRatePerMinute } from './tier-rate.ts'
import type { Rate } from './units.ts'

/** What stages need from the rest of the file; undefined if that part has a mistake. */
export type StageContext = {
  readonly calls: Calls
  readonly callers: number | undefined
  /** How many of them have API keys. They precede those with wallets. */
  readonly keyed: number | undefined
  readonly tier: AccountTier | undefined
  /** The limits of one caller; undefined if its tier is unknown. */
  readonly limitOf: LimitOf | undefined
  /** The limits of the target are not known yet, so nothing is compared with them. */
  readonly isTentative: boolean
}

/** Reports load above the limits of the callers, unless the stage exceeds them on purpose. */
export function checkTier(
  path: Path,
  written: unknown,
  stage: Stage,
  context: StageContext,
  report: ReportMistake,
): void {
  if (!('mix' in stage) || context.limitOf === undefined) return
  const calls = callsOf(stage.mix, context)
  // Without knowing all calls, the rate cannot be checked. The unknown ones are already reported.
  if (calls === null) return
  if (stage.shape === 'closed' || stage.shape === 'saturate') return

  const field = (key: string, value: unknown) =>
    ({ path: [...path, key], at: 'value', got: describeValue(value) }) as const
  const source = entriesOf(written)
  const perMinute = tierRatePerMinute(stage.mix, calls, context.limitOf)
  for (const [key, share] of sharesOf(stage)) {
    if (perMinute !== null || share === null) continue
    const absolute = stage.shape === 'burst' ? 'a number such as 20' : 'a rate such as 1/s'
    report({
      ...field(key, source[key]),
      expected: `${absolute}, since the profile has no limit for a call of the mix`,
    })
  }
  if (perMinute === null || context.isTentative) return
  const mayExceed = source['exceed-tier'] === true
  if (stage.shape === 'burst') {
    const reportBurst = (problem: { readonly expected: string }) =>
      report({ ...field('size', source.size), ...problem })
    checkBurst(stage, perMinute, mayExceed, context.tier, reportBurst)
  }
  const max = (perMinute * stage.callers) / 60
  for (const [key, rate] of ratesOf(stage)) {
    const perSecond = arrivalsPerSecond(rate, perMinute, stage.callers)
    if (mayExceed || perSecond <= max * (1 + 1e-9)) continue
    // More callers do not change a share.
    const expected =
      rate.kind === 'of-tier'
        ? 'at most 100% of tier'
        : `at most ${readable(max)}/s, which is 100% of tier${enoughCallers((perSecond * 60) / perMinute, context.tier)}`
    report({ ...field(key, source[key]), expected: `${expected}, or "exceed-tier: true"` })
  }
}

/** How many callers allow what one caller may do `times` times. */
const enoughCallers = (times: number, tier: AccountTier | undefined): string =>
  ` (${plural(Math.ceil(times * (1 - 1e-9)), 'caller')} of tier ${tier ?? 'default'} would allow it)`

type Burst = Stage & { readonly shape: 'burst' }

function checkBurst(
  { size, everyMs, durationMs, callers }: Burst,
  perMinute: number,
  mayExceed: boolean,
  tier: AccountTier | undefined,
  report: (problem: { readonly expected: string }) => void,
): void {
  const arrivals = size.kind === 'absolute' ? size.arrivals : burstArrivals(size.share, perMinute, callers)
  if (arrivals === 0)
    report({ expected: `a share that gives each caller at least one arrival: 100% of tier is ${readable(perMinute)}` })
  const every = everyMs ?? durationMs
  const burstsPerWindow = Math.ceil(Math.min(durationMs, 60_000) / every)
  if (mayExceed || arrivals * burstsPerWindow <= perMinute * callers * (1 + 1e-9)) return
  const often = burstsPerWindow === 1 ? '' : ` in ${burstsPerWindow} bursts per minute`
  const enough = size.kind === 'absolute' ? enoughCallers((arrivals * burstsPerWindow) / perMinute, tier) : ''
  report({
    expected: `at most ${Math.floor(perMinute * callers * (1 + 1e-9))} arrivals${often}, which is 100% of tier${enough}, or "exceed-tier: true"`,
  })
}

type CallsByName = Readonly<Record<string, Call>>

/** The calls of a mix by name; null if one of them is unknown or has a mistake. */
export function callsOf(mix: Mix, { calls }: Pick<StageContext, 'calls'>): CallsByName | null {
  const known: Record<string, Call> = {}
  for (const [name] of mix) {
    const call = calls.get(name)
    if (!call) return null
    known[name] = call
  }
  return known
}

function ratesOf(stage: Stage): readonly (readonly [key: string, rate: Rate])[] {
  switch (stage.shape) {
    case 'constant':
    case 'poisson':
      return [['rate', stage.rate]]
    case 'ramp':
    case 'stairs':
    case 'capacity':
      return Object.entries({ from: stage.from, to: stage.to })
    case 'spike':
      return Object.entries({ base: stage.base, peak: stage.peak })
    default:
      return []
  }
}

function sharesOf(stage: Stage): readonly (readonly [key: string, share: number | null])[] {
  if (stage.shape === 'burst') return [['size', stage.size.kind === 'of-tier' ? stage.size.share : null]]
  return ratesOf(stage).map(([key, rate]) => [key, rate.kind === 'of-tier' ? rate.share : null])
}

/** A number for a message: at most four decimals, rounded down, so that the number itself is allowed. */
const readable = (value: number): string => String(Math.floor(value * 10_000 + 1e-6) / 10_000)
