import type { Contract } from '../../../contract/contract.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import type { Obstacle } from '../../findings/obstacles.ts'
import { createSortedQueue } from '../overlap-bounds.ts'
import { createBlockSize } from './block-size.ts'
import type { AbuseAttempt } from './failure.ts'

export type CallerBlocks = {
  /** Attempts added later were sent at `watermarkMs` or later. */
  readonly add: (attempt: AbuseAttempt, watermarkMs: number) => void
  /** `isComplete`: false for a truncated recording. What was measured so far is reported anyway. */
  readonly finish: (isComplete: boolean) => void
}

/** The precision of the service's clock: it may round seconds up or down. */
const clockResolutionOf = ({ windowMs, blockMs }: AbuseOptions): number => Math.min(1_000, windowMs / 10, blockMs / 10)

/** A block that is still active after this ratio of its duration was not much too short. */
const longEnough = 0.75

const aboutBlocks = ['abuse.all-requests', 'abuse.duration', 'abuse.ends', 'abuse.message'] as const
const earlyBlock: Obstacle = { text: 'blocks began too early', clause: 'abuse.not-early' }
const partialBlock: Obstacle = { text: 'a block does not apply to all requests', clause: 'abuse.all-requests' }
const sharedAccount: Obstacle = { text: 'others use the same accounts', clause: null }
const uncertainStart: Obstacle = { text: 'it is uncertain which request began the block', clause: null }
const uncertainFailures: Obstacle = {
  text: 'it is uncertain which failures counted: some had no response, or one of a gateway',
  clause: null,
}

