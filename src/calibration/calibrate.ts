import { type Clock, monitorEventLoop, monotonicOriginMs, systemClock } from '../lib/clock.ts'
import { type Sink, streamOf } from '../observation/observation.ts'
import type { LiveRun } from '../outputs/output.ts'
import { makePlan } from '../plan/make-plan.ts'
import type { Transport } from '../produce/transport/transport.ts'
import { undiciTransport } from '../produce/transport/undici.ts'
import type { Report } from '../report/document.ts'
import { inlineIo, unrecordedJob } from '../run/inline.ts'
import { run } from '../run/run.ts'
import { parseScenario } from '../scenario/load-scenario.ts'
import { readRawStreams } from './raw-reader.ts'
import {
  type CalibrationData,
  collectStampDelays,
  type StampDelaySnapshot,
  stampsOf,
  type TokenStamps,
} from './result.ts'
import { calibrationContract } from './server-answers.ts'
import { measuredWindow, type StreamLoad, streamMs, streamStartsPerSecond } from './stream-load.ts'
import { collectStamps } from './token-stamps.ts'

/** A load of streams from the calibration server. */
export type StreamRun = {
  readonly load: StreamLoad
  readonly target: string
  readonly clock: Clock
  readonly send: Transport
  readonly stop: AbortSignal
  /** Called before the first request, with a function that returns when the stages started. */
  readonly onStart: (loadStartMs: () => number | null) => void
  readonly observe: Sink
}

/** Runs a load of streams like any other run, with every judge, but writes no files. */
export function runStreams(streams: StreamRun): Promise<Report> {
  const { load, target, clock, send, stop, onStart, observe } = streams
  const scenario = parseScenario(scenarioOf(load), 'streams', calibrationContract)
  const plan = makePlan(scenario, calibrationContract, { seed: 1, target, budgetUsd: null })
  const info = { runId: 'streams', target, startedAtMs: clock.wallMs() }
  const log = { write: observe, notRecorded: () => 0, end: async () => null }
  const output = { start: (live: LiveRun) => onStart(live.loadStartMs), finish: async () => {}, close: async () => {} }
  const io = inlineIo({ clock, transport: send, log })
  return run(unrecordedJob(plan, calibrationContract, info), { ...io, stop, quit: stop, outputs: [output] })
}

/** Streams start at even intervals, so the number of open streams is constant once the first one has ended. */
function scenarioOf(load: StreamLoad): string {
  const { streams, tokens, seconds } = load
  return `
name: streams
callers: { count: 1 }
calls: { chat: { kind: chat, stream: true, model-tier: XS, prompt-tokens: 16, max-completion-tokens: ${tokens} } }
stages:
  - { name: load, duration: ${(streamMs(load) + seconds * 1000).toFixed(0)}ms, shape: constant, rate: ${streamStartsPerSecond(load)}/s, mix: { chat: 1 } }
bounds: { max-in-flight: ${2 * streams + 64} }
record: all
thresholds: [{ expect: violations == 0, why: The calibration server keeps every promise. }]
`
}

/** Runs a load of streams and compares the times in its observations with the stamps of the server. */
export async function stampStreams(
  run: Omit<StreamRun, 'onStart' | 'observe'> & { readonly originMs: number },
): Promise<Pick<CalibrationData, 'turnpike' | 'tokenCountMismatches' | 'run'>> {
  const { load, originMs } = run
  const stampsById = new Map<string, TokenStamps>()
  let loadStartMs: () => number | null = () => null
  const delays = collectStampDelays(() => measuredWindow(load, originMs + (loadStartMs() ?? Number.NaN)))
  let tokenCountMismatches = 0
  const { verdict, reasons } = await runStreams({
    ...run,
    send: collectStamps(run.send, (responseId, stamps) => stampsById.set(responseId, stamps)),
    onStart: startMs => {
      loadStartMs = startMs
    },
    observe: observation => {
      const { response, outcome } = observation
      const stream = streamOf(observation)
      const responseId = response?.headers['cf-ray'] ?? ''
      const stamps = stampsById.get(responseId)
      stampsById.delete(responseId)
      // The verdict of the run covers failed streams.
      if (stream === null || stamps === undefined || outcome.kind !== 'answered') return
      const stampsMs = stampsOf(stream, originMs)
      if (stampsMs.length === stamps.writtenMs.length) delays.add(stamps, stampsMs)
      else tokenCountMismatches++
    },
  })
  return { turnpike: delays.snapshot(), tokenCountMismatches, run: { verdict, reasons } }
}

/** Measures the delays of a reader that only reads. */
export async function measureRaw(load: StreamLoad, port: number, stop: AbortSignal): Promise<StampDelaySnapshot> {
  const clock = systemClock()
  const originMs = monotonicOriginMs(clock)
  const delays = collectStampDelays(() => measuredWindow(load, originMs + startMs))
  const startMs = clock.nowMs()
  const onStream = (stamps: TokenStamps, readMs: readonly number[]) =>
    delays.add(
      stamps,
      readMs.map(ms => originMs + ms),
    )
  await readRawStreams({ load, port, clock, stop, onStream })
  return delays.snapshot()
}

/** Measures the delays of Turnpike, over its usual transport. */
export async function measureTurnpike(
  load: StreamLoad,
  port: number,
  stop: AbortSignal,
): Promise<Pick<CalibrationData, 'turnpike' | 'tokenCountMismatches' | 'run' | 'eventLoopDelayMs'>> {
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
