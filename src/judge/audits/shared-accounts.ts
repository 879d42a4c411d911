import type { JudgeName } from '../../contract/clause.ts'
import type { ClauseId } from '../../contract/clauses.ts'
import { absDifference } from '../../lib/money.ts'
import { type ApplicableLimit, statedRequests } from '../../observation/limit-scope.ts'
import type { Observation } from '../../observation/observation.ts'
import { applicableLimit } from '../../observation/requests/request.ts'
import { is2xx, isAbuseBlock } from '../../observation/response.ts'
import type { Finding, FindingLog } from '../findings/findings.ts'
import type { Obstacle } from '../findings/obstacles.ts'
import { getOrAdd } from '../merge.ts'
import { createAbuseAudit } from './abuse/abuse.ts'
import { countedFailureOf } from './abuse/failure.ts'
import type { Audit, AuditContext } from './audit.ts'
import { createBalanceReader } from './ledger/balances.ts'
import { chargeOf } from './ledger/charge.ts'
import { createLedgerAudit } from './ledger/ledger.ts'
import { createOverdraftAudit } from './ledger/overdraft.ts'
import { createRateLimitAudit } from './rate-limits/rate-limits.ts'

/** The first requests of a caller, in the order of sending, as plain data. */
export type CallerHistory = {
  readonly caller: string
  readonly observations: readonly Observation[]
  /** Whether these are all of its requests. */
  readonly isWhole: boolean
  readonly last: Observation
}

/** The requests that are kept of all callers together, of each one at least and at most, and the bytes of all responses. */
const [maxKept, minOfCaller, maxOfCaller, maxBytes] = [4_096, 16, 1_024, 16_777_216]

/** Keeps the first requests of each caller. `callers`: how many the run has. */
export function createHistories(callers: number): Audit & { readonly histories: () => readonly CallerHistory[] } {
  const most = Math.min(maxOfCaller, Math.max(minOfCaller, Math.floor(maxKept / callers)))
  const kept = new Map<string, { observations: Observation[]; isWhole: boolean; last: Observation }>()
  let bytes = 0
  return {
    add: observation => {
      if (callers < 2 || observation.sentMs === null || observation.endMs === null) return
      const own = getOrAdd(kept, observation.caller, () => ({ observations: [], isWhole: true, last: observation }))
      if (own.observations.length < most && bytes < maxBytes) own.observations.push(observation)
      else own.isWhole = false
      bytes += observation.response?.bytes ?? 0
      own.last = observation
    },
    finish: () => {},
    histories: () =>
      [...kept].map(([caller, own]) => ({ caller, ...own, observations: own.observations.toSorted(bySending) })),
  }
}

const bySending = (a: Observation, b: Observation): number => (a.sentMs ?? 0) - (b.sentMs ?? 0)

/** Callers that share a balance or limits, as far as their statements show. */
export type SharedAccount = { readonly callers: readonly string[]; readonly shares: readonly Shareable[] }

const shareables = ['balance', 'limits', 'blocks'] as const
type Shareable = (typeof shareables)[number]

/** The judges whose findings rest on an account of its own for each caller. */
const judgesOf: Readonly<Record<Shareable, readonly JudgeName[]>> = {
  balance: ['ledger', 'overdraft'],
  limits: ['rate-limits'],
  blocks: ['abuse'],
}

/** What these judges decide by one response, so that an account does not matter. */
const ofOneResponse: readonly ClauseId[] = ['wallet.billing', 'abuse.message']

/** What shows nothing of the balance, whatever was found, if others take from it. */
const ofBalances = ['billing.balance-before', 'billing.conservation'] as const

/** The clauses that a shared account leaves open, each with its judge. */
export function affectedClauses(
  { shares }: SharedAccount,
  findings: readonly Pick<Finding, 'clause' | 'judge'>[],
): readonly (readonly [ClauseId, JudgeName])[] {
  // The cached responses of an account belong to all of its keys.
  const isAffected = ({ clause, judge }: Pick<Finding, 'clause' | 'judge'>) =>
    (shares.some(what => judgesOf[what].includes(judge)) && !ofOneResponse.includes(clause)) ||
    (clause === 'rpc.replay.per-user' && judge === 'idempotency')
  const found = findings.filter(isAffected).map(({ clause, judge }) => [clause, judge] as const)
  return shares.includes('balance') ? [...found, ...ofBalances.map(clause => [clause, 'ledger'] as const)] : found
}

export const whyShared = ({ callers }: SharedAccount): Obstacle => ({
  text: `${listed(callers)} seem to share an account`,
  clause: null,
})

/** What was seen of callers that share something. */
const signs: Readonly<Record<Shareable, string>> = {
  balance: 'their balance fell with charges of each other',
  limits: 'their remaining requests fell with requests of each other',
  blocks: 'one of them was blocked for failures of another',
}