/** Judges the blocks of one caller in the order of sending, by its certain and its possible failures. */
export function createCallerBlocks(options: AbuseOptions, reporter: ClauseReporter<'abuse'>): CallerBlocks {
  const { failures: limit, windowMs, blockMs } = options
  const resolutionMs = clockResolutionOf(options)
  const inSeconds = `${blockMs / 1000} s`
  const open = createSortedQueue<AbuseAttempt>(({ sentMs }) => sentMs)
  const possible = createPossibleBlocks({ ...options, resolutionMs })
  /** The last certain failures, at most one more than the limit. */
  let failed: AbuseAttempt[] = []
  /** The last requests that did not fail. */
  const unfailed: Pick<AbuseAttempt, 'id' | 'sentMs'>[] = []
  let certain: CertainBlock | null = null
  /** The latest response that showed no block. */
  let freeMs = Number.NEGATIVE_INFINITY
  /** The parts of the service that were blocked since the last free response after a block. */
  const blockedServices = new Set<string>()
  /** Whether a block did not apply to some part of the service. */
  let isPartial = false
  let hasFailed = false
  const size = createBlockSize(options, reporter)

  function judge(attempt: AbuseAttempt) {
    const { sentMs, shownMs, failure } = attempt
    const isInside = certain !== null && sentMs >= certain.fromMs && shownMs <= certain.untilMs
    const block = isInside ? certain : null
    if (failure === 'possible' && !attempt.isBlocked) size.uncertain()
    const isBlockWithoutMessage = block !== null && !attempt.isBlocked && attempt.status === options.status
    if (attempt.isBlocked || isBlockWithoutMessage) {
      if (isBlockWithoutMessage && !attempt.hasBlockMessage) failBlockMessage(attempt)
      size.blocked(attempt, possible.count(attempt))
      judgeBlocked(attempt, block)
      return
    }
    if (attempt.isProcessed) {
      size.free(attempt, possible.count(attempt))
      judgeFree(attempt, block)
    }
    if (failure === null) noteUnfailed(attempt)
    else possible.record(attempt)
    if (failure === 'certain') noteCertain(attempt)
  }

  function noteUnfailed({ id, sentMs }: AbuseAttempt) {
    unfailed.push({ id, sentMs })
    if (unfailed.length > limit + 1) unfailed.shift()
  }

  function noteCertain(attempt: AbuseAttempt) {
    failed = [...failed, attempt].slice(-limit - 1)
    const block = certainBlock(failed, { limit, windowMs: windowMs - resolutionMs, blockMs: blockMs - resolutionMs })
    if (block === null) return
    certain = block
    failed = []
  }

  function judgeBlocked(attempt: AbuseAttempt, block: CertainBlock | null) {
    const { sentMs, service, id } = attempt
    // After a block shorter than the window, its failures may count again or not.
    if (windowMs > blockMs) failed = []
    if (!possible.allows(attempt) && !possible.begins(attempt)) return failEarlyBlock(attempt)
    blockedServices.add(service)
    if (block === null) return leave(['abuse.block', 'abuse.counts', 'abuse.duration'], uncertainStart)
    reporter.pass(block.clause)
    if (!block.services.has(service)) reporter.pass('abuse.all-requests')
    if (sentMs >= block.fromMs + blockMs * longEnough) reporter.pass('abuse.duration')
    block.blocked.set(service, id)
  }

  function judgeFree(attempt: AbuseAttempt, block: CertainBlock | null) {
    const { sentMs, shownMs, service } = attempt
    if (block !== null) failMissingBlock(attempt, block)
    else if (blockedServices.size > 0 && sentMs > possible.untilMs()) {
      if (isPartial && !blockedServices.has(service)) reporter.unjudged('abuse.ends', partialBlock)
      else reporter.pass('abuse.ends')
      blockedServices.clear()
    }
    if (block === null && possible.count(attempt) > limit) leave(['abuse.block', 'abuse.counts'], uncertainFailures)
    const recent = shownMs - windowMs + resolutionMs
    if (failed.length >= limit && (failed.at(-limit)?.sentMs ?? 0) >= recent) reporter.pass('abuse.not-early')
    if (unfailed.length > limit && (unfailed[0]?.sentMs ?? 0) >= recent) reporter.pass('abuse.counts')
    freeMs = Math.max(freeMs, shownMs)
    possible.showFree(shownMs)
    hasFailed = false
  }

  /** The response belongs to a caller that was certainly blocked. */
  function failMissingBlock({ id, status, sentMs, service }: AbuseAttempt, block: CertainBlock) {
    const elapsed = `${((sentMs - block.fromMs) / 1000).toFixed(1)} s after more than ${limit} failures`
    const got = `a request got status ${status}, ${elapsed}`
    const expected = `expected a block of ${inSeconds}`
    const blockedId = block.blocked.get(service)
    if (blockedId !== undefined) {
      reporter.fail('abuse.duration', `${got}, ${expected}`, [...block.requestIds, blockedId, id])
      certain = null
    } else if (block.blocked.size > 0) {
      if (block.unblocked.has(service)) return
      block.unblocked.add(service)
      isPartial = true
      const others = [...block.blocked.keys()].join(' and ')
      const message = `${got}, while ${others} was blocked, expected the block to apply to all requests`
      reporter.fail('abuse.all-requests', message, [...block.requestIds, ...block.blocked.values(), id])
    } else {
      reporter.fail(block.clause, `${got} (${block.statuses}), ${expected}`, [...block.requestIds, id])
      leave(aboutBlocks, { text: 'no block began when it should', clause: block.clause })
      certain = null
    }
  }

  function failBlockMessage({ id, status, sentMs }: AbuseAttempt) {
    const elapsed = certain === null ? '' : `${((sentMs - certain.fromMs) / 1000).toFixed(1)} s elapsed a block `
    const message = `${elapsed}a request got status ${status} without the message of a block, expected a message to wait ${inSeconds} and retry`
    reporter.fail('abuse.message', message, [...(certain?.requestIds ?? []), id])
  }

  /** No block can be active. Of a block that lasts too long, only the first response is a finding. */
  function failEarlyBlock(attempt: AbuseAttempt) {
    if (options.shared) return reporter.unjudged('abuse.not-early', sharedAccount)
    if (hasFailed) return
    hasFailed = true
    const { id, sentMs } = attempt
    const overMs = possible.overBefore(sentMs)
    if (overMs !== null && blockedServices.size > 0 && freeMs < overMs) {
      const late = ((sentMs - overMs + resolutionMs + blockMs) / 1000).toFixed(1)
      const message = `a request was blocked ${late} s after the last failure that could be the cause, expected at most ${inSeconds}`
      return reporter.fail('abuse.ends', message, [...(certain?.requestIds ?? []), id])
    }
    leave(['abuse.block', ...aboutBlocks], earlyBlock)
    const failures = possible.before(attempt)
    const used = failures.length
    const unfailedBefore = unfailed.filter(each => each.sentMs >= sentMs - windowMs - resolutionMs)
    const others = unfailedBefore.length
    const ledTo = [...failures, ...unfailedBefore].toSorted((a, b) => a.sentMs - b.sentMs).map(each => each.id)
    const message = `a request was blocked after ${used} failures and ${others} other requests, expected a block only after more than ${limit} failures`
    reporter.fail(used < limit && used + others > limit ? 'abuse.counts' : 'abuse.not-early', message, [...ledTo, id])
  }

  function leave(clauses: readonly Parameters<typeof reporter.pass>[0][], obstacle: Obstacle) {
    for (const clause of clauses) reporter.unjudged(clause, obstacle)
  }

  function advance(watermarkMs: number) {
    for (let first = open.at(0); first !== undefined && first.shownMs < watermarkMs; first = open.at(0)) {
      open.shift()
      judge(first)
    }
  }

  return {
    add: (attempt, watermarkMs) => {
      open.insert(attempt)
      if (attempt.failure !== null) possible.expect(attempt)
      advance(watermarkMs)
    },
    finish: isComplete => {
      if (isComplete) advance(Number.POSITIVE_INFINITY)
      size.finish()
    },
  }
}

