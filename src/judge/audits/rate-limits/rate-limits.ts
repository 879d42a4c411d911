import type { ClausesOf } from '../../../contract/clauses.ts'
import { type Contract, hasFixedWindows } from '../../../contract/contract.ts'
import { limitHeadersOf, statedWait, statesWait } from '../../../contract/limit-headers/limit-headers.ts'
import { statesOtherPolicy } from '../../../contract/limit-headers/policies.ts'
import { countsTokens, type LimiterName } from '../../../contract/limiters.ts'
import { type ApplicableLimit, statedRequests, statedTokens } from '../../../observation/limit-scope.ts'
import type { Observation } from '../../../observation/observation.ts'
import { applicableLimit, isOpenList, isProbeRequest, requestTraits } from '../../../observation/requests/request.ts'
import { is2xx, isAbuseBlock, isConcurrencyRejection, isOverLimit, isReplayed } from '../../../observation/response.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import { getOrAdd } from '../../merge.ts'
import type { LimitResult } from '../../results.ts'
import type { Audit, AuditContext } from '../audit.ts'
import { createAnyLimit } from './any-limit.ts'
import { createFurtherJudge, mayRefuse } from './further-limits.ts'
import { unknownKeys } from './hidden.ts'
import { createLimit } from './limit.ts'
import type { Limit } from './limit-record.ts'
import { createOpenScope, maxStrays, type OpenScope, strayOf, type Uncounted } from './open-scope.ts'
import { createRefusalLogCheck } from './refusal-log.ts'
import { createTargetClock, ownClock } from './resets.ts'
import { createStatedWaitCheck } from './stated-waits.ts'
import { createTokenWindow } from './token-window.ts'
import type { LimitRequest, WindowRequest } from './window.ts'
import { createSlotCheck, createWrongRefusalCheck } from './wrong-refusal.ts'

type Reporter = ClauseReporter<'rate-limits'>

/**
 * `strays`: rejected requests that may count against any limit of the caller. `limited`: requests to endpoints with a
 * documented limit; the limit of the other endpoints may count all of them.
 */
type CallerLimits = { readonly scopes: Map<LimiterName, OpenScope>; readonly strays: LimitRequest[]; limited: number }

/**
 * Models the target's rate limiter from outside: one limit per caller and counter. If the contract names an algorithm of
 * fixed windows, responses identify them by reset time. Requests overlap, so everything is judged by bounds.
 */
