import type { Clock } from './clock.ts'

const tries = 64

/**
 * What the machine's own monotonic clock, which all of its processes share, shows at the origin of `clock`: instants of
 * two processes can be compared once each is added to it. Off by at most half of the shortest time in which both clocks
 * can be read, about a microsecond.
 */
export function originOnMachineMs(clock: Clock): number {
  let narrowestMs = Number.POSITIVE_INFINITY
  let originMs = Number.NaN
  for (let i = 0; i < tries; i++) {
    const beforeMs = clock.nowMs()
    const machineMs = Number(process.hrtime.bigint()) / 1e6
    const widthMs = clock.nowMs() - beforeMs
    if (widthMs >= narrowestMs) continue
    narrowestMs = widthMs
    originMs = machineMs - (beforeMs + widthMs / 2)
  }
  return originMs
}
