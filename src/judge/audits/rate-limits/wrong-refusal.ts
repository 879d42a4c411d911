import type { Contract } from '../../../contract/contract.ts'
import { type ApplicableLimit, statedRequests } from '../../../observation/limit-scope.ts'
import { isReadSlowly, type Observation } from '../../../observation/observation.ts'
import { isChat } from '../../../observation/requests/chat.ts'
import { isProbeRequest, requestTraits } from '../../../observation/requests/request.ts'
import { is2xx, isAbuseBlock, isConcurrencyRejection } from '../../../observation/response.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import { getOrAdd } from '../../merge.ts'
import type { AuditContext } from '../audit.ts'
import { unusableReset } from './hidden.ts'
import { type ClockOffset, clockResolutionMs } from './resets.ts'

/** The use of one limit by one caller, for judging the status with which requests above the limit are rejected. */
type LimitUse = {
  readonly scope: string
  /** A response without a remaining request: when it arrived, and the reset that it stated, in Unix milliseconds. */
  exhausted: { readonly id: number; readonly shownMs: number; readonly resetMs: number } | null
  /** Whether a request was accepted between these two. Then the limit refills before its reset, as a bucket does. */
  refills: boolean
  /** The forms in which requests got a 429. */
  readonly rejected: Set<Form>
  /** Statuses since the last response with a remaining request. They may be about the limit. */
  readonly recent: Set<number>
  /** Statuses of requests within the limit. They are not about the limit. */
  readonly within: Set<number>
  /** Requests that were certainly above the limit, by status. */
  readonly above: Map<number, AboveLimit>
}

/** A service may reject streams elsewhere than other requests. */
type Form = 'stream' | 'whole'

/** The requests, and the one whose response had no request left. */
type AboveLimit = { readonly exhaustedBy: number; readonly requests: { readonly id: number; readonly form: Form }[] }

/** Fewer may have another reason by chance. */
const minAbove = 3
const maxNamed = 8
/** Statuses about the caller or its connection, which come before any limit. */
const unrelated: readonly number[] = [401, 402, 408]

/**
 * Judges the status with which requests above a limit are rejected. A request is certainly above it if it was sent after
 * a response without a remaining request, and answered before the reset that this response stated. So is one that seems
 * to meet an outage, but states itself that no request remains: those of a burst are all sent before the first response.
 */
export function createWrongRefusalCheck(
  { contract, startedAtMs }: AuditContext,
  offset: () => ClockOffset,
  reporter: ClauseReporter<'rate-limits'>,
): {
  /** In the order of sending. */
  readonly add: (observation: Observation, drawn: ApplicableLimit, resetMs: number | null) => void
  readonly finish: () => void
} {
  const uses: LimitUse[] = []
  const usesOf = new Map<string, Map<string, LimitUse>>()

  function useOf(caller: string, scope: string): LimitUse {
    const ofCaller = getOrAdd(usesOf, caller, () => new Map<string, LimitUse>())
    return getOrAdd(ofCaller, scope, () => {
      const none = { recent: new Set<number>(), within: new Set<number>(), above: new Map<number, AboveLimit>() }
      const use: LimitUse = { scope, exhausted: null, refills: false, rejected: new Set(), ...none }
      uses.push(use)
      return use
    })
  }

  return {
    add: ({ response, outcome, request, caller, sentMs, headersMs, id }, { finest }, resetMs) => {
      if (response === null || outcome.kind !== 'answered' || sentMs === null || headersMs === null) return
      if (isProbeRequest(request) || requestTraits(request).isMeantToFail(request, contract)) return
      if (isAbuseBlock(response, contract) || unrelated.includes(response.status)) return
      const use = useOf(caller, finest)
      const { status, headers } = response
      const { remaining } = statedRequests(headers, contract)
      if (is2xx(status)) return addAccepted(use, id, remaining, sentMs, headersMs, resetMs)
      const form = isChat(request) && request.stream ? 'stream' : 'whole'
      if (status === 429) use.rejected.add(form)
      else if (isAbove(use, sentMs, headersMs) || (isOutage(status) && remaining === 0 && resetMs !== null))
        addAbove(use, status, id, form)
      else if (isOutage(status) && remaining !== null) use.within.add(status)
      else if (isHidden(use, sentMs)) reporter.unjudged('limit.requests.enforced', unusableReset)
      // Around the end of a window, it is open whether a request is above the limit.
      else if (use.exhausted === null) use.recent.add(status)
    },
    finish: () => {
      for (const { scope, above, within, rejected } of uses)
        for (const [status, { exhaustedBy, requests }] of above) {
          // A service that fails also fails above a limit, but hardly only the one form that never gets a 429.
          const fails = status >= 500 && requests.some(({ form }) => rejected.has(form))
          if (requests.length < minAbove || within.has(status) || fails) continue
          const ids = requests.map(({ id }) => id)
          const message = `${ids.length} requests of ${scope} without a remaining one, and before its reset, got status ${status}, expected 429`
          const named = ids.slice(0, maxNamed)
          reporter.fail('limit.requests.enforced', message, [exhaustedBy, ...named], named)
        }
    },
  }

  function addAccepted(
    use: LimitUse,
    id: number,
    remaining: number | null,
    sentMs: number,
    shownMs: number,
    resetMs: number | null,
  ) {
    if (isAbove(use, sentMs, shownMs)) use.refills = true
    if (remaining === 0 && resetMs !== null) {
      if (use.exhausted === null || resetMs > use.exhausted.resetMs) use.exhausted = { id, shownMs, resetMs }
    } else if (remaining !== null && remaining !== 0) {
      if (use.recent.size > 0) {
        for (const status of use.recent) use.within.add(status)
        use.recent.clear()
      }
      if (use.exhausted !== null && sentMs > use.exhausted.shownMs) use.exhausted = null
    }
  }

  /** Whether the last remaining request was used, and its response stated a reset that was over already. */
  function isHidden({ exhausted, refills }: LimitUse, sentMs: number): boolean {
    if (exhausted === null || refills || sentMs <= exhausted.shownMs) return false
    return startedAtMs + exhausted.shownMs + offset().min > exhausted.resetMs + clockResolutionMs
  }

  function isAbove({ exhausted, refills }: LimitUse, sentMs: number, headersMs: number): boolean {
    if (exhausted === null || refills || sentMs <= exhausted.shownMs) return false
    return startedAtMs + headersMs + offset().max + clockResolutionMs < exhausted.resetMs
  }
}

