import { type Clock, sleepUntil } from '../../lib/clock.ts'
import type { PushCounts } from '../../observation/log-lines.ts'
import type { Post } from './receiver.ts'

/** The body of one request, and its number of samples. */
export type WriteBatch = { readonly body: Uint8Array; readonly samples: number }

/**
 * Sends batches in order, one at a time, and retries each until it is accepted or refused. `put` never waits. The queue
 * is bounded: while a receiver accepts no batches, the oldest batches are dropped and counted as lost.
 */
export type SendQueue = {
  readonly put: (batch: WriteBatch) => void
  /** Call once, at the end. Resolves when every batch is accepted or lost. When `until` aborts, the rest is lost. */
  readonly flush: (until: AbortSignal) => Promise<void>
  readonly tally: () => PushCounts
}

export type SendQueueOptions = {
  readonly clock: Clock
  readonly post: Post
  /** Called when the receiver stops accepting batches, and when it accepts them again. */
  readonly note: (line: string) => void
  readonly maxBytes?: number
}

/** Enough for a few minutes of an ordinary run. */
const maxQueuedBytes = 8_388_608
const firstPauseMs = 250
const maxPauseMs = 5_000
const maxRetryAfterMs = 60_000

export function createSendQueue({ clock, post, note, maxBytes = maxQueuedBytes }: SendQueueOptions): SendQueue {
  const queue: WriteBatch[] = []
  const gaveUp = new AbortController()
  let queuedBytes = 0
  let pauseMs = firstPauseMs
  let sending: Promise<void> | null = null
  /** Whether each problem was noted already, so that it is noted once. */
  let [isWaiting, hasRefused] = [false, false]
  let [takenSamples, failures, lostSamples] = [0, 0, 0]

  const next = (): WriteBatch | undefined => {
    const batch = queue.shift()
    queuedBytes -= batch?.body.length ?? 0
    return batch
  }

  const lose = ({ samples }: WriteBatch) => {
    lostSamples += samples
  }

  const noteRefusal = (reason: string) => {
    if (!hasRefused) note(reason)
    hasRefused = true
  }

  async function send(batch: WriteBatch): Promise<void> {
    for (;;) {
      if (gaveUp.signal.aborted) return lose(batch)
      const result = await post(batch.body, gaveUp.signal)
      switch (result.kind) {
        case 'partial':
        case 'accepted': {
          const rejected = result.kind === 'partial' ? Math.min(result.rejected, batch.samples) : 0
          takenSamples += batch.samples - rejected
          lostSamples += rejected
          pauseMs = firstPauseMs
          if (isWaiting) note('taken again')
          isWaiting = false
          if (result.kind === 'partial') noteRefusal(result.reason)
          return
        }
        case 'refused':
          failures++
          noteRefusal(`${result.reason}; what is refused is not sent again`)
          return lose(batch)
        case 'later':
          failures++
          if (!isWaiting) note(`${result.reason}; trying again`)
          isWaiting = true
          await sleepUntil(clock, clock.nowMs() + waitMs(result.afterMs), gaveUp.signal)
      }
    }
  }

  function waitMs(afterMs: number | null): number {
    const backoffMs = pauseMs
    pauseMs = Math.min(2 * pauseMs, maxPauseMs)
    return afterMs === null ? backoffMs : Math.max(backoffMs, Math.min(afterMs, maxRetryAfterMs))
  }

  async function sendAll(): Promise<void> {
    for (let batch = next(); batch !== undefined; batch = next()) await send(batch)
    sending = null
  }

  return {
    put: batch => {
      queue.push(batch)
      queuedBytes += batch.body.length
      while (queuedBytes > maxBytes) {
        const oldest = next()
        if (oldest === undefined) break
        lose(oldest)
      }
      sending ??= sendAll()
    },
    flush: async until => {
      const giveUp = () => gaveUp.abort()
      until.addEventListener('abort', giveUp, { once: true })
      if (until.aborted) giveUp()
      await sending
      until.removeEventListener('abort', giveUp)
    },
    tally: () => ({ takenSamples, failures, lostSamples }),
  }
}
