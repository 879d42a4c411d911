import type { Contract } from '../../contract/contract.ts'
import { probeOf } from '../../contract/probes.ts'
import { type IdempotencyTerms, isMarkedByBytes, replayMark } from '../../contract/requests/idempotency.ts'
import type { Observation, ObservedResponse } from '../../observation/observation.ts'
import { isProbeRequest, requestTraits } from '../../observation/requests/request.ts'
import type { ReplayRole } from '../../observation/requests/traits.ts'
import {
  bodyText,
  fingerprintOf,
  is2xx,
  isAbuseBlock,
  isReplayed,
  isUnrelatedStatus,
  jsonObject,
} from '../../observation/response.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import type { Audit, AuditContext } from './audit.ts'
import { createGroups } from './send-order.ts'

/** An abuse block rejects the caller and not the request, whatever its status. */
const tooMany = 429

/** Judges the requests that share an idempotency key, as one group. */
export function createIdempotencyAudit({ contract }: AuditContext, reporter: ClauseReporter<'idempotency'>): Audit {
  const { concurrent, ttlMs, conflict, errors, replayHeader, replayValue } = contract.idempotency
  const isByBytes = isMarkedByBytes(contract.idempotency)
  const mark = replayMark(contract.idempotency)
  const isBestEffort = concurrent === 'best-effort'
  const cachedAfterMs = isBestEffort ? contract.billing.settleMs : 0
  const options: KeyOptions = {
    ...{ ttlMs, cachedAfterMs, isRaceDecided: concurrent === 'one-charge' },
    ...{ conflict, isByBytes, mark, errors },
  }
  const groups = createGroups<KeyRequest>(uses => checkKey(uses, options, reporter))

  /** The new responses to probes with valid keys, by caller and body. */
  const ofKeys = new Map<string, { readonly id: number; readonly body: string | null }>()

  /**
   * Probes with different keys have different bodies, and their nodes have different results. One that gets the replay of
   * another has a key that the service takes for the same. A replay itself may come from an earlier run.
   */
  const judgeKey = (observation: Observation) => {
    const { request, response, outcome, caller, id } = observation
    if (!isProbeRequest(request) || outcome.kind !== 'answered' || response === null) return
    const probe = probeOf(request.probe)
    if (probe.clause !== 'rpc.replay.key' || !is2xx(response.status) || jsonObject(response)?.result === undefined)
      return
    const { body } = probe.request(contract)
    const place = `${caller}/${bodyText(response)}`
    const first = ofKeys.get(place)
    if (!isReplayed(observation, contract)) {
      if (first === undefined) ofKeys.set(place, { id, body })
    } else if (first !== undefined && first.body !== body) {
      const message = `${request.probe} got the response to another key as a replay, expected a response to its own request`
      reporter.fail('rpc.replay.key', message, [first.id, id])
    }
  }

  /** Only a header with its value is a mark by itself: others may have another meaning without a key. */
  const saysReplay = (headers: ObservedResponse['headers']): boolean =>
    replayHeader !== null && replayValue !== null && headers[replayHeader.toLowerCase()] === replayValue

  return {
    add: (observation, watermarkMs) => {
      const { request, response, outcome, id, caller, sentMs, endMs } = observation
      judgeKey(observation)
      const replay = requestTraits(request).replay(request)
      if (replay === null && !isProbeRequest(request) && response !== null && saysReplay(response.headers)) {
        const message = `a response to a request without a key has ${mark}, expected no mark`
        reporter.fail('rpc.replay.header', message, [id])
      }
      if (replay !== null && sentMs !== null && endMs !== null) {
        const { group, role } = replay
        const digest = fingerprintOf(response)
        const isBlocked = response !== null && isAbuseBlock(response, contract)
        // The mark of a replay may be among the headers that were cut.
        const isUnknown = outcome.kind !== 'answered' || response?.headersCut === true
        const status = isUnknown ? null : isBlocked ? tooMany : outcome.status
        const use = { id, caller, role, sentMs, endMs, status, isReplay: isReplayed(observation, contract), digest }
        groups.add(group, use)
      }
      groups.settle(watermarkMs)
    },
    finish: isComplete => {
      if (isComplete) groups.settle(Number.POSITIVE_INFINITY)
    },
  }
}

/** The relevant facts of one request with an idempotency key. */
type KeyRequest = {
  readonly id: number
  readonly caller: string
  readonly role: ReplayRole['role']
  readonly sentMs: number
  readonly endMs: number
  /** null: no complete response. */
  readonly status: number | null
  /** Whether the response is marked as a replay. */
  readonly isReplay: boolean
  readonly digest: string | null
}

type KeyOptions = {
  readonly ttlMs: number
  /** A response is in the cache after this delay. */
  readonly cachedAfterMs: number
  /** Whether only one of several concurrent requests may get a first response. */
  readonly isRaceDecided: boolean
  /** The statuses that are right for another body. */
  readonly conflict: readonly number[]
  /** Whether only its bytes show that a response is a replay. */
  readonly isByBytes: boolean
  /** How replays are marked, for people. */
  readonly mark: string
  readonly errors: IdempotencyTerms['errors']
}

