import { type Clock, systemClock } from './clock.ts'

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

/** When a clock stands at 0: on the machine's own clock, and as Unix time. Both in milliseconds. */
export type Epoch = { readonly machineMs: number; readonly wallMs: number }

export const epochOf = (clock: Clock): Epoch => {
  return { machineMs: originOnMachineMs(clock), wallMs: clock.wallMs() - clock.nowMs() }
}

/** The machine's clock from that epoch on, for another thread: it shows what the clock shows that the epoch is of. */
export function clockSince({ machineMs, wallMs }: Epoch): Clock {
  const own = systemClock()
  const aheadMs = originOnMachineMs(own) - machineMs
  const nowMs = () => own.nowMs() + aheadMs
  return {
    nowMs,
    wallMs: () => wallMs + nowMs(),
    at: (dueMs, wake) => own.at(dueMs - aheadMs, wake),
    sharplyAt: (dueMs, wake) => own.sharplyAt(dueMs - aheadMs, wake),
  }
}
