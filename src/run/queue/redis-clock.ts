import type { Machine } from '../../judge/judge-run.ts'
import { type Clock, type Epoch, epochOf } from '../../lib/clock.ts'
import type { RedisClient } from './queue.ts'

/** The clock of Redis, as this machine sees it. All machines of a run share it. */
export type RedisClock = {
  /** Compares the two clocks once more. Rejects if Redis does not answer. */
  readonly measure: () => Promise<void>
  /** The time of Redis, in Unix milliseconds. */
  readonly nowMs: () => number
  /** The clock of a run whose time 0 is this time of Redis. It never jumps: later measurements do not move it. */
  readonly epochAt: (zeroMs: number) => Epoch
  /** How the two clocks differ: by the measurement that shows the largest drift without a doubt. */
  readonly skew: () => Omit<Machine, 'name'>
}

export function createRedisClock(redis: Pick<RedisClient, 'time'>, clock: Clock): RedisClock {
  /** The time of Redis at time 0 of the clock of this machine; by the first measurement, and by the one with the largest drift. */
  let first: { readonly offsetMs: number; readonly errorMs: number } | null = null
  let widest = { offsetMs: 0, errorMs: Number.POSITIVE_INFINITY }
  const offset = () => (first ?? widest).offsetMs
  const leastDrift = (measured: typeof widest) => Math.abs(measured.offsetMs - offset()) - measured.errorMs

  return {
    measure: async () => {
      let best = { offsetMs: 0, errorMs: Number.POSITIVE_INFINITY }
      for (let sample = 0; sample < samples; sample++) {
        const sentMs = clock.nowMs()
        const [seconds, micros] = await redis.time()
        const errorMs = (clock.nowMs() - sentMs) / 2
        const redisMs = Number(seconds) * 1_000 + Number(micros) / 1_000
        if (errorMs < best.errorMs) best = { offsetMs: redisMs - (sentMs + errorMs), errorMs }
      }
      first ??= best
      if (leastDrift(best) >= leastDrift(widest)) widest = best
    },
    nowMs: () => clock.nowMs() + offset(),
    epochAt: zeroMs => ({ machineMs: epochOf(clock).machineMs + zeroMs - offset(), wallMs: zeroMs }),
    skew: () => ({
      clockAheadMs: clock.wallMs() - (clock.nowMs() + widest.offsetMs),
      clockDriftMs: widest.offsetMs - offset(),
      clockErrorMs: widest.errorMs,
    }),
  }
}

/** The best of these is taken: a short round trip leaves little doubt. */
const samples = 5
