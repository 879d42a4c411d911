import type { ClauseReporter } from '../../findings/findings.ts'
import type { Obstacle } from '../../findings/obstacles.ts'
import { createSortedQueue } from '../overlap-bounds.ts'
import { createHiddenRequests, cutWindow, lateRefusal, missingHeaders, unusableReset } from './hidden.ts'
import { createLimitRecord, type Limit, type LimitContext } from './limit-record.ts'
import { clockResolutionMs, createResetCheck, createRetryCheck, type ReportedWindow } from './resets.ts'
import { createLimitWindow, type LimitWindow, type WindowRequest } from './window.ts'

/** How long a window stays open after its reset time, since clocks differ. */
const windowGraceMs = 5_000
/** With more open windows than this, the target is at fault. The oldest window is judged early. */
const maxWindows = 256
/** More requests without a window than this are not stored, and then no upper bound on use is asserted. */
const maxUnplaced = 10_000

type OpenWindow = ReportedWindow & {
  readonly judged: LimitWindow
  members: number
  accepted: number
  maxTokens: number
}

/** One limit of fixed windows. They are identified by reset time and judged when no more requests can join them. */
export function createLimit(context: LimitContext, reporter: ClauseReporter<'rate-limits'>): Limit {
  const { contract, drawn, startedAtMs, shared, offset, otherUse } = context
  const windowMs = contract.limits.windowMs
  const resets = createResetCheck({ scope: drawn.name, contract, startedAtMs, offset }, reporter)
  const retries = createRetryCheck({ scope: drawn.name, startedAtMs, offset }, reporter)
  const sameWindowMs = Math.min(clockResolutionMs, windowMs / 5)
  /** In the order of their reset. */
  let open: readonly OpenWindow[] = []
  let closedThroughMs = Number.NEGATIVE_INFINITY
  let closed: readonly Pick<OpenWindow, 'resetMs' | 'maxTokens' | 'accepted'>[] = []
  /** Requests that no response assigned to a window. */
  const unplaced = createSortedQueue<WindowRequest>(member => member.sentMs)
  let areAllStored = true
  /** After a window was cut short, the counts of the following ones are open. */
  let wasWindowCut = false
  const record = createLimitRecord(context, reporter)
  const { counts } = record
  const hidden = createHiddenRequests()
  const noHeaders = missingHeaders(contract)
  const keys = new Set<number>()
  /** When the first 429 came. */
  let refusedMs = Number.POSITIVE_INFINITY

  /** After a cut window, no later one is counted. */
  const hiding = () => (wasWindowCut ? cutWindow : hidden.most())

  function place(member: WindowRequest, resetMs: number, watermarkMs: number) {
    if (retries.isLate(member, resetMs)) return storeHidden(member, lateRefusal, watermarkMs)
    // An impossible reset does not identify the window either.
    if (!resets.judge(member, resetMs)) return storeHidden(member, unusableReset, watermarkMs)
    if (!wasWindowCut) hidden.add(member, null)
    if (resetMs <= closedThroughMs + sameWindowMs) return
    const window = open.find(each => Math.abs(each.resetMs - resetMs) <= sameWindowMs)
    if (window !== undefined) join(window, member, watermarkMs)
    // A non-success response may count toward another limit and name a window of that limit.
    else if (member.kind === 'uncertain') storeUnplaced(member, watermarkMs)
    else openWindow(member, resetMs, watermarkMs)
  }

  function openWindow(member: WindowRequest, resetMs: number, watermarkMs: number) {
    const window: OpenWindow = {
      resetMs,
      judged: createLimitWindow(
        {
          scope: drawn.name,
          limit: drawn.requestsPerMinute,
          tokenLimit: drawn.tokensPerMinute,
          isComplete: () => isComplete(window),
          earlierTokens: () => tokensBefore(window),
          earlierRequests: () => requestsBefore(window),
        },
        reporter,
      ),
      members: 0,
      accepted: 0,
      maxTokens: 0,
      hasFirst: false,
      namedMs: Number.POSITIVE_INFINITY,
      namedBy: member.id,
      isCutShort: false,
      keys: new Set(),
    }
    open = [...open, window].sort((a, b) => a.resetMs - b.resetMs)
    counts.windows++
    for (let index = 0; index < unplaced.size(); index++) {
      const candidate = unplaced.at(index)
      if (candidate !== undefined && mayBelong(candidate, window)) add(window, candidate, Number.NEGATIVE_INFINITY)
    }
    join(window, member, watermarkMs)
  }

  function join(window: OpenWindow, member: WindowRequest, watermarkMs: number) {
    window.members++
    window.keys.add(member.key)
    if (member.kind === 'accepted') window.accepted++
    const retry = retries.mark(member, window.resetMs)
    if (member.kind !== 'uncertain' && member.shownMs < window.namedMs) {
      window.namedMs = member.shownMs
      window.namedBy = member.id
    }
    if (member.kind === 'accepted' && member.stated !== null && member.stated - (member.remaining ?? 0) === 1)
      window.hasFirst = true
    if (resets.judgeOrder(open)) wasWindowCut = true
    add(window, retry, watermarkMs)
  }

  function add(window: OpenWindow, member: WindowRequest, watermarkMs: number) {
    window.maxTokens += member.maxTokens
    if (!wasWindowCut) window.judged.add(member, watermarkMs)
    else noteHidden(member, cutWindow)
  }

  function storeHidden(member: WindowRequest, obstacle: Obstacle | null, watermarkMs: number) {
    if (obstacle !== null) noteHidden(member, obstacle)
    storeUnplaced(member, watermarkMs)
  }

  function noteHidden(member: WindowRequest, obstacle: Obstacle) {
    hidden.add(member, obstacle)
    if (member.kind === 'accepted') {
      reporter.unjudged('limit.requests.remaining', obstacle)
      reporter.unjudged('limit.requests.window', obstacle)
      if (keys.size > 1) reporter.unjudged('auth.keys-share-limits', obstacle)
    } else if (member.kind === 'rejected') reporter.unjudged('limit.requests.not-early', obstacle)
    if (member.kind !== 'uncertain' && member.sentMs > refusedMs) reporter.unjudged('retry.after-reset', obstacle)
  }

  /** Stores a request that may belong to any window of its time, including windows not yet named. */
  function storeUnplaced(request: WindowRequest, watermarkMs: number) {
    const member: WindowRequest = { ...request, kind: 'uncertain' }
    unplaced.insert(member)
    if (unplaced.size() > maxUnplaced) {
      unplaced.shift()
      areAllStored = false
    }
    for (const window of open) if (mayBelong(member, window)) add(window, member, watermarkMs)
  }

  function mayBelong({ sentMs, shownMs }: WindowRequest, { resetMs }: OpenWindow): boolean {
    const { min, max } = offset()
    const startedMs = resetMs - windowMs
    return (
      startedAtMs + shownMs + max >= startedMs - clockResolutionMs &&
      startedAtMs + sentMs + min <= resetMs + clockResolutionMs
    )
  }

  /**
   * Unless the accounts are shared, a window has unknown requests only if it may have begun before the run.
   */
  function isComplete({ resetMs, hasFirst }: OpenWindow): boolean {
    if (shared || otherUse() > 0 || !areAllStored || wasWindowCut) return false
    const runBeganMs = startedAtMs + context.firstSentMs + offset().max
    return hasFirst || resetMs - windowMs - clockResolutionMs >= runBeganMs
  }

  function tokensBefore({ resetMs }: OpenWindow): number {
    return [...closed, ...open]
      .filter(other => other.resetMs < resetMs && other.resetMs > resetMs - 2 * windowMs)
      .reduce((sum, { maxTokens }) => sum + maxTokens, 0)
  }

  function requestsBefore({ resetMs }: OpenWindow): number {
    const before = [...closed, ...open].findLast(other => other.resetMs < resetMs)
    return before !== undefined && before.resetMs > resetMs - 2 * windowMs ? before.accepted : 0
  }

  function closeFirst() {
    if (resets.judgeOrder(open)) wasWindowCut = true
    const [window] = open
    if (window === undefined) return
    if (window.members > 1 && !window.isCutShort) reporter.pass('limit.requests.window')
    if (!wasWindowCut) {
      const { unexpected429, decided429, missing429 } = window.judged.finish()
      counts.decided429 += decided429
      counts.unexpected429 += unexpected429
      counts.missing429 += missing429
    }
    open = open.slice(1)
    closedThroughMs = window.resetMs
    closed = [...closed, window].slice(-2)
  }

  return {
    add: (member, watermarkMs) => {
      const { resetMs } = member
      record.add(member)
      if (member.kind !== 'uncertain') keys.add(member.key)
      if (member.kind === 'rejected') refusedMs = Math.min(refusedMs, member.shownMs)
      if (resetMs === null) storeHidden(member, noHeaders, watermarkMs)
      else place(member, resetMs, watermarkMs)

      // Later requests are sent at the watermark or later, so they cannot join a window that ended before it.
      const overMs = startedAtMs + watermarkMs + offset().min - windowGraceMs
      while (open[0] !== undefined && (open[0].resetMs < overMs || open.length > maxWindows)) closeFirst()
      const oldMs = watermarkMs - 2 * windowMs - windowGraceMs
      while ((unplaced.at(0)?.shownMs ?? oldMs) < oldMs) unplaced.shift()
    },
    finish: () => {
      while (open.length > 0) closeFirst()
      record.finish(hiding())
    },
    result: () => record.result(hiding()),
  }
}
