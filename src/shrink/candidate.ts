import { isSystemStage, keyCallers, type Plan, systemCallsOf } from '../plan/plan.ts'
import type { SequenceRequest } from '../run/sequence.ts'
import { type WrittenCall, withoutDefaults, writtenCallsOf } from '../scenario/calls/calls.ts'
import type { WrittenScenario } from '../scenario/load-scenario.ts'

/** Requests of one caller that are sent one after another, or all at once. `pauseMs`: what is waited before. */
export type Step = {
  readonly call: string
  readonly caller: string
  readonly times: number
  readonly isAtOnce: boolean
  readonly pauseMs: number
}

/** A scenario that can be made smaller. */
export type Candidate = {
  readonly calls: Readonly<Record<string, WrittenCall>>
  readonly steps: readonly Step[]
  /** What its stages may exceed. */
  readonly exceeds: readonly Exceeded[]
}

const exceedable = ['exceed-tier', 'exceed-failure-limit'] as const
type Exceeded = (typeof exceedable)[number]

/** What stays as it was in the run: who the callers are. */
export type Setting = Pick<Plan, 'callers' | 'calls' | 'stages'>

/** A shorter gap between two requests is not a wait. */
const minPauseMs = 200

/** The arrivals that the requests of a finding belong to, in the order of sending, with the waits between them. */
function candidateOf(requests: readonly SequenceRequest[], setting: Setting): Candidate {
  const ofLoad = requests.filter(({ stage }) => !isSystemStage(stage))
  // A check of a balance before or after the load is a call like others.
  const arrivals = arrivalsOf(
    ofLoad.length > 0 ? ofLoad : requests.map(each => ({ ...each, call: plainName(each.call) })),
  )
  const steps: Step[] = []
  let endMs = Number.POSITIVE_INFINITY
  for (const { call, caller, sentMs, endMs: ownEndMs } of arrivals) {
    const last = steps.at(-1)
    const isAtOnce = sentMs < endMs
    const pauseMs = sentMs - endMs >= minPauseMs ? Math.round(sentMs - endMs) : 0
    const isSame = last?.call === call && last.caller === caller && pauseMs === 0
    if (isSame && (last.times === 1 || last.isAtOnce === isAtOnce))
      steps[steps.length - 1] = { ...last, times: last.times + 1, isAtOnce }
    else steps.push({ call, caller, times: 1, isAtOnce: false, pauseMs })
    endMs = isAtOnce && endMs !== Number.POSITIVE_INFINITY ? Math.max(endMs, ownEndMs) : ownEndMs
  }
  const used = new Set(arrivals.map(({ call }) => call))
  const ofSystem = Object.entries(systemCallsOf(setting)).map(([name, call]) => [plainName(name), call] as const)
  const calls = Object.fromEntries([...ofSystem, ...Object.entries(setting.calls)].filter(([name]) => used.has(name)))
  const stages = new Set(requests.map(({ stage }) => stage))
  const mayFail = setting.stages.some(({ name, beyondFailures }) => beyondFailures && stages.has(name))
  return {
    calls: writtenCallsOf(calls),
    steps,
    exceeds: mayFail ? [...exceedable] : ['exceed-tier'],
  }
}

/** A name that a scenario file may have. */
const plainName = (name: string): string => name.replaceAll(/[()]/g, '').replaceAll(' ', '-')

type Arrival = Pick<SequenceRequest, 'call' | 'caller' | 'sentMs'> & { readonly endMs: number }

/** Several requests of one arrival, such as a request and its repetition, become one. */
function arrivalsOf(requests: readonly SequenceRequest[]): readonly Arrival[] {
  const arrivals = new Map<number, Arrival>()
  for (const { firstId, call, caller, sentMs, endMs } of requests) {
    const known = arrivals.get(firstId)
    const ownEndMs = endMs ?? sentMs
    if (known === undefined) arrivals.set(firstId, { call, caller, sentMs, endMs: ownEndMs })
    else arrivals.set(firstId, { ...known, endMs: Math.max(known.endMs, ownEndMs) })
  }
  return [...arrivals.values()]
}

/**
 * Ways to send the requests of a finding again, the smallest first: what it cites, and all that its callers sent; as they
 * were, with certainty where the run drew lots, and one after another.
 */
