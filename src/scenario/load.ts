import type { Contract } from '../contract/contract.ts'
import { entriesOf, explainIssues, type SchemaIssue, salvage } from '../lib/schema-mistakes.ts'
import { UsageError } from '../lib/usage-error.ts'
import { type Complaint, parseYaml, readYaml } from '../lib/yaml.ts'
import { durationText } from './fields.ts'
import { withNamedProbes } from './named-probes.ts'
import { resolveCalls } from './resolve-calls.ts'
import { resolveStages } from './resolve-stages.ts'
import { resolveSlo, resolveThresholds } from './resolve-thresholds.ts'
import type { LimitsSpec, Scenario, ServiceSpec, TimeoutsSpec } from './scenario.ts'
import { budgetSchema, callersSchema, limitsSchema, scenarioSchema, serviceSchema } from './schema.ts'
import { checkTarget } from './target.ts'
import { durationHint } from './units.ts'

const scenarioFile = { name: 'scenario', secretHint: 'set TURNPIKE_KEYS, or name a file in callers.keys-file' }

const hintFor = (issue: SchemaIssue, got: unknown) => (issue.message === durationText ? durationHint(got) : {})

/** The scenario in `file`. Throws a UsageError with every mistake of the file, in the order of their lines. */
export function loadScenario(file: string, contract: Contract): Scenario {
  return parseScenario(readYaml(file, scenarioFile), file, contract)
}

/** As `loadScenario`, of text that was read from `file`. */
export function parseScenario(text: string, file: string, contract: Contract): Scenario {
  const source = parseYaml(text, file, scenarioFile)
  if (source.value === null)
    throw new UsageError({ where: `${file}:1:1`, got: 'an empty file', expected: 'a scenario' })

  const complaints: Complaint[] = [...explainIssues(scenarioSchema, source.value, { hint: hintFor })]
  const complain = (complaint: Complaint) => void complaints.push(complaint)
  const written = entriesOf(source.value)
  const top = salvage(scenarioSchema, source.value)
  const callers = salvage(callersSchema, written.callers)
  const calls = withNamedProbes(resolveCalls(written.calls, callers, contract, complain), written.stages)
  const around = { calls, callers: callers.count, accountTier: callers.tier, contract }
  const stages = resolveStages(written.stages, around, complain)
  const stageNames = (Array.isArray(written.stages) ? written.stages : []).map(stage => String(entriesOf(stage).name))
  const slo = resolveSlo(written.slo, calls, complain)
  const thresholds = resolveThresholds(written.thresholds, { calls, stages, stageNames }, complain)
  const target =
    top.target === undefined
      ? null
      : checkTarget(top.target, problem => complain({ path: ['target'], at: 'value', ...problem }))

  const mistakes = source.locate(complaints)
  if (mistakes.length > 0) throw new UsageError(mistakes)
  const { name, record } = top
  const { count, 'keys-each': keys, tier: accountTier, shared, limits } = callers
  if (
    name === undefined ||
    record === undefined ||
    count === undefined ||
    keys === undefined ||
    accountTier === undefined ||
    shared === undefined ||
    limits === undefined
  ) {
    throw new TypeError('a scenario without a mistake is complete')
  }
  return {
    name,
    question: top.question ?? null,
    target,
    service: serviceOf(written.service),
    seed: top.seed ?? null,
    callers: { count, keys, accountTier, shared, limits, keysFile: callers['keys-file'] ?? null },
    calls: Object.fromEntries([...calls].map(([call, value]) => [call, whole(value)])),
    stages: stages.map(whole),
    slo,
    budgetUsd: salvage(budgetSchema, written.budget).usd ?? null,
    limits: limitsOf(written.limits),
    record,
    thresholds: thresholds.map(whole),
  }
}

function serviceOf(value: unknown): ServiceSpec | null {
  const { slots, 'service-time': serviceTimeMs, spread, queue } = salvage(serviceSchema, value)
  if (slots === undefined || serviceTimeMs === undefined || spread === undefined || queue === undefined) return null
  return { slots, serviceTimeMs, spread, queue }
}

function limitsOf(value: unknown): LimitsSpec {
  const limits = salvage(limitsSchema, value)
  const timeouts = (group: 'chat' | 'rpc' | 'control'): TimeoutsSpec => {
    const { connect, headers, idle, total } = limits.timeouts?.[group] ?? {}
    return { connectMs: connect ?? null, headersMs: headers ?? null, idleMs: idle ?? null, totalMs: total ?? null }
  }
  return {
    maxInFlight: limits['max-in-flight'] ?? null,
    maxBodyBytes: limits['max-body'] ?? null,
    drainMs: limits.drain ?? null,
    timeouts: { chat: timeouts('chat'), rpc: timeouts('rpc'), control: timeouts('control') },
  }
}

/** What has no value has a complaint; this runs when there are none. */
function whole<T>(value: T | null): T {
  if (value === null) throw new TypeError('a scenario without a mistake is complete')
  return value
}