export function createRateLimitAudit(
  context: AuditContext,
  reporter: Reporter,
): Audit & { readonly limits: () => readonly LimitResult[] } {
  const { contract, startedAtMs } = context
  const clock = createTargetClock(startedAtMs, contract.limits)
  const headersOfLimits = limitHeadersOf(contract.limits)
  const isWait = statesWait(headersOfLimits.requests)
  const offset = isWait ? () => ownClock : clock.offset
  // A wait in seconds does not identify a window, and neither does no reset.
  const areWindowsNamed = hasFixedWindows(contract) && !isWait && headersOfLimits.requests.reset !== null
  const createOne = areWindowsNamed ? createLimit : createAnyLimit
  const ofKeys = (of: Reporter) => (contract.limits.scope === 'account' ? of : withOpenKeys(of))
  const limits: Limit[] = []
  const callers = new Map<string, CallerLimits>()
  const tokens = createTokenWindow(context, clock.offset, reporter)
  const slots = createSlotCheck(contract, reporter)
  const logs = createRefusalLogCheck(context, clock.offset, reporter)
  const refusals = createWrongRefusalCheck(context, offset, reporter)
  const waits = createStatedWaitCheck(contract, startedAtMs, reporter)
  const further = createFurtherJudge(context, clock.offset, reporter)
  let firstSentMs: number | null = null
  /** Whether a request may be refused for its tokens: other gateways state the tokens that they count. */
  let areTokensCounted = headersOfLimits.isDocumented

  function scopeOf(drawn: ApplicableLimit, { caller, chain }: Observation, ofCaller: CallerLimits): OpenScope {
    const { scopes, strays } = ofCaller
    const known = scopes.get(drawn.limiter)
    if (known !== undefined) return known
    const otherUse = drawn.limiter === 'control' ? () => ofCaller.limited : () => 0
    const limitContext = { ...context, caller, offset, firstSentMs: firstSentMs ?? 0, otherUse }
    // With one network, both scopes of the limit of the proxy count the same.
    const isDecided = drawn.limiter === 'rpc' && context.callsOneNetwork === true
    const scope = createOpenScope(isDecided ? 1 : drawn.counters.length, {
      reporter,
      reporterForCaller: chain === undefined ? ofKeys : withWalletLimits,
      createLimit: (counted, to) => {
        const limit = createOne({ ...limitContext, drawn: counted }, to)
        limits.push(limit)
        return limit
      },
      strays: () => strays,
    })
    scopes.set(drawn.limiter, scope)
    return scope
  }

  /** A rejected request may count against another limit of its caller, whose number its headers state. */
  function addStray({ scopes, strays }: CallerLimits, own: LimitRequest, drawn: ApplicableLimit, watermarkMs: number) {
    strays.push(strayOf(own))
    if (strays.length > maxStrays) strays.shift()
    for (const [limiter, scope] of scopes) scope.addStray(own, limiter === drawn.limiter ? drawn : null, watermarkMs)
  }

  return {
    add: (observation, watermarkMs) => {
      const { sentMs, endMs, headersMs, caller, outcome } = observation
      if (sentMs === null || endMs === null) return
      firstSentMs ??= sentMs
      clock.add(observation)
      logs.add(observation)
      areTokensCounted ||= statedTokens(observation.response?.headers ?? {}, contract).remaining !== null
      const drawn = applicableLimit(observation, contract)
      if (drawn === null || (outcome.kind === 'failed' && outcome.reason === 'connect-refused')) return

      const ofCaller = getOrAdd(callers, caller, (): CallerLimits => ({ scopes: new Map(), strays: [], limited: 0 }))
      if (drawn.limiter !== 'control') ofCaller.limited++
      // The service counted the request and wrote its headers before they arrived. A stream continues long after that.
      const seen = memberOf(observation, drawn, context, sentMs, headersMs ?? endMs)
      const member = areTokensCounted || drawn.tokensPerMinute !== null ? seen : { ...seen, maxTokens: 0 }
      const isList = isOpenList(observation.request)
      // A list may be open to all. Then no limit counts it, and its headers describe no limit of this caller. Nor need any
      // limit count a request that has no documented one: then its headers state that all requests remain.
      const isUncounted = isList || (drawn.limiter === 'control' && remainsWhole(member))
      scopeOf(drawn, observation, ofCaller).add(drawn, isUncounted ? strayOf(member) : member, watermarkMs)
      if (isStray(member, drawn) && !(isList && is2xx(observation.response?.status ?? null)))
        addStray(ofCaller, member, drawn, watermarkMs)
      // The limit was used up when the response was written, at the earliest when the request was sent.
      const earliestMs = isWait && member.resetMs !== null ? member.resetMs - member.shownMs + sentMs : member.resetMs
      refusals.add(observation, drawn, earliestMs)
      if (observation.response !== null) waits.add(member, caller, drawn, observation.response, offset())
      tokens.add(observation, drawn, watermarkMs)
      further.add(observation, drawn, member, watermarkMs)
      slots.add(observation, watermarkMs)
    },
    finish: isComplete => {
      for (const { scopes } of callers.values()) for (const scope of scopes.values()) scope.finish(isComplete)
      if (!isComplete) return
      refusals.finish()
      tokens.finish()
      further.finish()
      slots.finish()
      logs.finish()
    },
    limits: () => {
      const chosen = [...callers].flatMap(([caller, { scopes }]) =>
        [...scopes.values()].map(scope => ({ caller, ...scope.chosen() })),
      )
      const namesOf = new Map(chosen.flatMap(scope => [...scope.namesOf]))
      return [
        ...limits.flatMap(limit => {
          const names = namesOf.get(limit)
          return names === undefined ? [] : { ...limit.result(), names: [...names] }
        }),
        ...chosen.flatMap(({ caller, uncounted }) =>
          [...uncounted].flatMap(([name, counts]) => uncountedUse(caller, name, counts, contract)),
        ),
      ]
    },
  }
}

