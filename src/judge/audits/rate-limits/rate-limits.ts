import { choicesOf } from '../../../contract/chat-options.ts'
import type { ClausesOf } from '../../../contract/clauses.ts'
import { type Contract, hasFixedWindows } from '../../../contract/contract.ts'
import { type ApplicableLimit, applicableLimit } from '../../../observation/limit-scope.ts'
import type { Observation } from '../../../observation/observation.ts'
import { is2xx, isAbuseBlock, isConcurrencyRejection, isReplayed } from '../../../observation/response.ts'
import { statedRequests, statedTokens } from '../../../observation/stated-limits.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import type { Audit, AuditContext, LimitResult } from '../audit.ts'
import { createAnyLimit } from './any-limit.ts'
import { createLimit, type Limit, type LimitRequest } from './limit.ts'
import { createRefusalLogCheck } from './refusal-log.ts'
import { createTargetClock } from './resets.ts'
import { createTokenWindow } from './token-window.ts'
import type { WindowRequest } from './window.ts'
import { createWrongRefusalCheck } from './wrong-refusal.ts'

/** Rejected requests of a caller that may count against any of its limits; beyond, the oldest are forgotten. */
const maxStrays = 500

/**
 * Models the target's rate limiter from outside: one limit per caller and scope. If the contract names an algorithm of
 * fixed windows, responses identify them by reset time. Requests overlap, so everything is judged by bounds.
 */
export function createRateLimitAudit(
  context: AuditContext,
  reporter: ClauseReporter<'rate-limits'>,
): Audit & { readonly limits: () => readonly LimitResult[] } {
  const { contract, startedAtMs } = context
  const clock = createTargetClock(startedAtMs)
  const createOne = hasFixedWindows(contract) ? createLimit : createAnyLimit
  const ofWallets = withWalletLimits(reporter)
  const limits: Limit[] = []
  const limitsOf = new Map<string, Map<string, Limit>>()
  const strays = new Map<string, readonly LimitRequest[]>()
  const tokens = createTokenWindow(context, clock.offset, reporter)
  const logs = createRefusalLogCheck(context, clock.offset, reporter)
  const refusals = createWrongRefusalCheck(context, clock.offset, reporter)
  let firstSentMs: number | null = null

  /** A rejected request may count against another limit of its caller, whose number its headers state. */
  function addStray(caller: string, ownLimit: string, own: LimitRequest, watermarkMs: number) {
    const member = { ...own, stated: null, remaining: null, resetMs: null }
    strays.set(caller, [...(strays.get(caller) ?? []), member].slice(-maxStrays))
    for (const [name, limit] of limitsOf.get(caller) ?? []) if (name !== ownLimit) limit.add(member, watermarkMs)
  }

  return {
    add: (observation, watermarkMs) => {
      const { sentMs, endMs, headersMs, caller, chain, outcome } = observation
      if (sentMs === null || endMs === null) return
      firstSentMs ??= sentMs
      clock.add(observation)
      logs.add(observation)
      const drawn = applicableLimit(observation, contract)
      if (drawn === null || (outcome.kind === 'failed' && outcome.reason === 'connect-refused')) return

      let ofCaller = limitsOf.get(caller)
      if (ofCaller === undefined) {
        ofCaller = new Map()
        limitsOf.set(caller, ofCaller)
      }
      let limit = ofCaller.get(drawn.name)
      if (limit === undefined) {
        const voice = chain === undefined ? reporter : ofWallets
        limit = createOne({ ...context, caller, drawn, offset: clock.offset, firstSentMs }, voice)
        ofCaller.set(drawn.name, limit)
        limits.push(limit)
        for (const stray of strays.get(caller) ?? []) limit.add(stray, watermarkMs)
      }
      // The service counted the request and wrote its headers before they arrived. A stream continues long after that.
      const member = memberOf(observation, contract, sentMs, headersMs ?? endMs)
      limit.add(member, watermarkMs)
      if (isStray(member, drawn)) addStray(caller, drawn.name, member, watermarkMs)
      refusals.add(observation, drawn, member.resetMs)
      tokens.add(observation, drawn, watermarkMs)
    },
    finish: isComplete => {
      if (!isComplete) return
      for (const limit of limits) limit.finish()
      refusals.finish()
      tokens.finish()
      logs.finish()
    },
    limits: () => limits.map(limit => limit.result()),
  }
}

/** What shows the limit that a caller has, and not just its headers. */
const enforcing: readonly ClausesOf<'rate-limits'>[] = ['limit.requests.enforced', 'limit.requests.not-early']

/** Whatever shows the limit of a wallet shows whether it is that of an API key. */
const withWalletLimits = (reporter: ClauseReporter<'rate-limits'>): ClauseReporter<'rate-limits'> => ({
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

function memberOf(observation: Observation, contract: Contract, sentMs: number, shownMs: number): LimitRequest {
  const { response, request, id, key } = observation
  const requests = response && statedRequests(response.headers)
  return {
    id,
    key,
    isRetry: false,
    sentMs,
    shownMs,
    settledMs: shownMs,
    kind: kindOf(observation, contract),
    stated: requests?.limit ?? null,
    remaining: requests?.remaining ?? null,
    // Services count tokens differently, so the bound is generous.
    maxTokens:
      request.kind === 'chat'
        ? request.promptTokens * 2 + 4_000 + request.maxCompletionTokens * choicesOf(request.options)
        : 0,
    tokensLeft: request.kind === 'chat' && response !== null ? statedTokens(response.headers).remaining : null,
    resetMs: requests && inMilliseconds(requests.reset, contract),
    hidden: null,
  }
}

function kindOf({ request, response }: Observation, contract: Contract): WindowRequest['kind'] {
  if (
    response === null ||
    request.kind === 'probe' ||
    isReplayed(response) ||
    isAbuseBlock(response, contract) ||
    isConcurrencyRejection(response, contract)
  )
    return 'uncertain'
  // A truncated stream was accepted, since its headers arrived.
  return response.status === 429 ? 'rejected' : is2xx(response.status) ? 'accepted' : 'uncertain'
}

/** A reset header as Unix time in milliseconds. */
function inMilliseconds(stamp: number | null, { limits }: Contract): number | null {
  return stamp !== null && limits.requestsReset === 'unix-seconds' ? stamp * 1000 : stamp
}
