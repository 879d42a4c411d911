import { probeNames } from '../contract/probes.ts'
import { entriesOf, salvage } from '../lib/schema-mistakes.ts'
import { describeValue, unknownWord } from '../lib/usage-error.ts'
import type { Complain, Path } from '../lib/yaml.ts'
import { checkSaturation } from './check-saturation.ts'
import { checkTier, type StageSurroundings } from './check-tier.ts'
import type { Calls } from './resolve-calls.ts'
import { checkCapacity, resolveCapacity } from './resolve-capacity.ts'
import type { Stage, StageLoad } from './scenario.ts'
import { stageSchemas } from './stage-schema.ts'
import { parseTurn, turnsOf } from './turns.ts'

/** Complains of stages that do not fit the calls, the callers and their limits. */
export function resolveStages(
  value: unknown,
  around: StageSurroundings,
  complain: Complain,
): readonly (Stage | null)[] {
  const names = new Set<unknown>()
  return (Array.isArray(value) ? value : []).map((written: unknown, index) => {
    const path = ['stages', index]
    const { name } = entriesOf(written)
    if (name !== undefined && names.has(name)) {
      const expected = 'a name that no other stage has'
      complain({ path: [...path, 'name'], at: 'value', got: `a second stage ${describeValue(name)}`, expected })
    }
    names.add(name)
    const named = checkNames(path, written, around.calls, complain)
    const stage = resolveStage(path, written, around, complain)
    // Where a call is not known, what the stage sends is not known either.
    if (stage === null || !named) return null
    checkTier(path, written, stage, around, complain)
    checkSaturation(path, stage, around.calls, complain)
    if (stage.shape === 'capacity') checkCapacity(path, written, stage, around, complain)
    return stage
  })
}

/** Whether each name of a call is one. */
function checkNames(path: Path, written: unknown, calls: Calls, complain: Complain): boolean {
  const what = 'the name of a call'
  const names = [...calls.keys()]
  const { mix, calls: sequence } = entriesOf(written)
  let named = true
  for (const name of Object.keys(entriesOf(mix))) {
    if (calls.has(name)) continue
    named = false
    complain({ path: [...path, 'mix', name], at: 'key', ...unknownWord(name, names, what) })
  }
  for (const [index, entry] of (Array.isArray(sequence) ? sequence : []).entries()) {
    if (typeof entry !== 'string') continue
    const { name } = parseTurn(entry)
    if (calls.has(name)) continue
    named = false
    const known = [...new Set([...names, ...probeNames])]
    complain({ path: [...path, 'calls', index], at: 'value', ...unknownWord(name, known, `${what} or of a probe`) })
  }
  return named
}

function resolveStage(path: Path, written: unknown, around: StageSurroundings, complain: Complain): Stage | null {
  if (entriesOf(written).shape === 'recorded') return resolveRecorded(written, around)
  const {
    name,
    duration: durationMs,
    callers: asked,
    'first-caller': first = 0,
    'beyond-failures': beyondFailures = false,
  } = salvage(stageSchemas.sequence, written)
  const count = around.callers
  if (count !== undefined && first >= count) {
    const expected = `at most ${count - 1}, the last of ${count} callers`
    complain({ path: [...path, 'first-caller'], at: 'value', got: String(first), expected })
    return null
  }
  if (count !== undefined && asked !== undefined && first + asked > count) {
    const expected = `at most ${count - first}, ${first === 0 ? 'the count of callers' : `the callers from ${first} on`}`
    complain({ path: [...path, 'callers'], at: 'value', got: String(asked), expected })
    return null
  }
  const load = resolveLoad(path, written, complain)
  const callers = asked ?? (count === undefined ? undefined : count - first)
  if (name === undefined || durationMs === undefined || callers === undefined || load === null) return null
  return { name, durationMs, callers, firstCaller: first, beyondFailures, ...load }
}

function resolveRecorded(written: unknown, { callers }: StageSurroundings): Stage | null {
  const {
    name,
    run,
    stage = null,
    speed,
    'beyond-failures': beyondFailures = false,
  } = salvage(stageSchemas.recorded, written)
  if (name === undefined || run === undefined || speed === undefined || callers === undefined) return null
  return { name, callers, firstCaller: 0, beyondFailures, shape: 'recorded', run, stage, speed }
}

