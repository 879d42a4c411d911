import type { Clock } from '../lib/clock.ts'
import { UsageError } from '../lib/usage-error.ts'
import type { DraftPlan } from '../library/draft.ts'
import type { Plan } from '../plan/plan.ts'
import type { Caller } from '../produce/callers/caller.ts'
import type { Report } from '../report/document.ts'
import { discover } from '../run/discovery.ts'
import { startInline } from '../run/inline.ts'
import { run } from '../run/run.ts'
import type { Lie } from '../service/lies/lie.ts'
import { knownLie } from '../service/lies/lies.ts'
import type { ServiceRequest } from '../service/message.ts'
import { createService, type Service } from '../service/service.ts'
import { faultyDecisions, faultyLatency, isBroken, randomErrors } from './faults.ts'
import { type ManualClock, manualClock } from './manual-clock.ts'
import { memoryCallers, memoryIo, memoryJob, memoryTransport, memoryWorkerIo, steadyNetwork } from './memory-run.ts'
import { honestTerms, type MutantTerms, promisedLies, type ServiceTerms } from './mutants.ts'
import { answeredDifferently, compareDecisions, recordRequests, repliesTheSame } from './recorded-requests.ts'

/** The part of a report that says whether a gate noticed something. */
export type MutantResult = Pick<Report, 'verdict' | 'reasons' | 'thresholds'> & {
  /** The callers with keys, from 0, that got a reply which differs from that of an honest service, if only this was asked. */
  readonly different: readonly number[]
  /** What failed: clauses, kinds of discrepancies, and thresholds as they are written. */
  readonly failed: readonly string[]
  readonly clauses: readonly Pick<Report['clauses'][number], 'id' | 'judged' | 'because' | 'verdict'>[]
}

export type RunMutant = (terms: MutantTerms) => Promise<MutantResult>

/** The opening balance of an account of a service that a run starts. */
const openingBalance = { openingBalanceUsd: '10', openingBalanceDiem: '0' } as const

/** Scenarios whose plans are kept. */
const maxOthers = 400

/** Runs a draft in virtual time, or another scenario in its place, against the reference service with the profile of the draft. */
export async function createMutantRun(draft: DraftPlan): Promise<RunMutant> {
  const own = await createRunOf(draft)
  const others = new Map<string, Promise<RunMutant>>()
  return async terms => {
    if (terms.scenario === null) return await own(terms)
    const key = JSON.stringify(terms.scenario)
    const other = others.get(key) ?? draft.inPlace(terms.scenario).then(createRunOf)
    if (others.size >= maxOthers) others.clear()
    others.set(key, other)
    return await (await other)(terms)
  }
}

async function createRunOf(draft: DraftPlan): Promise<RunMutant> {
  assertInMemory(draft.plan)
  const local = { ...draft.plan, callers: { ...draft.plan.callers, ...ownKeys(draft.plan) } }
  const callers = await memoryCallers(local, draft.contract)
  const serviceWith = (
    lies: readonly Lie[],
    clock: Clock,
    { fault, serviceSeed }: ServiceTerms,
    capacity: Plan['service'],
  ) => {
    const { contract, plan } = draft
    const drawn = { seed: serviceSeed ?? plan.seed, timing: faultyLatency(fault), faults: randomErrors(fault) }
    return createService({ contract, clock, ...drawn, lies, capacity, ...openingBalance })
  }
  const serviceOn = (clock: Clock, terms: ServiceTerms, capacity: Plan['service']) => {
    const lies = [...(terms.lie === null ? [] : [knownLie(terms.lie)]), ...faultyDecisions(terms.fault)]
    return serviceWith(lies, clock, terms, capacity)
  }
  const replan = replanOnce(draft)
  /** What a service states about itself. It is another one, so that it moves neither clock nor chance of the run. */
  const planFor = async (lies: readonly Lie[]) => {
    const clock = manualClock()
    const transport = memoryTransport(serviceWith(lies, clock, honestTerms, null), clock)
    const discovery = await clock.run(discover(transport, callers.callers, draft.plan, draft.contract))
    return attempt(() => replan(discovery))
  }
  const runAt = async (
    { plan, contract }: Planned,
    clock: ManualClock,
    service: Service,
    { fault, failFast, timesUntil }: Pick<MutantTerms, 'fault' | 'failFast' | 'timesUntil'>,
    middleMs: number = plan.forecast.durationMs / 2,
  ) => {
    const timesOnly = timesUntil !== undefined
    const sent = timesOnly ? { ...plan, stages: stagesUntil(plan, timesUntil) } : plan
    const job = { ...memoryJob(sent, contract, callers, clock), failFast }
    const network = { ...steadyNetwork, isReset: () => isBroken(fault, middleMs, clock.nowMs()) }
    const transport = memoryTransport(service, clock, network)
    const startWorker = startInline(memoryWorkerIo(clock, transport, timesOnly))
    return resultOf(await clock.run(run(job, memoryIo(clock, transport, startWorker))))
  }
  let honest: Promise<HonestRun | null> | null = null
  const runHonest = async (): Promise<HonestRun | null> => {
    const compared = compareDecisions(promisedLies(draft.plan, draft.contract).map(({ name }) => knownLie(name)))
    const planned = await planFor([compared.honest])
    if (planned instanceof UsageError) return null
    const clock = manualClock()
    const watched = serviceWith([compared.honest], clock, honestTerms, planned.plan.service)
    const { service, requests, isWhole } = recordRequests(watched, clock)
    const result = await runAt(planned, clock, service, { fault: null, failFast: false })
    const { decidesTheSame } = compared
    return { planned, result, requests: isWhole() ? requests : null, decidesTheSame }
  }
  return async terms => {
    if (terms.repliesOnly) {
      honest ??= runHonest()
      const known = await honest
      if (known?.requests == null || decidesAsHonest(known, terms)) return nothingKnown
      const { service: capacity } = known.planned.plan
      const requests = answeredDifferently(known.requests, clock => serviceOn(clock, terms, capacity))
      return { ...nothingKnown, different: callersOf(requests, callers.callers) }
    }
    // A scenario that is run a few times is not worth an honest run first, unless a fault needs the middle of its requests.
    if (terms.scenario === null || terms.fault?.kind === 'lost') honest ??= runHonest()
    const known = await honest
    if (known !== null && decidesAsHonest(known, terms)) return known.result
    const planned = await planFor(terms.lie === null ? [] : [knownLie(terms.lie)])
    if (planned instanceof UsageError) return refused(planned.message)
    const { service: capacity } = planned.plan
    const createOther = (clock: Clock) => serviceOn(clock, terms, capacity)
    // Judging takes ten times as long as replying, and many lies never show.
    if (terms.fault?.kind !== 'lost' && known?.planned === planned && known.requests !== null)
      if (repliesTheSame(known.requests, createOther)) return known.result
    const clock = manualClock()
    const middleMs = known?.requests?.[Math.floor(known.requests.length / 2)]?.nowMs
    return await runAt(planned, clock, createOther(clock), terms, middleMs)
  }
}

