import { type Contract, hasFixedWindows, maxResetMs } from '../../../contract/contract.ts'
import { limitHeadersOf, retryAfterHeader, statedWait } from '../../../contract/limit-headers/limit-headers.ts'
import type { ApplicableLimit } from '../../../observation/limit-scope.ts'
import type { ObservedResponse } from '../../../observation/observation.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import { type ClockOffset, clockResolutionMs } from './resets.ts'
import { type LimitRequest, mayLackTokens } from './window.ts'

/** The latest time at which a 429 says that its limit accepts again, on our clock. */
type Promised = {
  readonly id: number
  readonly sentMs: number
  readonly shownMs: number
  readonly waitMs: number
  readonly mayBeForTokens: boolean
}

/** Callers and counters that are remembered. */
const maxCounters = 4_096
/** Requests of a counter that are remembered. */
const maxRecent = 64
/** A service may count the tokens of a completion some time after its end. */
const settlingMs = 10_000

/**
 * Whether a 429 may be for tokens. It has none left to state, but an earlier response had: at most those that were sent
 * since, or shortly before, can have used them, since time only adds to what is left.
 */
function mayBeForTokens(rejected: LimitRequest, recent: readonly LimitRequest[]): boolean {
  if (!mayLackTokens(rejected, null, Number.POSITIVE_INFINITY)) return false
  const stated = recent.findLast(({ kind, tokensLeft }) => kind === 'accepted' && tokensLeft !== null)
  if (rejected.tokensLeft !== null || stated?.tokensLeft == null) return true
  const fromMs = stated.sentMs - settlingMs
  // The oldest are forgotten.
  if (recent.length >= maxRecent && (recent[0]?.sentMs ?? 0) >= fromMs) return true
  const used = recent.filter(({ id, shownMs }) => id !== stated.id && shownMs >= fromMs)
  return used.reduce((sum, { maxTokens }) => sum + maxTokens, rejected.maxTokens) > stated.tokensLeft
}

/**
 * Judges the wait that each 429 states, if the profile says how it is stated: it is no longer than the reset, than a
 * window, and than the limit lasts, and in fixed windows it is no shorter than the reset.
 */
export function createStatedWaitCheck(
  contract: Contract,
  startedAtMs: number,
  reporter: ClauseReporter<'rate-limits'>,
): {
  /** In the order of sending. `offset`: of the clock of its reset. */
  readonly add: (
    request: LimitRequest,
    caller: string,
    drawn: ApplicableLimit,
    response: ObservedResponse,
    offset: ClockOffset,
  ) => void
} {
  const limits = limitHeadersOf(contract.limits)
  const header = retryAfterHeader(limits)
  const promises = new Map<string, Promised>()
  const recent = new Map<string, LimitRequest[]>()

  function remember(counter: string, request: LimitRequest) {
    const before = recent.get(counter) ?? []
    if (before.length === 0 && recent.size < maxCounters) recent.set(counter, before)
    before.push(request)
    if (before.length > maxRecent) before.shift()
  }

  function judgeRejected(request: LimitRequest, name: string, waitMs: number, { min, max }: ClockOffset) {
    const { id, resetMs, sentMs, shownMs } = request
    const text = `a 429 of ${name} states a wait of ${waitMs / 1000} s`
    const mostMs = maxResetMs(contract, 0)
    if (waitMs > mostMs + clockResolutionMs)
      return reporter.fail('limit.requests.reset', `${text}, expected at most ${mostMs / 1000} s`, [id])
    // The wait may be for tokens, which have a reset of their own.
    if (resetMs === null || mayLackTokens(request, null, Number.POSITIVE_INFINITY)) return
    const leastMs = resetMs - startedAtMs - shownMs - max
    const atMostMs = resetMs - startedAtMs - sentMs - min
    const seconds = Math.round(atMostMs / 1000)
    if (waitMs > atMostMs + clockResolutionMs)
      reporter.fail('limit.requests.reset', `${text}, expected at most the ${seconds} s until its reset`, [id])
    else if (hasFixedWindows(contract) && waitMs < leastMs - clockResolutionMs)
      reporter.fail('retry.after-reset', `${text}, expected the ${seconds} s until its reset`, [id])
  }

  function judge(
    counter: string,
    request: LimitRequest,
    name: string,
    headers: ObservedResponse['headers'],
    offset: ClockOffset,
  ) {
    if (request.kind === 'rejected') {
      const waitMs = statedWait(limits, headers)
      if (waitMs === null) return
      judgeRejected(request, name, waitMs, offset)
      if (promises.has(counter) || promises.size < maxCounters)
        promises.set(counter, {
          id: request.id,
          sentMs: request.sentMs,
          shownMs: request.shownMs,
          waitMs,
          mayBeForTokens: mayBeForTokens(request, recent.get(counter) ?? []),
        })
    } else if (request.kind === 'accepted') {
      const promised = promises.get(counter)
      if (promised === undefined || request.sentMs < promised.shownMs) return
      promises.delete(counter)
      const earlyMs = promised.sentMs + promised.waitMs - request.shownMs
      if (promised.mayBeForTokens || earlyMs <= 2 * clockResolutionMs) return
      const message = `a request of ${name} was accepted ${Math.round(earlyMs / 1000)} s before the end of the wait of ${promised.waitMs / 1000} s that a 429 stated, expected no longer wait than needed`
      reporter.fail('limit.requests.reset', message, [promised.id, request.id])
    }
  }

  return {
    add: (request, caller, { finest, name }, { headers }, offset) => {
      if (header === null) return
      const counter = `${caller} ${finest} ${request.part}`
      judge(counter, request, name, headers, offset)
      remember(counter, request)
    },
  }
}
