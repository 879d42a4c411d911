import { randomStream } from '../../../src/lib/random.ts'
import { logNormal } from '../../../src/service/capacity.ts'

/** How machines differ between nights: the noise that a comparison must tolerate. */
export type NightNoise = {
  /** The slowdown factor at an instant of the run. */
  readonly slowness: (nowMs: number) => number
  /** The network delay of a request or a response, in milliseconds. */
  readonly delayMs: () => number
}

/** The sigma of the log-normal factor of a whole night. */
const nightSigma = 0.015
/** The maximum amplitude of the slow drift within a night. */
const maxSwing = 0.03
/** The maximum number of short disturbances per night, each up to two seconds long. */
const maxSpikes = 4

/** Depends only on the number of the night. The reference service adds the variation of single requests. */
export function nightNoise(night: number): NightNoise {
  const random = randomStream(night, 'night')
  const between = (min: number, max: number) => min + random.next() * (max - min)
  const whole = logNormal(random, 1, nightSigma)
  const swing = between(0, maxSwing)
  const periodMs = between(40_000, 200_000)
  const phase = between(0, 2 * Math.PI)
  const spikes = Array.from({ length: Math.floor(between(0, maxSpikes + 1)) }, () => {
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
