import { entriesOf, salvage } from '../lib/schema-mistakes.ts'
import { describeValue, oneOf, unknownWord } from '../lib/usage-error.ts'
import type { Complain, Path } from '../lib/yaml.ts'
import type { Call } from './call.ts'
import { parseThreshold } from './parse-threshold.ts'
import type { Calls } from './resolve-calls.ts'
import type { Stage } from './scenario.ts'
import { sloSchema, thresholdSchema } from './schema.ts'
import { type Threshold, type Timing, timings } from './threshold.ts'

type Summary = {
  readonly calls: Calls
  readonly stages: readonly (Stage | null)[]
  readonly stageNames: readonly string[]
}

/** Complains of thresholds that say nothing, or that no observation of this scenario could ever decide. */
export function resolveThresholds(value: unknown, around: Summary, complain: Complain): readonly (Threshold | null)[] {
  return (Array.isArray(value) ? value : []).map((written: unknown, index) => {
    const path = ['thresholds', index, 'expect']
    const { expect: expression, why } = salvage(thresholdSchema, written)
    if (expression === undefined) return null
    const parsed = parseThreshold(expression, [...around.calls.keys()], around.stageNames)
    if (!('measure' in parsed)) {
      for (const problem of parsed) complain({ path, ...problem })
      return null
    }
    const threshold = ofSearch({ expression, why: why ?? '', ...parsed }, around)
    checkSampled(path, threshold, around, complain)
    return threshold
  })
}

/** By call, the longest good times. */
export function resolveSlo(
  value: unknown,
  calls: Calls,
  complain: Complain,
): Readonly<Record<string, Readonly<Partial<Record<Timing, number>>>>> {
  const names = [...calls.keys()]
  return Object.fromEntries(
    Object.entries(entriesOf(value)).map(([name, written]) => {
      if (!calls.has(name)) {
        complain({ path: ['slo', name], at: 'key', ...unknownWord(name, names, 'the name of a call') })
      }
      const read = salvage(sloSchema, written)
      const bounds: Partial<Record<Timing, number>> = {}
      for (const timing of timings) {
        const call = calls.get(name)
        const bound = read[timing]
        if (bound === undefined) continue
        bounds[timing] = bound
        if (!call || hasTiming(call, timing)) continue
        const expected = `${oneOf(timings.filter(each => hasTiming(call, each)))}, since ${name} is no streamed chat call`
        complain({ path: ['slo', name, timing], at: 'key', got: describeValue(timing), expected })
      }
      return [name, bounds]
    }),
  )
}

/** A capacity without a stage is that of the one stage that searches for one. */
function ofSearch(threshold: Threshold, { stages }: Summary): Threshold {
  if (threshold.measure.kind !== 'capacity' || threshold.stage !== null) return threshold
  const searches = searchesOf(stages)
  return searches.length === 1 ? { ...threshold, stage: searches[0] ?? null } : threshold
}

const searchesOf = (stages: readonly (Stage | null)[]): readonly string[] =>
  stages.flatMap(stage => (stage?.shape === 'capacity' ? [stage.name] : []))

/** A measure that nothing in the scenario yields would be without data for ever, so it is refused now. */
function checkSampled(path: Path, threshold: Threshold, { calls, stages }: Summary, complain: Complain): void {
  const { measure, call: name, stage: stageName, expression } = threshold
  const at = (word: string) => Math.max(0, expression.indexOf(` ${word}`) + 1)
  if (measure.kind === 'timing') {
    const candidates = name === null ? [...calls.values()] : [calls.get(name) ?? null]
    if (candidates.every(call => call !== null && !hasTiming(call, measure.timing))) {
      const expected = `a time that ${name === null ? 'the calls have' : `${name} has`}: latency, service-time or lateness`
      complain({ path, at: at(measure.timing), got: describeValue(measure.timing), expected })
    }
  }
  if (stages.includes(null)) return
  if (measure.kind === 'capacity' && !searchesOf(stages).includes(stageName ?? '')) {
    const searches = searchesOf(stages)
    const expected =
      searches.length === 0 ? 'a stage of shape "capacity"' : `"in" and a stage of shape "capacity": ${oneOf(searches)}`
    complain({ path, at: 0, got: stageName === null ? 'no stage' : describeValue(stageName), expected })
    return
  }
  if (name === null) return
  const senders = stages.flatMap(stage => (stage !== null && sends(stage, name) ? [stage.name] : []))
  if (senders.length === 0) {
    const expected = 'a call that some stage sends'
    complain({ path, at: at(name), got: describeValue(name), expected })
  } else if (stageName !== null && !senders.includes(stageName)) {
    const expected = `a stage that sends ${name}: ${oneOf(senders)}`
    complain({ path, at: expression.lastIndexOf(` ${stageName}`) + 1, got: describeValue(stageName), expected })
  }
}

/** Every call has the times of a request; those of tokens are seen in a stream only. */
function hasTiming(call: Call, timing: Timing): boolean {
  if (timing === 'latency' || timing === 'service-time' || timing === 'lateness') return true
  return call.kind === 'chat' && call.stream
}

/** What a recorded run sends is not known before it is read. */
function sends(stage: Stage, name: string): boolean {
  if (stage.shape === 'recorded') return true
  if (stage.shape === 'sequence') return stage.calls.includes(name)
  return 'mix' in stage && stage.mix.some(([call]) => call === name)
}
