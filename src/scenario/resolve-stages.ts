import { probeNames } from '../contract/probes.ts'
import { entriesOf, parseFields } from '../lib/schemas.ts'
import { describeValue, unknownWord } from '../lib/usage-error.ts'
import type { Path, ReportMistake } from '../lib/yaml.ts'
import { type Calls, traitsOf } from './calls/calls.ts'
import { callsOf, checkTier, type StageContext } from './check-tier.ts'
import { type LoadShape, loadReaders, parseSequenceEntry, type Stage, stageSchemas } from './stage-schema.ts'
import { arrivalsPerSecond, tierRatePerMinute } from './tier-rate.ts'

/** Resolves the stages. Reports those that do not fit the calls, the callers or their limits. */
export function resolveStages(value: unknown, context: StageContext, report: ReportMistake): readonly (Stage | null)[] {
  const names = new Set<unknown>()
  return (Array.isArray(value) ? value : []).map((written: unknown, index) => {
    const path = ['stages', index]
    const { name } = entriesOf(written)
    if (name !== undefined && names.has(name)) {
      const expected = 'a unique name'
      report({ path: [...path, 'name'], at: 'value', got: `a second stage ${describeValue(name)}`, expected })
    }
    names.add(name)
    const named = checkNames(path, written, context.calls, report)
    const stage = resolveStage(path, written, context, report)
    // With an unknown call, the load of the stage is unknown too.
    if (stage === null || !named) return null
    checkTier(path, written, stage, context, report)
    checkSaturation(path, stage, context.calls, report)
    checkWallets(path, stage, context, report)
    if (stage.shape === 'capacity') checkCapacity(path, written, stage, context, report)
    return stage
  })
}

/** Reports calls that need a wallet in a stage of callers with keys, and wallets in a stage that saturates. */
function checkWallets(path: Path, stage: Stage, { calls, keyed, callers }: StageContext, report: ReportMistake): void {
  if (keyed === undefined || stage.shape === 'recorded') return
  if (stage.shape === 'saturate' && stage.firstCaller + stage.callers > keyed) {
    const expected = `callers with keys, the first ${keyed}, because busy connections do not wait for signatures`
    report({ path, at: 'value', got: 'wallets in a stage that saturates', expected })
  }
  if (stage.firstCaller >= keyed) return
  const names = 'calls' in stage ? stage.calls : 'mix' in stage ? stage.mix.map(([name]) => name) : []
  for (const name of new Set(names)) {
    const call = calls.get(name)
    if (!call || !traitsOf(call).needsWallet) continue
    const got = `${name} in a stage with callers that have no wallet`
    const expected =
      callers === keyed
        ? '"wallets" of "callers" above 0'
        : `"first-caller" of at least ${keyed}: wallets follow the other callers`
    report({ path, at: 'value', got, expected })
  }
}

/** Whether a stage names known calls only; reports the others. */
function checkNames(path: Path, written: unknown, calls: Calls, report: ReportMistake): boolean {
  const what = 'the name of a call'
  const names = [...calls.keys()]
  const { mix, calls: sequence } = entriesOf(written)
  let named = true
  for (const name of Object.keys(entriesOf(mix))) {
    if (calls.has(name)) continue
    named = false
    report({ path: [...path, 'mix', name], at: 'key', ...unknownWord(name, names, what) })
  }
  for (const [index, entry] of (Array.isArray(sequence) ? sequence : []).entries()) {
    if (typeof entry !== 'string') continue
    const { name } = parseSequenceEntry(entry)
    if (calls.has(name)) continue
    named = false
    const known = [...new Set([...names, ...probeNames])]
    report({ path: [...path, 'calls', index], at: 'value', ...unknownWord(name, known, 'the name of a call or probe') })
  }
  return named
}

function resolveStage(path: Path, written: unknown, context: StageContext, report: ReportMistake): Stage | null {
  const { shape } = entriesOf(written)
  if (shape === 'recorded') return resolveRecorded(path, written, context, report)
  const {
    name,
    duration: durationMs,
    callers: requested,
    'first-caller': firstCaller = 0,
    'exceed-failure-limit': beyondFailures = false,
  } = parseFields(stageSchemas.sequence, written)
  const count = context.callers
  if (count !== undefined && firstCaller >= count) {
    const expected = `at most ${count - 1}, the last of ${count} callers`
    report({ path: [...path, 'first-caller'], at: 'value', got: String(firstCaller), expected })
    return null
  }
  if (count !== undefined && requested !== undefined && firstCaller + requested > count) {
    const left = firstCaller === 0 ? 'the number of callers' : `the number of callers from ${firstCaller} on`
    const expected = `at most ${count - firstCaller}, ${left}`
    report({ path: [...path, 'callers'], at: 'value', got: String(requested), expected })
    return null
  }
  if (!isLoadShape(shape) || !checkTimes(path, written, report)) return null
  const load = loadReaders[shape](written)
  const callers = requested ?? (count === undefined ? undefined : count - firstCaller)
  if (name === undefined || durationMs === undefined || callers === undefined || load === null) return null
  const beyondTier = entriesOf(written)['exceed-tier'] === true
  return { name, durationMs, callers, firstCaller, beyondFailures, beyondTier, ...load }
}