type KeyReporter = ClauseReporter<'idempotency'>

/** A cache may delete expired entries a little later. */
const latestExpiryMs = 1_000

/** Judges the requests that share one idempotency key. */
function checkKey(uses: readonly KeyRequest[], options: KeyOptions, reporter: KeyReporter): void {
  /** Requests of the key's own caller with the first body. */
  const own = uses.filter(use => use.role === 'original' || use.role === 'duplicate' || use.role === 'late-repeat')
  const answered = own.filter(use => is2xx(use.status))
  const fresh = answered.filter(use => !use.isReplay)
  /** A request sent at the instant when a response was complete counts as sent after it. */
  const isBefore = (a: KeyRequest, b: KeyRequest) => a.endMs <= b.sentMs
  const firstSentMs = Math.min(...own.map(use => use.sentMs))
  /** When the response to `a` was stored, at the earliest. A replay repeats a response stored before it was sent. */
  const storedMs = (a: KeyRequest) => (a.isReplay ? firstSentMs : a.sentMs)
  /** Whether the response to `a` was in the cache while the service processed `b`. */
  const isCachedFor = (a: KeyRequest, b: KeyRequest) =>
    a.endMs + options.cachedAfterMs <= b.sentMs && b.endMs < storedMs(a) + options.ttlMs

  for (const use of answered) {
    if (use.role === 'late-repeat') judgeLateRepeat(use)
    else judgeMark(use)
  }
  for (const use of own) if (use.role !== 'original') judgeRefusal(use)
  for (const use of own) judgeAfterError(use)
  judgeRace()
  judgeFirst()
  judgeBodies()
  for (const use of uses) if (use.role === 'conflict') judgeConflict(use)
  for (const use of uses) if (use.role === 'other-caller') judgeOtherCaller(use)
  for (const use of uses) if (use.role === 'other-key') judgeOtherKey(use)

  function judgeMark(use: KeyRequest) {
    const earlier = answered.find(other => isCachedFor(other, use))
    if (earlier !== undefined && !use.isReplay) {
      const message = `a response to a repeated key and body is not marked as a replay, expected ${options.mark}`
      return reporter.fail('rpc.replay.header', message, [earlier.id, use.id])
    }
    // A request without a response, or with an error, may still have run, and this may be its replay.
    if (use.isReplay && !own.some(other => other !== use && !isBefore(use, other))) {
      const message = 'the response to the first use of a key is marked as a replay, expected no mark'
      return reporter.fail('rpc.replay.header', message, [use.id])
    }
    reporter.pass('rpc.replay.header')
  }

  /** A stored response must be repeated, and not refused. */
  function judgeRefusal(use: KeyRequest) {
    const { id, status } = use
    const earlier = answered.find(other => isCachedFor(other, use))
    if (earlier === undefined || status === null || is2xx(status) || isUnrelatedStatus(status)) return
    const message = `a repeated key and body got status ${status}, expected a replay`
    reporter.fail('rpc.replay.header', message, [earlier.id, id])
  }

  /** Of other errors, it is open whether the service itself has sent them, and whether the same request gets them again. */
  function judgeAfterError(use: KeyRequest) {
    const { status, isReplay, id } = use
    const failed = own.find(other => other.status === 500 && isCachedFor(other, use))
    if (options.errors === null || failed === undefined || status === null) return
    if (options.errors === 'kept' && is2xx(status) && !isReplay) {
      const message = 'a repeated key and body got a new response after a 500, expected the same error'
      return reporter.fail('rpc.replay.header', message, [failed.id, id])
    }
    if (options.errors === 'forgotten' && status === 500 && isReplay && !options.isByBytes) {
      const message = 'a 500 is repeated as a replay for its key and body, expected a new attempt'
      return reporter.fail('rpc.replay.header', message, [failed.id, id])
    }
    if (status === 500 || is2xx(status)) reporter.pass('rpc.replay.header')
  }

  /** Near the end of the lifetime, the clause is not judged: it is open when it begins and whether a replay restarts it. */
  function judgeLateRepeat(use: KeyRequest) {
    const others = own.filter(other => other !== use)
    const earlier = answered.find(other => other !== use && isCachedFor(other, use))
    if (earlier !== undefined) {
      if (use.isReplay) return reporter.pass('rpc.replay.expiry.kept')
      const message = `the same key and body were sent again after ${describe(earlier, use)}, expected a replay`
      return reporter.fail('rpc.replay.expiry.kept', message, [earlier.id, use.id])
    }
    const last = others.at(-1)
    const isPast = others.every(
      other => other.status !== null && other.endMs + options.ttlMs + latestExpiryMs <= use.sentMs,
    )
    // The same bytes may come from a new response, too.
    if (last === undefined || !isPast || answered.length < 2 || options.isByBytes) return
    if (!use.isReplay) return reporter.pass('rpc.replay.expiry.ends')
    const message = `a key got a replay after ${describe(last, use)}, expected it to be new again`
    reporter.fail('rpc.replay.expiry.ends', message, [last.id, use.id])
  }

  function describe(earlier: KeyRequest, later: KeyRequest): string {
    return `${((later.sentMs - earlier.endMs) / 1000).toFixed(1)} s of a lifetime of ${options.ttlMs / 1000} s`
  }

  function judgeRace() {
    if (!options.isRaceDecided) return
    const overlaps = (a: KeyRequest) => fresh.some(b => a !== b && !isBefore(a, b) && !isBefore(b, a))
    const racing = fresh.filter(overlaps).map(use => use.id)
    if (racing.length === 0) return
    const message = `${racing.length} concurrent requests with one key each got a first response, expected one charge`
    reporter.fail('rpc.replay.charge', message, racing, racing)
  }

  /** If all requests succeeded, one of the requests was the first. */
  function judgeFirst() {
    if (answered.length < 2 || answered.length < own.length || fresh.length > 0) return
    const message = 'all responses for a key are marked as replays, expected one first response'
    const ids = answered.map(use => use.id)
    reporter.fail('rpc.replay.header', message, ids, ids.slice(0, 1))
  }

  function judgeBodies() {
    const originals = fresh.length > 0 ? fresh : answered.slice(0, 1)
    const [first] = originals
    // If one of the requests has no response, a replay may repeat a response that was never received.
    if (first === undefined || own.some(use => use.status === null)) return
    const digests = originals.map(use => use.digest)
    for (const replay of answered) {
      if (!replay.isReplay || replay === first || replay.digest === null || digests.includes(null)) continue
      if (digests.includes(replay.digest)) reporter.pass('rpc.replay.body')
      else {
        const message = 'a replay has another body than the response that it repeats, expected the same bytes'
        reporter.fail('rpc.replay.body', message, [first.id, replay.id])
      }
    }
  }

  function judgeConflict(conflict: KeyRequest) {
    const { status, id } = conflict
    const earlier = answered.find(use => isCachedFor(use, conflict))
    if (earlier === undefined || status === null || isUnrelatedStatus(status)) return
    if (options.conflict.includes(status)) return reporter.pass('rpc.replay.conflict')
    const message = `a used key with another body got status ${status}, expected ${options.conflict.join(' or ')}`
    reporter.fail('rpc.replay.conflict', message, [earlier.id, id])
  }

  function judgeOtherKey(use: KeyRequest) {
    const { status, isReplay, id } = use
    const earlier = answered.find(other => isCachedFor(other, use))
    // If the same API key gets no replay either, the other API key is not the reason.
    const isWithoutCache = answered.some(({ role, isReplay: isMarked }) => role === 'duplicate' && !isMarked)
    if (earlier === undefined || isWithoutCache || status === null || isUnrelatedStatus(status)) return
    if (is2xx(status) && isReplay) return reporter.pass('rpc.replay.any-key')
    const got = is2xx(status) ? 'a new response' : `status ${status}`
    const message = `another API key of the same account got ${got}, expected the replay`
    reporter.fail('rpc.replay.any-key', message, [earlier.id, id])
  }

  function judgeOtherCaller({ status, isReplay, id }: KeyRequest) {
    const ids = [...answered.slice(0, 1).map(use => use.id), id]
    if (is2xx(status) && isReplay)
      return reporter.fail('rpc.replay.per-user', 'a key of another user got a replay, expected it to be new', ids)
    if (is2xx(status)) return reporter.pass('rpc.replay.per-user')
    // The same body was valid for the user of the key, so a rejection treats it as a conflict.
    if (status !== null && options.conflict.includes(status) && answered.length > 0)
      reporter.fail('rpc.replay.per-user', `a key of another user got status ${status}, expected it to be new`, ids)
  }
}

/** More keys than are in use at once. */
const maxKeys = 10_000

/**
 * Where a service marks replays in no other way, a response with the bytes of an earlier one to its key is one. Takes
 * observations in the order of sending. Another caller may get the same bytes for a request of its own.
 */
export function markRepeatedBodies({ idempotency }: Contract): (observation: Observation) => Observation {
  if (!isMarkedByBytes(idempotency)) return observation => observation
  const digests = new Map<number, Set<string>>()
  return observation => {
    const { request, response } = observation
    const replay = requestTraits(request).replay(request)
    const digest = fingerprintOf(response)
    if (replay === null || digest === null || replay.role === 'other-caller') return observation
    const known = digests.get(replay.group)
    if (known?.has(digest)) return { ...observation, repeatsBody: true }
    if (known !== undefined) known.add(digest)
    else {
      digests.set(replay.group, new Set([digest]))
      for (const oldest of digests.keys()) if (digests.size > maxKeys) digests.delete(oldest)
    }
    return observation
  }
}
