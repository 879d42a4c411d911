import { readBarely } from '../certificate/bare-reader.ts'
import type { Measured } from '../certificate/certificate.ts'
import { type Beats, collectDelays, type DelayFacts } from '../certificate/delays.ts'
import { countedSpan, type StreamLoad } from '../certificate/stream-load.ts'
import { monitorEventLoop, monotonicOriginMs, systemClock } from '../lib/clock.ts'

import { undiciTransport } from '../transport/undici.ts'

import { stampStreams } from './stamp-streams.ts'

/** The delays of a reader that does nothing but read. */
export async function measureBare(load: StreamLoad, port: number, stop: AbortSignal): Promise<DelayFacts> {
  const clock = systemClock()
  const originMs = monotonicOriginMs(clock)
  const delays = collectDelays(() => countedSpan(load, originMs + startMs))
  const startMs = clock.nowMs()
  const onStream = (beats: Beats, readMs: readonly number[]) =>
    delays.add(
      beats,
      readMs.map(ms => originMs + ms),
    )
  await readBarely({ load, port, clock, stop, onStream })
  return delays.facts()
}

/** The delays of Turnpike, over the transport of any run. */
export async function measureTurnpike(
  load: StreamLoad,
  port: number,
  stop: AbortSignal,
): Promise<Pick<Measured, 'turnpike' | 'misread' | 'run' | 'eventLoopDelayMs'>> {
  const clock = systemClock()
  const originMs = monotonicOriginMs(clock)
  const target = `http://127.0.0.1:${port}/api/v1`
  const transport = undiciTransport({ baseUrl: target, clock, maxConnections: 2 * load.streams + 64 })
  const eventLoop = monitorEventLoop()
  try {
    const stamped = await stampStreams({ load, target, clock, originMs, send: transport.send, stop })
    return { ...stamped, eventLoopDelayMs: eventLoop.delayMs() }
  } finally {
    eventLoop.stop()
    await transport.close()
  }
}
