import { type Random, randomStream } from '../lib/random.ts'
import type { Reply } from './message.ts'

/** The capacity of a service; null for no limit. */
export type ServiceCapacity = {
  /** Concurrent requests. */
  readonly concurrency: number
  /** How long a request occupies its slot. */
  readonly serviceTimeMs: number
  /** constant: always the service time · exponential: with the service time as its mean */
  readonly distribution: LatencyDistributionKind
  /** Requests that may wait for a slot, first come, first served. Further ones are rejected with 503. */
  readonly queueLength: number
}

type LatencyDistributionKind = (typeof latencyDistributionKinds)[number]
export const latencyDistributionKinds = ['constant', 'exponential'] as const

type Slots = {
  readonly isFull: (nowMs: number) => boolean
  /** Takes the next free slot. Returns the milliseconds until the request leaves it. */
  readonly take: (nowMs: number) => number
}

/** Slots and the queue for them. `nowMs` must never decrease. */
export function createSlots(capacity: ServiceCapacity | null, seed: number): Slots {
  if (capacity === null) return { isFull: () => false, take: () => 0 }
  const { concurrency, serviceTimeMs, distribution, queueLength } = capacity
  const random = randomStream(seed, 'service-times')
  /** When each slot becomes free. */
  const freeMs = Array<number>(concurrency).fill(0)
  /** When each waiting request begins, in ascending order. */
  let beginsMs: number[] = []
  const waiting = (nowMs: number) => {
    beginsMs = beginsMs.filter(beginMs => beginMs > nowMs)
    return beginsMs.length
  }
  return {
    isFull: nowMs => waiting(nowMs) >= queueLength && freeMs.every(ms => ms > nowMs),
    take: nowMs => {
      const first = freeMs.reduce((min, ms, slot) => (ms < (freeMs[min] ?? 0) ? slot : min), 0)
      const beginMs = Math.max(nowMs, freeMs[first] ?? nowMs)
      const endMs = beginMs + serviceTimeMs * (distribution === 'exponential' ? random.exponential() : 1)
      freeMs[first] = endMs
      if (beginMs > nowMs) beginsMs.push(beginMs)
      return endMs - nowMs
    },
  }
}

/** The same reply, `ms` later. */
export function delayReply(reply: Reply, ms: number): Reply {
  if (ms === 0) return reply
  const { onLeave } = reply
  const later = { ...reply, afterMs: reply.afterMs + ms, onLeave: onLeave && ((atMs: number) => onLeave(atMs - ms)) }
  if (reply.body.kind !== 'stream') return later
  const chunks = reply.body.chunks.map(({ afterMs, text }) => ({ afterMs: afterMs + ms, text }))
  return { ...later, body: { ...reply.body, chunks } }
}

/** How long the service takes. Each duration is log-normal: its median, and the sigma of its logarithm. */
export type ServiceLatency = {
  /** Time to first token. */
  readonly ttftMs: number
  readonly ttftSigma: number
  /** Inter-token latency. */
  readonly itlMs: number
  readonly itlSigma: number
  /** One RPC request, single or batch. */
  readonly rpcMs: number
  readonly rpcSigma: number
}

export const defaultLatency: ServiceLatency = {
  ttftMs: 120,
  ttftSigma: 0.25,
  itlMs: 12,
  itlSigma: 0.3,
  rpcMs: 8,
  rpcSigma: 0.35,
}

/** Every duration longer by this ratio: 0.1 is 10 %. A known slowdown, to test that a comparison finds it. */
export const scaleLatency = (latency: ServiceLatency, ratio: number): ServiceLatency => ({
  ...latency,
  ttftMs: latency.ttftMs * (1 + ratio),
  itlMs: latency.itlMs * (1 + ratio),
  rpcMs: latency.rpcMs * (1 + ratio),
})

/** median · e^(sigma · z), z standard normal by Box and Muller. With sigma 0, exactly the median. */
export function logNormal(random: Random, medianMs: number, sigma: number): number {
  if (sigma === 0 || medianMs === 0) return medianMs
  const radius = Math.sqrt(-2 * Math.log(1 - random.next()))
  return medianMs * Math.exp(sigma * radius * Math.cos(2 * Math.PI * random.next()))
}
