import { type Random, randomStream } from '../lib/random.ts'
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
/** How long the service takes. Each duration is log-normal: a median, and the sigma of its logarithm. */
export type Timing = {
  /** Until the first token. */
  readonly ttftMs: number
  readonly ttftSigma: number
  /** From token to token. */
  readonly itlMs: number
  readonly itlSigma: number
  /** One request to a node, single or batch. */
  readonly rpcMs: number
  readonly rpcSigma: number
}
export const defaultTiming: Timing = {
  ttftMs: 120,
  ttftSigma: 0.25,
  itlMs: 12,
  itlSigma: 0.3,
  rpcMs: 8,
  rpcSigma: 0.35,
}
/** Everything takes longer by this share: 0.1 is 10 %. A known slowdown, for whoever wants to see it found. */
export const slowed = (timing: Timing, share: number): Timing => ({
  ...timing,
  ttftMs: timing.ttftMs * (1 + share),
  itlMs: timing.itlMs * (1 + share),
  rpcMs: timing.rpcMs * (1 + share),
})
/** median · e^(sigma · z), z standard normal by Box and Muller. Exactly the median when there is nothing to spread. */
export function logNormal(random: Random, medianMs: number, sigma: number): number {
  if (sigma === 0 || medianMs === 0) return medianMs
  const radius = Math.sqrt(-2 * Math.log(1 - random.next()))
  return medianMs * Math.exp(sigma * radius * Math.cos(2 * Math.PI * random.next()))
}
