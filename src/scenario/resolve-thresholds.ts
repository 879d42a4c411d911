import { entriesOf, parseFields } from '../lib/schemas.ts'
import { describeValue, oneOf, unknownWord } from '../lib/usage-error.ts'
import type { Path, ReportMistake } from '../lib/yaml.ts'
import { type Call, type Calls, traitsOf } from './calls/calls.ts'
import { sloSchema, writtenThresholdSchema } from './schema.ts'
import type { Stage } from './stage-schema.ts'
import { parseThreshold, type Threshold, type Timing, timings } from './threshold.ts'

type Summary = {
  readonly calls: Calls
  readonly stages: readonly (Stage | null)[]
  readonly stageNames: readonly string[]
}

/** Resolves the thresholds. Reports those that do not parse, and those that can never have data in this scenario. */
export function resolveThresholds(
  value: unknown,
  summary: Summary,
  report: ReportMistake,
): readonly (Threshold | null)[] {
  return (Array.isArray(value) ? value : []).map((written: unknown, index) => {
    const path = ['thresholds', index, 'expect']
    const { expect: expression, why } = parseFields(writtenThresholdSchema, written)
    if (expression === undefined) return null
    const parsed = parseThreshold(expression, [...summary.calls.keys()], summary.stageNames)
    if (!('measure' in parsed)) {
      for (const problem of parsed) report({ path, ...problem })
      return null
    }
    const threshold = ofSearch({ expression, why: why ?? '', ...parsed }, summary)
    checkSampled(path, threshold, summary, report)
    return threshold
  })
}

/** Resolves the longest good times by call. Reports unknown calls, and timings that a call does not have. */
export function resolveSlo(
  value: unknown,
  calls: Calls,
  report: ReportMistake,
): Readonly<Record<string, Readonly<Partial<Record<Timing, number>>>>> {
  const names = [...calls.keys()]
  return Object.fromEntries(
    Object.entries(entriesOf(value)).map(([name, written]) => {
      if (!calls.has(name)) {
        report({ path: ['slo', name], at: 'key', ...unknownWord(name, names, 'the name of a call') })
      }
      const read = parseFields(sloSchema, written)
      const bounds: Partial<Record<Timing, number>> = {}
      for (const timing of timings) {
        const call = calls.get(name)
        const bound = read[timing]
        if (bound === undefined) continue
        bounds[timing] = bound
        if (!call || hasTiming(call, timing)) continue
        const expected = `${oneOf(timings.filter(each => hasTiming(call, each)))}, since ${name} is not a streamed chat call`
        report({ path: ['slo', name, timing], at: 'key', got: describeValue(timing), expected })
      }
      return [name, bounds]
    }),
  )
}

/** A capacity without a stage refers to the only capacity stage. */
function ofSearch(threshold: Threshold, { stages }: Summary): Threshold {
  if (threshold.measure.kind !== 'capacity' || threshold.stage !== null) return threshold
  const searches = searchesOf(stages)
  return searches.length === 1 ? { ...threshold, stage: searches[0] ?? null } : threshold
}

const searchesOf = (stages: readonly (Stage | null)[]): readonly string[] =>
  stages.flatMap(stage => (stage?.shape === 'capacity' ? [stage.name] : []))

/** Reports a threshold that can never have data. */
function checkSampled(path: Path, threshold: Threshold, { calls, stages }: Summary, report: ReportMistake): void {
  const { measure, call: name, stage: stageName, expression } = threshold
  const at = (word: string) => Math.max(0, expression.indexOf(` ${word}`) + 1)
  if (measure.kind === 'timing') {
    const candidates = name === null ? [...calls.values()] : [calls.get(name) ?? null]
    if (candidates.every(call => call !== null && !hasTiming(call, measure.timing))) {
      const expected = `a timing of ${name === null ? 'the calls' : name}: latency, service-time or lateness`
      report({ path, at: at(measure.timing), got: describeValue(measure.timing), expected })
    }
  }
  if (stages.includes(null)) return
  if (measure.kind === 'capacity' && !searchesOf(stages).includes(stageName ?? '')) {
    const searches = searchesOf(stages)
    const expected =
      searches.length === 0 ? 'a stage of shape "capacity"' : `"in" and a stage of shape "capacity": ${oneOf(searches)}`
    report({ path, at: 0, got: stageName === null ? 'no stage' : describeValue(stageName), expected })
    return
  }
  if (name === null) return
  const senders = stages.flatMap(stage => (stage !== null && sends(stage, name) ? [stage.name] : []))
  if (senders.length === 0) {
    const expected = 'a call that a stage sends'
    report({ path, at: at(name), got: describeValue(name), expected })
  } else if (stageName !== null && !senders.includes(stageName)) {
    const expected = `a stage that sends ${name}: ${oneOf(senders)}`
    report({ path, at: expression.lastIndexOf(` ${stageName}`) + 1, got: describeValue(stageName), expected })
  }
}

/** Every call has request timings; only a stream has token timings. */
function hasTiming(call: Call, timing: Timing): boolean {
  if (timing === 'latency' || timing === 'service-time' || timing === 'lateness') return true
  return traitsOf(call).isStream
}

/** A recorded stage may send any call, since its run is not read yet. */
function sends(stage: Stage, name: string): boolean {
  if (stage.shape === 'recorded') return true
  if (stage.shape === 'sequence') return stage.calls.includes(name)
  return 'mix' in stage && stage.mix.some(([call]) => call === name)
}
