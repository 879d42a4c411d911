import { inMicroseconds, sleepUntil } from '../../../../src/lib/clock.ts'
import type { DropReason } from '../../../../src/observation/observation.ts'
import type { Arrival } from '../../../../src/produce/arrivals/arrivals.ts'
import { createInFlight, type DriverContext, type InFlight } from '../../../../src/produce/drivers/driver.ts'
import { type ManualClock, manualClock } from '../../../../src/prove/manual-clock.ts'

/** The outcome of an arrival: sent and answered at these times, or dropped. */
export type Fate = {
  readonly id: number
  readonly caller: number
  readonly dueMs: number
  readonly sentMs: number | null
  endMs: number | null
  readonly dropped: DropReason | null
}

export type TestContext = DriverContext & {
  readonly clock: ManualClock
  readonly inFlight: InFlight
  readonly fates: readonly Fate[]
  readonly stop: () => void
}

export const arrivalAt = (dueMs: number, id = 0, caller = 0): Arrival => ({
  id,
  seq: id,
  stage: 'test',
  trial: null,
  call: 'rpc',
  caller,
  key: 0,
  dueMs,
  steps: ['only'],
})

export const every = (periodMs: number, durationMs: number): readonly Arrival[] =>
  Array.from({ length: Math.ceil(durationMs / periodMs) }, (_, index) =>
    arrivalAt(inMicroseconds(index * periodMs), index),
  )

/** A context in virtual time. `answeredMs` returns the time of the response to an arrival that is sent at `sentMs`. */
export function testContext(answeredMs: (sentMs: number, arrival: Arrival) => number): TestContext {
  const clock = manualClock()
  const controller = new AbortController()
  const fates: Fate[] = []
  return {
    clock,
    signal: controller.signal,
    mustWait: () => false,
    stop: () => controller.abort(),
    inFlight: createInFlight(),
    fates,
    fire: async arrival => {
      const { id, caller, dueMs } = arrival
      const sentMs = clock.nowMs()
      const fate: Fate = { id, caller, dueMs, sentMs, endMs: null, dropped: null }
      fates.push(fate)
      await sleepUntil(clock, answeredMs(sentMs, arrival))
      fate.endMs = clock.nowMs()
      return true
    },
    drop: ({ id, caller, dueMs }, dropped) => {
      fates.push({ id, caller, dueMs, sentMs: null, endMs: null, dropped })
    },
  }
}

/** Responses take 10 ms, but the target stalls between `fromMs` and `toMs`. */
export const stalling =
  (fromMs: number, toMs: number) =>
  (sentMs: number): number => {
    const endMs = sentMs + 10
    return endMs > fromMs && sentMs < toMs ? Math.max(endMs, toMs) : endMs
  }

export const soon = (sentMs: number): number => sentMs + 10