type AbuseOptions = Pick<Contract['abuse'], 'failures' | 'windowMs' | 'blockMs' | 'status'> & {
  /** Whether others use the account during the run. */
  readonly shared: boolean
  /** The earlier use of the account is unknown. */
  readonly firstSentMs: number
}

/** A period in which a caller is certainly blocked. */
type CertainBlock = {
  readonly fromMs: number
  readonly untilMs: number
  /**
   * The clause that a missing block violates. If all failures are plain rejections, they count in every interpretation.
   */
  readonly clause: 'abuse.block' | 'abuse.counts'
  /** The failures that caused it, as text and by their `id`. */
  readonly statuses: string
  readonly requestIds: readonly number[]
  /** The parts of the service in which the failures occurred. */
  readonly services: ReadonlySet<string>
  /** The parts of the service that were blocked, and the parts that were not, each with one response. */
  readonly blocked: Map<string, number>
  readonly unblocked: Set<string>
}

const plainRefusal = 400

/** The block that these failures certainly cause, in the order of sending; null if it is not certain. */
function certainBlock(
  failed: readonly AbuseAttempt[],
  { limit, windowMs, blockMs }: { readonly limit: number; readonly windowMs: number; readonly blockMs: number },
): CertainBlock | null {
  const [first] = failed
  const last = failed.at(-1)
  if (failed.length <= limit || first === undefined || last === undefined) return null
  const fromMs = Math.max(...failed.map(({ shownMs }) => shownMs))
  if (fromMs - first.sentMs > windowMs) return null
  const byStatus = new Map<number | null, number>()
  for (const { status } of failed) byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
  return {
    fromMs,
    // The service processed the last of them, so the block began after it was sent.
    untilMs: last.sentMs + blockMs,
    clause: byStatus.size === 1 && byStatus.has(plainRefusal) ? 'abuse.block' : 'abuse.counts',
    statuses: [...byStatus].map(([status, count]) => `${count} of ${status}`).join(', '),
    requestIds: failed.map(({ id }) => id),
    services: new Set(failed.map(({ service }) => service)),
    blocked: new Map(),
    unblocked: new Set(),
  }
}

/** When a caller may have been blocked, according to all failures that may have counted. */
type PossibleBlocks = {
  /** Takes a failure before its turn. */
  readonly expect: (failure: AbuseAttempt) => void
  /** Takes a failure when all requests sent before its response are known. */
  readonly record: (failure: AbuseAttempt) => void
  /** Takes a request that was meant to fail and that may have been blocked as the last failure before a block. */
  readonly begins: (blocked: AbuseAttempt) => boolean
  /** No block from before the run was active at this time. */
  readonly showFree: (shownMs: number) => void
  /** Whether a block may have been active while the service processed the request. */
  readonly allows: (blocked: AbuseAttempt) => boolean
  /** The failures that may count against a request, in the order of sending. */
  readonly before: (attempt: AbuseAttempt) => readonly AbuseAttempt[]
  readonly count: (attempt: AbuseAttempt) => number
  /** When the last possible block has certainly ended. */
  readonly untilMs: () => number
  /** When the last possible block that ended before `sentMs` did end; null if there was none. */
  readonly overBefore: (sentMs: number) => number | null
}