function addAbove({ above, exhausted }: LimitUse, status: number, id: number, form: Form): void {
  getOrAdd(above, status, (): AboveLimit => ({ exhaustedBy: exhausted?.id ?? id, requests: [] })).requests.push({
    id,
    form,
  })
}

/** Whether a status is about the service. Others come with the headers of whichever limit counted the request. */
const isOutage = (status: number): boolean => status >= 500

/** A completion of a caller, until it certainly counts no longer. */
type Use = { readonly id: number; readonly sentMs: number; readonly freeMs: number }

/** A completion whose response shows whether there was a slot for it. */
type Attempt = { readonly id: number; readonly sentMs: number; readonly shownMs: number; readonly isRefused: boolean }

/** `uses` may still count when an open attempt is judged; `left` are the latest that the client left, or read slowly. */
type Caller = { uses: readonly Use[]; left: readonly Use[]; attempts: readonly Attempt[] }

/** A finding cites at most this many requests that the client left or read slowly. */
const maxCited = 20

/**
 * Judges whether completions that their client left, or has read slowly to the end, still count as in progress. A refusal
 * for that reason is wrong if fewer can be in progress than the profile allows, and there have been such clients.
 */
export function createSlotCheck(contract: Contract, reporter: ClauseReporter<'rate-limits'>) {
  const { atOnce } = contract.chat
  const { settleMs } = contract.billing
  const callers = new Map<string, Caller>()

  function judge({ uses, left, attempts }: Caller, untilMs: number) {
    if (atOnce === null) return
    for (const { id, sentMs, shownMs, isRefused } of attempts) {
      if (shownMs > untilMs) continue
      const before = left.filter(use => use.freeMs <= sentMs)
      if (before.length === 0) continue
      const inProgress = uses.filter(use => use.id !== id && use.sentMs <= shownMs && use.freeMs > sentMs).length
      if (isRefused && inProgress < atOnce.requests) {
        const message = `a completion was refused since ${atOnce.requests} are in progress, expected at most ${inProgress}: the client had left or slowly read ${before.length} before`
        reporter.fail('limit.hang-up.freed', message, [...before.slice(-maxCited).map(use => use.id), id], [id])
      } else if (!isRefused && before.length >= atOnce.requests) reporter.pass('limit.hang-up.freed')
    }
  }

  return {
    add: (observation: Observation, watermarkMs: number) => {
      const { id, request, response, outcome, sentMs, headersMs, endMs, caller } = observation
      if (atOnce === null || !isChat(request) || sentMs === null || endMs === null) return
      const known = getOrAdd(callers, caller, (): Caller => ({ uses: [], left: [], attempts: [] }))
      const isRefused = response !== null && isConcurrencyRejection(response, contract)
      if (!isRefused) {
        const use = { id, sentMs, freeMs: endMs + settleMs }
        const fromMs = Math.min(watermarkMs, ...known.attempts.map(attempt => attempt.sentMs))
        known.uses = [...known.uses.filter(({ freeMs }) => freeMs > fromMs), use]
        const isRead = outcome.kind === 'answered' && isReadSlowly(observation)
        if (outcome.kind === 'left' || isRead)
          known.left = [...known.left, use].slice(-Math.max(maxCited, atOnce.requests))
      }
      if (isRefused || is2xx(response?.status ?? null))
        known.attempts = [...known.attempts, { id, sentMs, shownMs: headersMs ?? endMs, isRefused }]
      if (!known.attempts.some(({ shownMs }) => shownMs <= watermarkMs)) return
      judge(known, watermarkMs)
      known.attempts = known.attempts.filter(({ shownMs }) => shownMs > watermarkMs)
    },
    finish: () => {
      for (const caller of callers.values()) judge(caller, Number.POSITIVE_INFINITY)
    },
  }
}