const remainsWhole = ({ stated, remaining }: LimitRequest) => stated !== null && remaining === stated

/** Requests that no limit counts, as the use of an unknown limit. */
function uncountedUse(caller: string, name: string, counts: Uncounted, { limits }: Contract): readonly LimitResult[] {
  if (counts.accepted + counts.rejected === 0) return []
  const unknown = { limit: null, windows: null, unexpected429: null, decided429: 0, missing429: null, lasted: null }
  return [{ caller, scope: name, names: [name], windowMs: limits.windowMs, ...unknown, ...counts }]
}

/** The document does not state whether an account or each of its keys has the limits. */
const withOpenKeys = (reporter: Reporter): Reporter => ({
  ...reporter,
  fail: (clause, ...found) => {
    if (clause === 'auth.keys-share-limits') reporter.unjudged(clause, unknownKeys)
    else reporter.fail(clause, ...found)
  },
})

/** Clauses that depend on which requests are accepted, and not only on headers. */
const enforcing: readonly ClausesOf<'rate-limits'>[] = ['limit.requests.enforced', 'limit.requests.not-early']

/** Wallet limits must equal API-key limits. */
const withWalletLimits = (reporter: Reporter): Reporter => ({
  ...reporter,
  pass: clause => {
    reporter.pass(clause)
    if (enforcing.includes(clause)) reporter.pass('wallet.limits')
  },
  fail: (clause, ...found) => {
    reporter.fail(clause, ...found)
    if (enforcing.includes(clause)) reporter.fail('wallet.limits', ...found)
  },
})

const isStray = ({ kind, stated }: WindowRequest, { requestsPerMinute }: ApplicableLimit): boolean =>
  kind === 'uncertain' && (stated === null || stated !== requestsPerMinute)

function memberOf(
  observation: Observation,
  drawn: ApplicableLimit,
  { contract, startedAtMs }: AuditContext,
  sentMs: number,
  shownMs: number,
): LimitRequest {
  const { response, request, id, key } = observation
  const traits = requestTraits(request)
  const limits = limitHeadersOf(contract.limits)
  const { requests: at } = limits
  const requests = response && statedRequests(response.headers, contract)
  const reset = requests?.reset ?? null
  const kind = kindOf(observation, contract)
  const waitMs = response !== null && kind === 'rejected' ? statedWait(limits, response.headers) : null
  return {
    id,
    key,
    part: `${key} ${traits.subject(request)}`,
    isRetry: false,
    sentMs,
    shownMs,
    settledMs: shownMs,
    kind,
    isBlocked: response !== null && isAbuseBlock(response, contract),
    mayCount: kind !== 'rejected',
    stated: requests && (at.limit === null ? drawn.requestsPerMinute : requests.limit),
    remaining: requests?.remaining ?? null,
    maxTokens: traits.maxTokens(request),
    tokensLeft:
      countsTokens(traits.limiter) && response !== null ? statedTokens(response.headers, contract).remaining : null,
    resetMs: reset !== null && statesWait(at) ? startedAtMs + shownMs + reset : reset,
    retryMs: waitMs === null ? null : startedAtMs + shownMs + waitMs,
    hidden: null,
  }
}

function kindOf(observation: Observation, contract: Contract): WindowRequest['kind'] {
  const { request, response, outcome } = observation
  const { requests } = limitHeadersOf(contract.limits)
  const { windowMs } = contract.limits
  if (
    response === null ||
    isProbeRequest(request) ||
    isReplayed(observation, contract) ||
    isAbuseBlock(response, contract) ||
    isConcurrencyRejection(response, contract)
  )
    return 'uncertain'
  // A truncated stream was accepted, since its headers arrived.
  if (!isOverLimit(response, contract)) return is2xx(response.status) ? 'accepted' : 'uncertain'
  // What the rest of its body says, such as that it is a block, is unknown.
  if (outcome.kind === 'failed') return 'uncertain'
  // Another policy refused it.
  if (statesOtherPolicy(requests, response.headers, windowMs)) return 'uncertain'
  return mayRefuse(observation, response, contract) ? 'uncertain' : 'rejected'
}
