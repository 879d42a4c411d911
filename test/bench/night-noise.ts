import { randomStream } from '../../src/lib/random.ts'
import { logNormal } from '../../src/service/capacity.ts'

/** How a machine of one night differs from that of another: the noise that a comparison must see through. */
export type NightNoise = {
  /** How much longer everything takes at an instant of the run. */
  readonly slowness: (nowMs: number) => number
  /** Milliseconds that a request, and an answer, are on their way. */
  readonly delayMs: () => number
}

/** What makes a whole night slower or quicker than others: the sigma of its logarithm. */
const nightSigma = 0.015
/** Within a night it goes up and down slowly, by up to so much. */
const mostSwing = 0.03
/** Now and then something else is going on for a second or two. */
const mostSpikes = 4

/** Drawn from the number of the night alone. What single requests take, the reference service draws on top. */
export function nightNoise(night: number): NightNoise {
  const random = randomStream(night, 'night')
  const between = (least: number, most: number) => least + random.next() * (most - least)
  const whole = logNormal(random, 1, nightSigma)
  const swing = between(0, mostSwing)
  const periodMs = between(40_000, 200_000)
  const phase = between(0, 2 * Math.PI)
  const spikes = Array.from({ length: Math.floor(between(0, mostSpikes + 1)) }, () => {
    const startMs = between(0, 150_000)
    return { startMs, endMs: startMs + between(500, 2_000), factor: between(1.3, 2.5) }
  })
  return {
    slowness: nowMs => {
      const spike = spikes.find(({ startMs, endMs }) => nowMs >= startMs && nowMs < endMs)
      return whole * (1 + swing * Math.sin(phase + (2 * Math.PI * nowMs) / periodMs)) * (spike?.factor ?? 1)
    },
    delayMs: () => logNormal(random, 0.4, 0.4),
  }
}