function resolveRecorded(path: Path, written: unknown, { callers }: StageContext, report: ReportMistake): Stage | null {
  const { name, 'exceed-failure-limit': beyondFailures = false } = parseFields(stageSchemas.recorded, written)
  const load = loadReaders.recorded(written)
  const { run, trace, stage } = entriesOf(written)
  const expected = '"run" with a run directory, or "trace" with a trace'
  if (run === undefined && trace === undefined)
    report({ path, at: 'value', got: 'neither "run" nor "trace"', expected })
  if (run !== undefined && trace !== undefined)
    report({ path: [...path, 'trace'], at: 'key', got: 'both "run" and "trace"', expected })
  if (trace !== undefined && stage !== undefined)
    report({ path: [...path, 'stage'], at: 'key', got: '"stage" of a trace', expected: '"stage" only with "run"' })
  if (name === undefined || callers === undefined || load === null) return null
  return { name, callers, firstCaller: 0, beyondFailures, beyondTier: false, ...load }
}

const isLoadShape = (shape: unknown): shape is LoadShape =>
  typeof shape === 'string' && shape !== 'recorded' && Object.hasOwn(loadReaders, shape)

/** Whether the times of a stage fit together; reports those that do not. */
function checkTimes(path: Path, written: unknown, report: ReportMistake): boolean {
  switch (entriesOf(written).shape) {
    case 'burst': {
      const { every: everyMs } = parseFields(stageSchemas.burst, written)
      if (everyMs === undefined || everyMs >= 10) return true
      report({ path: [...path, 'every'], at: 'value', got: `${everyMs}ms`, expected: 'at least 10ms' })
      return false
    }
    case 'stairs': {
      const { duration: durationMs, steps, ramp: rampMs = 0 } = parseFields(stageSchemas.stairs, written)
      if (durationMs === undefined || steps === undefined || (steps - 1) * rampMs < durationMs) return true
      const max = Math.ceil(durationMs / (steps - 1)) - 1
      const expected = `at most ${max}ms, so that ${steps} levels fit into ${durationMs}ms`
      report({ path: [...path, 'ramp'], at: 'value', got: `${rampMs}ms`, expected })
      return false
    }
    case 'spike': {
      const { duration: durationMs, at: atMs, for: forMs, ...ramps } = parseFields(stageSchemas.spike, written)
      const { 'ramp-up': rampUpMs = 0, 'ramp-down': rampDownMs = 0 } = ramps
      if (atMs === undefined || forMs === undefined || durationMs === undefined) return false
      if (atMs < rampUpMs) {
        const expected = `at least ${rampUpMs}ms, the duration of "ramp-up"`
        report({ path: [...path, 'at'], at: 'value', got: `${atMs}ms`, expected })
        return false
      }
      if (atMs + forMs + rampDownMs <= durationMs) return true
      const expected = `at most ${durationMs - atMs - rampDownMs}ms, to end within the stage`
      report({ path: [...path, 'for'], at: 'value', got: `${forMs}ms`, expected })
      return false
    }
    case 'sequence': {
      const { duration: durationMs, 'at-most': atMostMs } = parseFields(stageSchemas.sequence, written)
      if (durationMs === undefined || atMostMs === undefined || durationMs <= atMostMs) return true
      const expected = `at least ${durationMs}ms, the duration of the stage`
      report({ path: [...path, 'at-most'], at: 'value', got: `${atMostMs}ms`, expected })
      return false
    }
    default:
      return true
  }
}

/** Reports a capacity search that is too short, or that has calls which fail on purpose. */
function checkCapacity(
  path: Path,
  written: unknown,
  stage: Extract<Stage, { readonly shape: 'capacity' }>,
  context: StageContext,
  report: ReportMistake,
): void {
  const source = entriesOf(written)
  const { mix, from, to, trialMs, confirmMs, durationMs, callers } = stage
  for (const [name] of mix) {
    const call = context.calls.get(name)
    if (!call || traitsOf(call).isSearchable) continue
    const expected = 'calls that should succeed: no probe, and no replay with conflicts'
    report({ path: [...path, 'mix', name], at: 'key', got: describeValue(name), expected })
  }
  const calls = callsOf(mix, context)
  if (calls === null) return
  if (trialMs + confirmMs > durationMs) {
    const expected = `at least ${(trialMs + confirmMs) / 1_000}s, for a trial and a confirmation`
    report({ path: [...path, 'duration'], at: 'value', got: describeValue(source.duration), expected })
  }
  if (context.limitOf === undefined) return
  const perMinute = tierRatePerMinute(mix, calls, context.limitOf)
  const [low, high] = [from, to].map(rate => arrivalsPerSecond(rate, perMinute, callers))
  if (low === undefined || high === undefined || !(low >= high)) return
  report({
    path: [...path, 'from'],
    at: 'value',
    got: describeValue(source.from),
    expected: `less than "to", ${describeValue(source.to)}`,
  })
}

/** Reports a saturate stage with calls that it cannot send, or with fewer calls than connections. */
function checkSaturation(path: Path, stage: Stage, calls: Calls, report: ReportMistake): void {
  if (stage.shape !== 'saturate') return
  if (stage.maxCalls < stage.connections) {
    const expected = `at least ${stage.connections}, one for each connection`
    report({ path: [...path, 'max-calls'], at: 'value', got: String(stage.maxCalls), expected })
  }
  for (const [name] of stage.mix) {
    const call = calls.get(name)
    const unfit = call ? traitsOf(call).unfitToSaturate : null
    if (unfit === null) continue
    const expected = 'calls of a single request that should succeed, without a stream'
    report({ path: [...path, 'mix', name], at: 'key', got: `${name}, ${unfit}`, expected })
  }
}
