import { randomStream } from '../lib/random.ts'
import type { Reply } from './message.ts'

/** How much a service can do at once. Without it (null) it can do everything. */
export type ServiceCapacity = {
  /** So many requests are carried out at a time. */
  readonly slots: number
  /** How long a request takes its slot. */
  readonly serviceTimeMs: number
  /** constant: each as long · exponential: with that mean, as of a server without memory */
  readonly spread: Spread
  /** So many more wait for a slot, in the order in which they came; whoever comes beyond them is refused. */
  readonly queue: number
}

export type Spread = (typeof spreads)[number]
export const spreads = ['constant', 'exponential'] as const

export type Slots = {
  readonly isFull: (nowMs: number) => boolean
  /** Takes the next slot: milliseconds from now until the request has had it. */
  readonly take: (nowMs: number) => number
}

/** Slots and the queue before them. `nowMs` never falls. */
export function createSlots(capacity: ServiceCapacity | null, seed: number): Slots {
  if (capacity === null) return { isFull: () => false, take: () => 0 }
  const { slots, serviceTimeMs, spread, queue } = capacity
  const random = randomStream(seed, 'service-times')
  /** When each slot is free. */
  const freeMs = Array<number>(slots).fill(0)
  /** When those begin who wait; whoever comes later does not begin earlier. */
  let beginsMs: number[] = []
  const waiting = (nowMs: number) => {
    beginsMs = beginsMs.filter(beginMs => beginMs > nowMs)
    return beginsMs.length
  }
  return {
    isFull: nowMs => waiting(nowMs) >= queue && freeMs.every(ms => ms > nowMs),
    take: nowMs => {
      const first = freeMs.reduce((least, ms, slot) => (ms < (freeMs[least] ?? 0) ? slot : least), 0)
      const beginMs = Math.max(nowMs, freeMs[first] ?? nowMs)
      const endMs = beginMs + serviceTimeMs * (spread === 'exponential' ? random.exponential() : 1)
      freeMs[first] = endMs
      if (beginMs > nowMs) beginsMs.push(beginMs)
      return endMs - nowMs
    },
  }
}

/** The same reply so much later. */
export function delayed(reply: Reply, ms: number): Reply {
  if (ms === 0) return reply
  const later = { ...reply, afterMs: reply.afterMs + ms }
  if (reply.body.kind !== 'stream') return later
  const chunks = reply.body.chunks.map(({ afterMs, text }) => ({ afterMs: afterMs + ms, text }))
  return { ...later, body: { kind: 'stream', chunks } }
}