function resolveLoad(path: Path, written: unknown, complain: Complain): StageLoad | null {
  const { shape } = entriesOf(written)
  switch (shape) {
    case 'constant':
    case 'poisson': {
      const { rate, mix } = salvage(stageSchemas.constant, written)
      return rate === undefined || mix === undefined ? null : { shape, rate, mix: Object.entries(mix) }
    }
    case 'ramp': {
      const { from, to, mix } = salvage(stageSchemas.ramp, written)
      if (from === undefined || to === undefined || mix === undefined) return null
      return { shape, from, to, mix: Object.entries(mix) }
    }
    case 'stairs':
      return resolveStairs(path, written, complain)
    case 'spike':
      return resolveSpike(path, written, complain)
    case 'burst': {
      const { size, every: everyMs = null, mix } = salvage(stageSchemas.burst, written)
      if (everyMs !== null && everyMs < 10) {
        complain({ path: [...path, 'every'], at: 'value', got: `${everyMs}ms`, expected: 'at least 10ms' })
        return null
      }
      return size === undefined || mix === undefined ? null : { shape, size, everyMs, mix: Object.entries(mix) }
    }
    case 'capacity':
      return resolveCapacity(written)
    case 'pause':
      return { shape }
    case 'closed': {
      const { users, think: thinkMs = 0, mix } = salvage(stageSchemas.closed, written)
      return users === undefined || mix === undefined ? null : { shape, users, thinkMs, mix: Object.entries(mix) }
    }
    case 'saturate': {
      const { connections, 'max-calls': maxCalls, mix } = salvage(stageSchemas.saturate, written)
      if (connections === undefined || maxCalls === undefined || mix === undefined) return null
      return { shape, connections, maxCalls, mix: Object.entries(mix) }
    }
    case 'sequence': {
      const { calls } = salvage(stageSchemas.sequence, written)
      return calls === undefined ? null : { shape, calls: turnsOf(calls) }
    }
    default:
      return null
  }
}

function resolveStairs(path: Path, written: unknown, complain: Complain): StageLoad | null {
  const { duration: durationMs, from, to, steps, ramp: rampMs = 0, mix } = salvage(stageSchemas.stairs, written)
  if (durationMs !== undefined && steps !== undefined && (steps - 1) * rampMs >= durationMs) {
    const most = Math.ceil(durationMs / (steps - 1)) - 1
    const expected = `at most ${most}ms, so that ${steps} levels fit into ${durationMs}ms`
    complain({ path: [...path, 'ramp'], at: 'value', got: `${rampMs}ms`, expected })
    return null
  }
  if (from === undefined || to === undefined || steps === undefined || mix === undefined) return null
  return { shape: 'stairs', from, to, steps, rampMs, mix: Object.entries(mix) }
}

function resolveSpike(path: Path, written: unknown, complain: Complain): StageLoad | null {
  const { duration: durationMs, base, peak, mix, ...when } = salvage(stageSchemas.spike, written)
  const { at: atMs, for: forMs, 'ramp-up': rampUpMs = 0, 'ramp-down': rampDownMs = 0 } = when
  if (atMs === undefined || forMs === undefined || durationMs === undefined) return null
  if (atMs < rampUpMs) {
    const expected = `at least ${rampUpMs}ms, the ramp up to it`
    complain({ path: [...path, 'at'], at: 'value', got: `${atMs}ms`, expected })
    return null
  }
  if (atMs + forMs + rampDownMs > durationMs) {
    const expected = `at most ${durationMs - atMs - rampDownMs}ms, which is left of the stage`
    complain({ path: [...path, 'for'], at: 'value', got: `${forMs}ms`, expected })
    return null
  }
  if (base === undefined || peak === undefined || mix === undefined) return null
  return { shape: 'spike', base, peak, atMs, forMs, rampUpMs, rampDownMs, mix: Object.entries(mix) }
}