/** Who shares what, how it was seen, and what to write instead. */
export function describeShared({ callers, shares }: SharedAccount): string {
  const isAccount = shares.includes('balance')
  const what = isAccount ? 'one account' : 'the limits of one account'
  const remedy = isAccount
    ? 'Each caller must be an account of its own: separate accounts by commas or lines, and the keys of one account by spaces.'
    : 'Each caller must have limits of its own: use the keys of one account or organization for one caller.'
  const seen = shares.map(each => signs[each]).join(', and ')
  return [
    `${listed(callers)} seem to share ${what}: ${seen}, as in one account, and not as in separate ones.`,
    'So the clauses about this were not judged.',
    remedy,
    'If the service should keep them apart, say so with callers: { shared: false }, and Turnpike reports the violations.',
  ].join(' ')
}

/** Names at most this many callers. */
const maxNamed = 6

function listed(callers: readonly string[]): string {
  const more = callers.length - maxNamed
  const named = callers.slice(0, more > 0 ? maxNamed : -1)
  return `${named.join(', ')} and ${more > 0 ? `${more} more callers` : callers.at(-1)}`
}

/** The trials of groups that a search makes at most. */
const maxTrials = 300

/**
 * The callers that share an account. Two callers do if a balance or a limit of one account explains what all their responses
 * state, from the first on, while an account for each does not. A service that mixes some requests of separate accounts
 * is explained by neither. What changes only by a caller's own requests, such as a charge that is taken twice, is not
 * shared: so a statement must also have changed without a request of its caller.
 */
export function findSharedAccounts(
  histories: readonly CallerHistory[],
  context: AuditContext,
  findingLog: Pick<FindingLog, 'reporterFor'>,
): readonly SharedAccount[] {
  const all: (Group & { readonly what: Shareable })[] = []
  for (const what of shareables) {
    const found = groupsOf(what, histories, context, findingLog, all)
    all.push(...found.map(group => ({ ...group, what })))
  }
  const known = new Map<string, { callers: readonly string[]; shares: Shareable[]; isSeen: boolean }>()
  for (const { callers, what, isSeen } of all) {
    const group = getOrAdd(known, callers.join(' '), () => ({ callers, shares: [], isSeen: false }))
    group.shares.push(what)
    group.isSeen ||= isSeen
  }
  return [...known.values()].flatMap(({ isSeen, ...group }) => (isSeen ? [group] : []))
}

type Group = { readonly callers: readonly string[]; readonly isSeen: boolean }

function groupsOf(
  what: Shareable,
  histories: readonly CallerHistory[],
  context: AuditContext,
  findingLog: Pick<FindingLog, 'reporterFor'>,
  known: readonly Group[],
): readonly Group[] {
  const opening = new Map(histories.map(own => [own.caller, balanceIn(own.observations, context)]))
  const closing = new Map(histories.map(own => [own.caller, balanceIn([own.last], context)]))
  let trials = 0

  /** How many requests of the group one account explains; infinite: all of them. */
  function explained(group: readonly CallerHistory[], areOne = false): number {
    trials++
    const untilMs = Math.min(
      ...group.map(({ isWhole, observations }) => (isWhole ? end : (observations.at(-1)?.sentMs ?? 0))),
    )
    const all = group
      .flatMap(({ observations }) => observations)
      .filter(({ sentMs }) => (sentMs ?? 0) < untilMs)
      .toSorted(bySending)
    if (what === 'limits' && group.length > 1 && !fallTogether(all, context, areOne)) return 0
    const joint = all.map(observation => ({ ...observation, caller: 'all' }))
    return explainedBy(what, joint, context, findingLog)
  }

  /** Whether both may show the same balance at the beginning and at the end. */
  const mayShare = (a: CallerHistory, b: CallerHistory): boolean =>
    what !== 'balance' ||
    (isSame(opening.get(a.caller), opening.get(b.caller)) &&
      ((a.isWhole && b.isWhole) || isSame(closing.get(a.caller), closing.get(b.caller))))

  function grow(seed: CallerHistory, others: readonly CallerHistory[]): readonly CallerHistory[] | null {
    let group = [seed]
    const all = others.filter(other => mayShare(seed, other))
    let left = all
    for (const { callers } of known) {
      const same = histories.filter(({ caller }) => callers.includes(caller))
      if (same.includes(seed) && explained(same, true) === end) return same
    }
    while (left.length > 0) {
      let [best, most] = [left[0], -1]
      for (const other of left) {
        if (trials >= maxTrials) return explained([seed, ...all]) === end ? [seed, ...all] : null
        const count = explained([...group, other])
        if (count === end) return [...group, other]
        if (count > most) [best, most] = [other, count]
      }
      if (best === undefined) return null
      group = [...group, best]
      left = left.filter(other => other !== best)
    }
    return null
  }

  const groups: Group[] = []
  let left = histories
  for (const seed of histories) {
    if (!left.includes(seed) || explained([seed]) === end) continue
    const others = left.filter(other => other !== seed)
    const group = grow(seed, others)
    if (group === null) continue
    left = left.filter(own => !group.includes(own))
    const isSeen = group.some(own => seenAlone[what](own, context))
    const names = new Set(group.map(({ caller }) => caller))
    groups.push({ callers: histories.map(({ caller }) => caller).filter(name => names.has(name)), isSeen })
  }
  return groups
}

