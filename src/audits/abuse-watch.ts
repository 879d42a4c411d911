import type { Say } from '../checks/findings.ts'
import type { AbuseRules, Attempt } from './attempt.ts'
import { type CertainBlock, certainBlock } from './certain-block.ts'
import { createPossibleBlocks } from './possible-blocks.ts'
import { createSortedQueue } from './sorted-queue.ts'

export type AbuseWatch = {
  /** Attempts added later were sent at `watermarkMs` or after it. */
  readonly add: (attempt: Attempt, watermarkMs: number) => void
  readonly conclude: () => void
}

/** How exactly a service keeps time: its seconds may be whole ones, rounded either way. */
const grainOf = ({ windowMs, blockMs }: AbuseRules): number => Math.min(1_000, windowMs / 10, blockMs / 10)

/** A block that is still in force after so much of it was not cut short by much. */
const longEnough = 0.75
const mostNamed = 24

/** Judges the blocks of one caller by what is certain and what is possible, in the order of sending. */
export function createAbuseWatch(rules: AbuseRules, say: Say<'abuse'>): AbuseWatch {
  const { failures: limit, windowMs, blockMs } = rules
  const grainMs = grainOf(rules)
  const inSeconds = `${blockMs / 1000} s`
  const open = createSortedQueue<Attempt>(({ sentMs }) => sentMs)
  const possible = createPossibleBlocks({ ...rules, grainMs })
  /** The last failures that are certain, at most one more than the limit. */
  let failed: Attempt[] = []
  /** When the last requests that did not fail were sent. */
  const unfailedMs: number[] = []
  let certain: CertainBlock | null = null
  /** The latest of the answers that showed no block. */
  let freeMs = Number.NEGATIVE_INFINITY
  let wasBlocked = false
  let isAccused = false

  function judge(attempt: Attempt) {
    const { sentMs, shownMs, failure } = attempt
    const isInside = certain !== null && sentMs >= certain.fromMs && shownMs <= certain.untilMs
    const block = isInside ? certain : null
    const isNamelessBlock = block !== null && !attempt.isBlocked && attempt.status === rules.status
    if (attempt.isBlocked || isNamelessBlock) {
      if (isNamelessBlock && !attempt.isWorded) accuseWords(attempt)
      judgeBlocked(attempt, block)
      return
    }
    if (attempt.isLookedAt) judgeFree(attempt, block)
    if (failure === null) noteUnfailed(sentMs)
    else possible.note(attempt)
    if (failure === 'certain') noteCertain(attempt)
  }

  function noteUnfailed(sentMs: number) {
    unfailedMs.push(sentMs)
    if (unfailedMs.length > limit + 1) unfailedMs.shift()
  }

  function noteCertain(attempt: Attempt) {
    failed = [...failed, attempt].slice(-limit - 1)
    const block = certainBlock(failed, { limit, windowMs: windowMs - grainMs, blockMs: blockMs - grainMs })
    if (block === null) return
    certain = block
    failed = []
  }

  function judgeBlocked(attempt: Attempt, block: CertainBlock | null) {
    const { sentMs, service, seq } = attempt
    // What led to a block that is shorter than the window may count again, or not.
    if (windowMs > blockMs) failed = []
    if (!possible.allows(attempt) && !possible.begins(attempt)) return accuseEarly(attempt)
    wasBlocked = true
    if (block === null) return
    say.kept(block.clause)
    if (!block.services.has(service)) say.kept('abuse.all-requests')
    if (sentMs >= block.fromMs + blockMs * longEnough) say.kept('abuse.duration')
    block.blocked.set(service, seq)
  }

  function judgeFree(attempt: Attempt, block: CertainBlock | null) {
    const { sentMs, shownMs } = attempt
    if (block !== null) accuseFree(attempt, block)
    else if (wasBlocked && sentMs > possible.untilMs()) {
      say.kept('abuse.ends')
      wasBlocked = false
    }
    const recent = shownMs - windowMs + grainMs
    if (failed.length >= limit && (failed.at(-limit)?.sentMs ?? 0) >= recent) say.kept('abuse.not-early')
    if (unfailedMs.length > limit && (unfailedMs[0] ?? 0) >= recent) say.kept('abuse.counts')
    freeMs = Math.max(freeMs, shownMs)
    possible.showFree(shownMs)
    isAccused = false
  }

  /** The answer came from a caller who was blocked for sure. */
  function accuseFree({ seq, status, sentMs, service }: Attempt, block: CertainBlock) {
    const into = `${((sentMs - block.fromMs) / 1000).toFixed(1)} s after more than ${limit} failures`
    const got = `a request was answered with ${status} ${into}`
    const expected = `expected a block of ${inSeconds}`
    const cause = [...block.seqs, seq].slice(-mostNamed)
    const witness = block.blocked.get(service)
    if (witness !== undefined) {
      say.broken('abuse.duration', `${got}, ${expected}`, [...block.seqs.slice(-1), witness, seq])
      certain = null
    } else if (block.blocked.size > 0) {
      if (block.spared.has(service)) return
      block.spared.add(service)
      const others = [...block.blocked.keys()].join(' and ')
      const because = `${got}, while ${others} was blocked, expected the block to hold for all requests`
      say.broken('abuse.all-requests', because, [...block.seqs.slice(-1), ...block.blocked.values(), seq])
    } else {
      say.broken(block.clause, `${got} (${block.statuses}), ${expected}`, cause)
      certain = null
    }
  }

  function accuseWords({ seq, status, sentMs }: Attempt) {
    const into = certain === null ? '' : `${((sentMs - certain.fromMs) / 1000).toFixed(1)} s into a block `
    const because = `${into}a request was answered with a ${status} that does not say so, expected it to say to wait ${inSeconds} and retry`
    say.broken('abuse.message', because, [seq])
  }

  /** No block can have been in force. Of a block that goes on unduly, the first answer is accused. */
  function accuseEarly(attempt: Attempt) {
    if (rules.shared || isAccused) return
    isAccused = true
    const { seq, sentMs } = attempt
    const overMs = possible.overBefore(sentMs)
    if (overMs !== null && wasBlocked && freeMs < overMs) {
      const late = ((sentMs - overMs + grainMs + blockMs) / 1000).toFixed(1)
      const because = `a request was blocked ${late} s after the last failure that can be the cause, expected ${inSeconds} at most`
      return say.broken('abuse.ends', because, [seq])
    }
    const used = possible.count(attempt)
    const others = unfailedMs.filter(each => each >= sentMs - windowMs - grainMs).length
    const because = `a request was blocked after ${used} failures and ${others} other requests, expected it after more than ${limit} failures`
    say.broken(used < limit && used + others > limit ? 'abuse.counts' : 'abuse.not-early', because, [seq])
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
      if (attempt.failure !== null) possible.foresee(attempt)
      advance(watermarkMs)
    },
    conclude: () => advance(Number.POSITIVE_INFINITY),
  }
}
