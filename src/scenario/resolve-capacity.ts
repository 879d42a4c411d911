import { entriesOf, salvage } from '../lib/schema-mistakes.ts'
import { describeValue } from '../lib/usage-error.ts'
import type { Complain, Path } from '../lib/yaml.ts'
import type { Call, Mix } from './call.ts'
import type { StageSurroundings } from './check-tier.ts'
import type { CapacitySpec, Stage } from './scenario.ts'
import { stageSchemas } from './stage-schema.ts'
import { arrivalsPerSecond, profileLimits, tierPerMinute } from './tier-rate.ts'

type Search = { readonly shape: 'capacity'; readonly mix: Mix } & CapacitySpec

/** What a search goes by; null where a part of it is missing or wrong, of which others complain. */
export function resolveCapacity(written: unknown): Search | null {
  const {
    from,
    to,
    good,
    precision,
    trial: trialMs,
    confirm: confirmMs,
    'cool-down': coolDownMs,
    spacing,
    mix,
  } = salvage(stageSchemas.capacity, written)
  if (from === undefined || to === undefined || mix === undefined) return null
  if (good === undefined || precision === undefined || spacing === undefined) return null
  if (trialMs === undefined || confirmMs === undefined || coolDownMs === undefined) return null
  return {
    shape: 'capacity',
    from,
    to,
    good,
    precision,
    trialMs,
    confirmMs,
    coolDownMs,
    spacing,
    mix: Object.entries(mix),
  }
}

/** Complains of a search that cannot come to an end, or whose calls are not meant to succeed. */
export function checkCapacity(
  path: Path,
  written: unknown,
  stage: Stage & Search,
  { calls, accountTier, contract }: StageSurroundings,
  complain: Complain,
): void {
  const source = entriesOf(written)
  const { mix, from, to, trialMs, confirmMs, durationMs, callers } = stage
  const known: Record<string, Call> = {}
  for (const [name] of mix) {
    const call = calls.get(name)
    if (!call) return
    known[name] = call
    const isToFail = call.kind === 'probe' || (call.kind === 'replay' && call.conflicting > 0)
    const expected = 'calls that are to succeed: no probe, and no replay that conflicts'
    if (isToFail) complain({ path: [...path, 'mix', name], at: 'key', got: describeValue(name), expected })
  }
  if (trialMs + confirmMs > durationMs) {
    const expected = `at least ${(trialMs + confirmMs) / 1_000}s, a trial and a confirmation`
    complain({ path: [...path, 'duration'], at: 'value', got: describeValue(source.duration), expected })
  }
  if (accountTier === undefined) return
  const perMinute = tierPerMinute(mix, known, profileLimits(accountTier, contract))
  const [low, high] = [from, to].map(rate => arrivalsPerSecond(rate, perMinute, callers))
  if (low === undefined || high === undefined || !(low >= high)) return
  complain({
    path: [...path, 'from'],
    at: 'value',
    got: describeValue(source.from),
    expected: `less than "to", ${describeValue(source.to)}`,
  })
}