const end = Number.POSITIVE_INFINITY

/** The judges of what may be shared, which report to drafts. */
function judgeApart(what: Shareable, context: AuditContext, findingLog: Pick<FindingLog, 'reporterFor'>) {
  const draftOf = <Name extends JudgeName>(judge: Name) => findingLog.reporterFor(judge).draft()
  const [ledgerDraft, edgeDraft] = [draftOf('ledger'), draftOf('overdraft')]
  const [limitDraft, blockDraft] = [draftOf('rate-limits'), draftOf('abuse')]
  const ledger = createLedgerAudit(context, ledgerDraft.reporter)
  const audits: Readonly<Record<Shareable, () => readonly Audit[]>> = {
    balance: () => [ledger, createOverdraftAudit(context, edgeDraft.reporter)],
    limits: () => [createRateLimitAudit(context, limitDraft.reporter)],
    blocks: () => [createAbuseAudit(context, blockDraft.reporter)],
  }
  const drafts = [ledgerDraft, edgeDraft, limitDraft, blockDraft]
  return {
    audits: audits[what](),
    isRefuted: () => drafts.some(draft => draft.violations() > 0),
    /** Differences that only the accounts of all callers classify. */
    hasOpen: () => ledger.billing().discrepancies.length > 0,
    adopt: () => {
      for (const draft of drafts) draft.adopt()
    },
  }
}

/** How many observations of one account its judges explain, in the order of sending; infinite: all of them. */
function explainedBy(
  what: Shareable,
  observations: readonly Observation[],
  context: AuditContext,
  findingLog: Pick<FindingLog, 'reporterFor'>,
): number {
  const { audits, isRefuted, hasOpen } = judgeApart(what, context, findingLog)
  for (const [index, observation] of observations.entries()) {
    for (const audit of audits) audit.add(observation, observation.sentMs ?? 0)
    if (isRefuted()) return index
  }
  for (const audit of audits) audit.finish(true)
  return isRefuted() || hasOpen() ? observations.length : end
}

/** Reports again, after it was withdrawn, what the first requests of the callers with accounts of their own show. */
export function judgeOthers(
  shared: readonly SharedAccount[],
  histories: readonly CallerHistory[],
  context: AuditContext,
  findingLog: Pick<FindingLog, 'reporterFor'>,
): void {
  for (const what of shareables) {
    const ofShared = shared.filter(({ shares }) => shares.includes(what)).flatMap(({ callers }) => callers)
    if (ofShared.length === 0) continue
    for (const { caller, observations, isWhole } of histories) {
      if (ofShared.includes(caller)) continue
      const { audits, isRefuted, adopt } = judgeApart(what, context, findingLog)
      for (const observation of observations)
        for (const audit of audits) audit.add(observation, observation.sentMs ?? 0)
      for (const audit of audits) audit.finish(isWhole)
      if (isRefuted()) adopt()
    }
  }
}

const isSame = (a: bigint | null | undefined, b: bigint | null | undefined): boolean =>
  a == null || b == null || a === b

/** The first balance that these responses state, both currencies together; null: none. */
function balanceIn(observations: readonly Observation[], { contract }: AuditContext): bigint | null {
  const reader = createBalanceReader(contract, observations[0]?.chain !== undefined)
  for (const observation of observations) {
    const balances = reader.balancesOf(observation, chargeOf(observation, contract), [])
    if (balances !== null) return balances.usd + balances.diem
  }
  return null
}

/** Whether each request overlaps no other of the list: those before it are over since `settleMs`, and the next one is sent after it. */
function areAlone(list: readonly Observation[], settleMs: (observation: Observation) => number): readonly boolean[] {
  let overMs = Number.NEGATIVE_INFINITY
  return list.map((observation, index) => {
    const [sentMs, endMs] = [observation.sentMs ?? 0, observation.endMs ?? 0]
    const isAlone = overMs <= sentMs && (list[index + 1]?.sentMs ?? end) >= endMs
    overMs = Math.max(overMs, endMs + settleMs(observation))
    return isAlone
  })
}

/**
 * Whether a balance fell by more than the caller's charge between two of its requests, and this was not the same share of
 * each charge: as without a charge, or with another one.
 */