/** Above this number of concurrent failures, some are dropped, and then no early block is flagged. */
const maxFailures = 500
const maxSpans = 8

type BlockSpan = { readonly fromMs: number; readonly untilMs: number }

function createPossibleBlocks(options: AbuseOptions & { readonly resolutionMs: number }): PossibleBlocks {
  const { failures: limit, windowMs, blockMs, firstSentMs, resolutionMs, shared } = options
  const reachMs = windowMs + resolutionMs
  const failures = createSortedQueue<AbuseAttempt>(({ sentMs }) => sentMs)
  let spans: readonly BlockSpan[] = []
  let hasOverflowed = false
  /** A block that began before the run. */
  let earlierUntilMs = firstSentMs + blockMs + resolutionMs

  /** Failures that may lie within one window, with activity between the two times. */
  function failuresBetween(fromMs: number, toMs: number): readonly AbuseAttempt[] {
    const found: AbuseAttempt[] = []
    for (let index = 0, each = failures.at(0); each !== undefined && each.sentMs <= toMs; each = failures.at(++index))
      if (each.shownMs >= fromMs - reachMs) found.push(each)
    return found
  }
  const countBetween = (fromMs: number, toMs: number): number =>
    failures.size() === 0 ? 0 : failuresBetween(fromMs, toMs).length

  /** Failures from before the run may be in the same window. */
  const isOpen = (fromMs: number): boolean => hasOverflowed || shared || fromMs - reachMs < firstSentMs

  function begin(fromMs: number, latestMs: number) {
    const span = { fromMs, untilMs: latestMs + blockMs + resolutionMs }
    const last = spans.at(-1)
    if (last === undefined || last.untilMs < fromMs) spans = [...spans, span].slice(-maxSpans)
    else spans = [...spans.slice(0, -1), { ...last, untilMs: Math.max(last.untilMs, span.untilMs) }]
  }

  return {
    expect: failure => {
      failures.insert(failure)
      if (failures.size() <= maxFailures) return
      failures.shift()
      hasOverflowed = true
    },
    record: ({ sentMs, shownMs }) => {
      const oldMs = sentMs - windowMs - blockMs - 2 * resolutionMs
      while ((failures.at(0)?.shownMs ?? oldMs) < oldMs) failures.shift()
      if (!isOpen(sentMs) && countBetween(sentMs, shownMs) <= limit) return
      begin(sentMs, shownMs)
    },
    begins: ({ shouldFail, sentMs, shownMs }) => {
      if (!shouldFail || countBetween(sentMs, shownMs) < limit) return false
      begin(sentMs, shownMs)
      return true
    },
    showFree: shownMs => {
      earlierUntilMs = Math.min(earlierUntilMs, shownMs)
    },
    allows: ({ sentMs, shownMs }) => {
      if (hasOverflowed || sentMs < earlierUntilMs) return true
      if (spans.some(({ fromMs, untilMs }) => fromMs <= shownMs && sentMs <= untilMs)) return true
      // The failure that caused the block may have been sent after the request and overtaken it.
      const overtaking = failures.at(failures.countBelow(sentMs))
      if (overtaking === undefined || overtaking.sentMs > shownMs) return false
      return isOpen(sentMs) || countBetween(sentMs, shownMs) > limit
    },
    before: ({ sentMs, shownMs }) => failuresBetween(sentMs, shownMs),
    count: ({ sentMs, shownMs }) => countBetween(sentMs, shownMs),
    untilMs: () => Math.max(earlierUntilMs, spans.at(-1)?.untilMs ?? Number.NEGATIVE_INFINITY),
    overBefore: sentMs => spans.findLast(({ untilMs }) => untilMs < sentMs)?.untilMs ?? null,
  }
}
