import { type Clock, sleepUntil } from '../lib/clock.ts'
import type { PushCounts } from '../observation/log.ts'
import type { Reply } from './reply.ts'

/** One request that waits to be sent, and how many samples it holds. */
export type Letter = { readonly body: Uint8Array; readonly samples: number }

export type Post = (body: Uint8Array, signal: AbortSignal) => Promise<Reply>

/**
 * Sends letters one after the other in the order in which they were put, each until it is taken or refused. Whoever puts
 * one never waits. Bounded: while a receiver takes nothing, the oldest letters are lost, and counted.
 */
export type Outbox = {
  readonly put: (letter: Letter) => void
  /** Resolves when every letter is taken or lost, which the rest is when `until` aborts. To be called once, at the end. */
  readonly flush: (until: AbortSignal) => Promise<void>
  readonly tally: () => PushCounts
}

export type OutboxOptions = {
  readonly clock: Clock
  readonly post: Post
  /** Told when sending stops going well, and when it goes well again. */
  readonly note: (line: string) => void
  readonly mostBytes?: number
}

/** Minutes of an ordinary run. */
const mostQueuedBytes = 8_388_608
const firstPauseMs = 250
const longestPauseMs = 5_000
const longestRetryAfterMs = 60_000

export function createOutbox({ clock, post, note, mostBytes = mostQueuedBytes }: OutboxOptions): Outbox {
  const queue: Letter[] = []
  const given = new AbortController()
  let queuedBytes = 0
  let pauseMs = firstPauseMs
  let sending: Promise<void> | null = null
  /** What was told last, so that nothing is told twice. */
  let [isWaiting, hasRefused] = [false, false]
  let [takenSamples, failures, lostSamples] = [0, 0, 0]

  const next = (): Letter | undefined => {
    const letter = queue.shift()
    queuedBytes -= letter?.body.length ?? 0
    return letter
  }

  const lose = ({ samples }: Letter) => {
    lostSamples += samples
  }

  async function send(letter: Letter): Promise<void> {
    for (;;) {
      if (given.signal.aborted) return lose(letter)
      const reply = await post(letter.body, given.signal)
      switch (reply.kind) {
        case 'accepted':
          takenSamples += letter.samples
          pauseMs = firstPauseMs
          if (isWaiting) note('taken again')
          isWaiting = false
          return
        case 'refused':
          failures++
          if (!hasRefused) note(`${reply.because}; what is refused is not sent again`)
          hasRefused = true
          return lose(letter)
        case 'later':
          failures++
          if (!isWaiting) note(`${reply.because}; trying again`)
          isWaiting = true
          await sleepUntil(clock, clock.nowMs() + waitMs(reply.afterMs), given.signal)
      }
    }
  }

  function waitMs(afterMs: number | null): number {
    const ownMs = pauseMs
    pauseMs = Math.min(2 * pauseMs, longestPauseMs)
    return afterMs === null ? ownMs : Math.max(ownMs, Math.min(afterMs, longestRetryAfterMs))
  }

  async function sendAll(): Promise<void> {
    for (let letter = next(); letter !== undefined; letter = next()) await send(letter)
    sending = null
  }

  return {
    put: letter => {
      queue.push(letter)
      queuedBytes += letter.body.length
      while (queuedBytes > mostBytes) {
        const oldest = next()
        if (oldest === undefined) break
        lose(oldest)
      }
      sending ??= sendAll()
    },
    flush: async until => {
      const give = () => given.abort()
      until.addEventListener('abort', give, { once: true })
      if (until.aborted) give()
      await sending
      until.removeEventListener('abort', give)
    },
    tally: () => ({ takenSamples, failures, lostSamples }),
  }
}