function fellAlone({ observations }: CallerHistory, { contract }: AuditContext): boolean {
  const reader = createBalanceReader(contract, observations[0]?.chain !== undefined)
  const charges = new Map(observations.map(each => [each, chargeOf(each, contract)]))
  const alone = areAlone(observations, each => (charges.get(each)?.max === 0n ? 0 : contract.billing.settleMs))
  const falls: { readonly fell: bigint; readonly own: bigint }[] = []
  let from: { readonly balance: bigint; readonly own: bigint } | null = null
  for (const [index, observation] of observations.entries()) {
    const charge = charges.get(observation) ?? null
    const balances = reader.balancesOf(observation, charge, [])
    const balance = balances === null || alone[index] !== true ? null : balances.usd + balances.diem
    if (from !== null && balance !== null) falls.push({ fell: from.balance - balance, own: from.own })
    const isExact = charge !== null && charge.min === charge.max
    from = isExact && balance !== null ? { balance, own: charge.max } : null
  }
  const digit = 2n * reader.lastDigit()
  const more = falls.filter(({ fell, own }) => fell > own + digit)
  const differs = (a: (typeof falls)[number]) => (b: (typeof falls)[number]) =>
    absDifference(a.fell * b.own, b.fell * a.own) > digit * (a.own + b.own)
  return more.some(a => a.own === 0n || falls.some(differs(a)))
}

/** What a caller's own requests state that they do not explain. */
const seenAlone: Readonly<Record<Shareable, (own: CallerHistory, context: AuditContext) => boolean>> = {
  balance: fellAlone,
  limits: variesAlone,
  blocks: blockedAlone,
}

/** How far the remaining requests of a counter fell between successive responses, of two callers or one, and at least had to. */
type Fall = { readonly fell: number; readonly least: number; readonly isOfTwo: boolean }

/** The falls between requests that overlap no other. `counterOf`: the counter of a request; null: it is open. */
function fallsOf(
  observations: readonly Observation[],
  { contract, startedAtMs }: AuditContext,
  counterOf: (limit: ApplicableLimit) => string | null,
): readonly Fall[] {
  const ofCounter = new Map<string, Observation[]>()
  for (const observation of observations) {
    const drawn = applicableLimit(observation, contract)
    const counter = drawn && counterOf(drawn)
    if (counter !== null) getOrAdd(ofCounter, counter, () => []).push(observation)
  }
  return [...ofCounter.values()].flatMap(list => {
    const alone = areAlone(list, () => 0)
    return list.slice(1).flatMap((observation, index) => {
      const before = list[index]
      if (before === undefined || !alone[index] || !alone[index + 1]) return []
      const [from, to] = [before, observation].map(({ response }) =>
        response !== null && is2xx(response.status) ? statedRequests(response.headers, contract) : null,
      )
      if (from == null || to == null || from.remaining === null || to.remaining === null) return []
      const isOneWindow = from.reset !== null && from.reset === to.reset
      if (!isOneWindow && from.reset !== null && from.reset <= startedAtMs + (observation.endMs ?? 0)) return []
      const lastedMs = (observation.endMs ?? 0) - (before.sentMs ?? 0)
      const back = isOneWindow ? 0 : 1 + (lastedMs * (from.limit ?? 0)) / contract.limits.windowMs
      const isOfTwo = before.caller !== observation.caller
      return [{ fell: from.remaining - to.remaining, least: 1 - back, isOfTwo }]
    })
  })
}

/** Whether the remaining requests fall by one with each request of all callers. `areOne`: whether they share a balance. */
function fallTogether(observations: readonly Observation[], context: AuditContext, areOne: boolean): boolean {
  const scopes = Math.max(1, ...observations.map(each => applicableLimit(each, context.contract)?.counters.length ?? 0))
  return Array.from({ length: scopes }).some((_, scope) => {
    const falls = fallsOf(observations, context, ({ counters, limiter, finest }) =>
      counters.length === 1 ? (counters[0] ?? finest) : limiter === 'control' ? null : (counters[scope] ?? null),
    )
    const isShared = areOne || falls.some(({ fell, isOfTwo }) => isOfTwo && fell === 1)
    return isShared && falls.every(({ fell, least }) => fell <= 1 && fell >= least)
  })
}

/** Whether the remaining requests of a window fell by different numbers between two requests of the caller. */
function variesAlone({ observations }: CallerHistory, context: AuditContext): boolean {
  const falls = new Set(fallsOf(observations, context, ({ finest }) => finest).map(({ fell }) => fell))
  return falls.size > 1 && Math.max(...falls) > 1
}

/** Whether the caller was blocked before it failed. */
function blockedAlone({ observations }: CallerHistory, { contract }: AuditContext): boolean {
  for (const observation of observations) {
    if (observation.response !== null && isAbuseBlock(observation.response, contract)) return true
    if (countedFailureOf(observation, contract) !== null) return false
  }
  return false
}