const stagesUntil = ({ stages }: Plan, last: string): Plan['stages'] =>
  stages.slice(0, stages.findIndex(({ name }) => name === last) + 1)

type Planned = ReturnType<DraftPlan['replan']>

type HonestRun = {
  readonly planned: Planned
  readonly result: MutantResult
  /** null: some of them took time inside the service, so they cannot be repeated. */
  readonly requests: Parameters<typeof repliesTheSame>[0] | null
  readonly decidesTheSame: (lie: string) => boolean
}

/** A fault, and another seed, change more than decisions. */
const decidesAsHonest = ({ decidesTheSame }: HonestRun, { lie, fault, serviceSeed }: MutantTerms): boolean =>
  fault === null && serviceSeed === null && (lie === null || decidesTheSame(lie))

/** Most services state the same about themselves, so that their plan and contract are made once. */
function replanOnce({ replan }: DraftPlan): DraftPlan['replan'] {
  const known = new Map<string, ReturnType<DraftPlan['replan']>>()
  return discovery => {
    const key = JSON.stringify(discovery, (_, value) => (value instanceof Map ? [...value] : value))
    const planned = known.get(key) ?? replan(discovery)
    known.set(key, planned)
    return planned
  }
}

function resultOf({ verdict, reasons, thresholds, findings, billing, clauses }: Report): MutantResult {
  return {
    ...{ verdict, reasons, thresholds, different: [] },
    failed: [
      ...new Set(findings.map(({ clause }) => clause)),
      ...billing.discrepancies.filter(({ count }) => count > 0).map(({ kind }) => `ledger: ${kind}`),
      ...thresholds.filter(each => each.verdict === 'fail').map(({ expression }) => expression),
    ],
    clauses: clauses.map(({ id, judged, because, verdict: own }) => ({ id, judged, because, verdict: own })),
  }
}

/** The scenario does not fit what the service states about itself: nothing is sent, and the gate does not pass. */
const refused = (why: string): MutantResult => ({
  ...{ verdict: 'fail', reasons: [why], thresholds: [], failed: [noRun], clauses: [], different: [] },
})

const nothingKnown: MutantResult = {
  ...{ verdict: 'inconclusive', reasons: [], thresholds: [], failed: [], clauses: [], different: [] },
}

/** Whose requests they are, by their keys. A request with an unknown key is left out. */
function callersOf(requests: readonly ServiceRequest[], callers: readonly Caller[]): readonly number[] {
  const indices = new Map(
    callers.flatMap((caller, index) => (caller.kind === 'key' ? caller.keys.map(key => [key, index] as const) : [])),
  )
  const found = requests.flatMap(({ headers }) => indices.get(`${headers.authorization}`.replace(/^Bearer /, '')) ?? [])
  return [...new Set(found)]
}

/** What failed, if the run was refused. */
const noRun = 'the run does not start'

/** Keys of the user belong to another service. */
const ownKeys = ({ callers: { wallets } }: Plan): Partial<Plan['callers']> => ({
  keysFile: null,
  wallets: wallets === null ? null : { ...wallets, keysFile: null },
})

/** Throws a UsageError if a plan cannot run in memory: wallets on Solana ask a node before they pay, which takes real time. */
export function assertInMemory({ callers, calls }: Plan): void {
  const { wallets } = callers
  const pays = wallets !== null && (wallets.topUpUsd !== null || Object.values(calls).some(isPayment))
  if (!pays || !wallets.chains.includes('solana')) return
  throw new UsageError({
    where: 'callers.chain',
    got: 'wallets on solana that pay',
    expected: 'wallets on base, since those on Solana ask a node, which has no virtual time',
  })
}

const isPayment = (call: Plan['calls'][string]): boolean => call.kind === 'top-up' && call.pay

function attempt<T>(work: () => T): T | UsageError {
  try {
    return work()
  } catch (cause) {
    if (cause instanceof UsageError) return cause
    throw cause
  }
}
