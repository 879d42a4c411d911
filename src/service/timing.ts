import type { Random } from '../lib/random.ts'

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