export function variantsOf(parts: readonly (readonly SequenceRequest[])[], setting: Setting): readonly Candidate[] {
  const wholes = parts.map(requests => candidateOf(requests, setting)).filter(({ steps }) => steps.length > 0)
  return wholes.flatMap(whole => {
    const calls = Object.fromEntries(Object.entries(whole.calls).map(([name, call]) => [name, withCertainty(call)]))
    const inTurn = whole.steps.map(step => ({ ...step, isAtOnce: false }))
    return [whole, { ...whole, calls }, { ...whole, calls, steps: inTurn }]
  })
}

const withCertainty = (call: WrittenCall): WrittenCall =>
  Object.fromEntries(
    Object.entries(call).map(([key, value]) => [key, typeof value === 'number' && value > 0 && value < 1 ? 1 : value]),
  )

/** How many arrivals a candidate has. A replay is one, with all its repetitions. */
export const arrivalsSent = ({ steps }: Candidate): number => steps.reduce((sum, { times }) => sum + times, 0)

/** The names of the callers of a candidate, those with keys first, as in the plan. */
const callersOf = ({ steps }: Candidate, { callers }: Pick<Setting, 'callers'>): readonly string[] =>
  callers.names.filter(name => steps.some(({ caller }) => caller === name))

/** The scenario of a candidate. It fails if the clause is violated. */
export function scenarioOfCandidate(candidate: Candidate, setting: Setting, about: About): WrittenScenario {
  const { callers: known } = setting
  const names = callersOf(candidate, setting)
  const wallets = names.filter(name => known.names.indexOf(name) >= keyCallers(known))
  // A request that another caller repeats needs one.
  const lone = names.length === 1 && Object.values(candidate.calls).some(call => Number(call['other-caller-ratio']) > 0)
  const chains = wallets.map(name => known.wallets?.chains[known.names.indexOf(name) - keyCallers(known)] ?? '')
  return {
    name: 'shrunk',
    question: `Is ${about.clause} violated?`,
    ...(about.profile !== null && { profile: about.profile }),
    seed: about.seed,
    callers: {
      count: names.length - wallets.length + (lone ? 1 : 0),
      tier: known.accountTier,
      ...(known.keysEach > 1 && { 'keys-per-caller': known.keysEach }),
      ...(wallets.length > 0 && { wallets: wallets.length, chain: chains }),
      ...(wallets.length > 0 && known.wallets?.topUpUsd != null && { 'top-up': known.wallets.topUpUsd }),
    },
    calls: Object.fromEntries(Object.entries(candidate.calls).map(([name, call]) => [name, withoutDefaults(call)])),
    stages: stagesOf(candidate, names),
    thresholds: [{ expect: 'violations == 0', why: about.message }],
    'must-judge': about.isClause ? [about.clause] : [],
  }
}

/** What a scenario is about. `profile`: as the file names it. */
export type About = {
  readonly clause: string
  /** Whether it is a clause, and not the kind of a discrepancy. */
  readonly isClause: boolean
  readonly message: string
  readonly seed: number
  readonly profile: string | null
}

/** The least duration of a stage that sends. A pause after it is shorter by this. */
const stageMs = 100

type WrittenStage = Readonly<Record<string, unknown>>

/** A stage for each pause, each burst, and each caller that sends one request after another. */
function stagesOf({ steps, exceeds }: Candidate, names: readonly string[]): readonly WrittenStage[] {
  const stages: WrittenStage[] = []
  const mayExceed = (keys: readonly Exceeded[]) =>
    Object.fromEntries(keys.filter(key => exceeds.includes(key)).map(key => [key, true]))
  let open: { readonly caller: string; readonly calls: string[] } | undefined
  for (const { call, caller, times, isAtOnce, pauseMs } of steps) {
    const name = `step-${stages.length + 1}`
    const of = { callers: 1, 'first-caller': names.indexOf(caller) }
    if (pauseMs > 0) {
      stages.push({
        name: `pause-${stages.length + 1}`,
        shape: 'pause',
        duration: `${Math.max(1, pauseMs - stageMs)}ms`,
      })
      open = undefined
    }
    if (isAtOnce && times > 1) {
      const burst = { shape: 'burst', size: times, duration: `${stageMs}ms`, mix: { [call]: 1 } }
      stages.push({ name, ...of, ...mayExceed(['exceed-tier', 'exceed-failure-limit']), ...burst })
      open = undefined
      continue
    }
    const entry = times === 1 ? call : `${times} x ${call}`
    if (open?.caller === caller) open.calls.push(entry)
    else {
      open = { caller, calls: [entry] }
      const sequence = { shape: 'sequence', duration: `${stageMs}ms`, calls: open.calls }
      stages.push({ name, ...of, ...mayExceed(['exceed-failure-limit']), ...sequence })
    }
  }
  return stages
}
