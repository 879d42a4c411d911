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
import { readBarely } from './raw-reader.ts'
import { type Beats, collectDelays, type DelayFacts, type Measured, stampsOf } from './result.ts'
import { metronomeContract } from './server-answers.ts'
import { countedSpan, type StreamLoad, startsPerSecond, streamMs } from './stream-load.ts'
import { noteBeats } from './token-stamps.ts'

/** A load of streams from a metronome. */
export type StreamRun = {
  readonly load: StreamLoad
  readonly target: string
  readonly clock: Clock
  readonly send: Transport
  readonly stop: AbortSignal
  /** Given, before the first request, what tells when the stages began. */
  readonly onStart: (loadStartMs: () => number | null) => void
  readonly observe: Sink
}

/** Carries out a load of streams as any other run, every judge on, with nothing written to a file. */
export function carryOutStreams(streams: StreamRun): Promise<Report> {
  const { load, target, clock, send, stop, onStart, observe } = streams
  const scenario = parseScenario(scenarioOf(load), 'streams', metronomeContract)
  const plan = makePlan(scenario, metronomeContract, { seed: 1, target, budgetUsd: null })
  const info = { runId: 'streams', target, startedAtMs: clock.wallMs() }
  const log = { write: observe, notRecorded: () => 0, end: async () => {} }
  const output = { start: (live: LiveRun) => onStart(live.loadStartMs), finish: async () => {}, close: async () => {} }
  const io = inlineIo({ clock, transport: send, log })
  return run(unrecordedJob(plan, metronomeContract, info), { ...io, stop, quit: stop, outputs: [output] })
}

/** Streams begin evenly, and as many end, so that their number does not change once the first have ended. */
function scenarioOf(load: StreamLoad): string {
  const { streams, tokens, seconds } = load
  return `
name: streams
callers: { count: 1 }
calls: { chat: { kind: chat, stream: true, model-tier: XS, prompt-tokens: 16, max-completion-tokens: ${tokens} } }
stages:
  - { name: load, duration: ${(streamMs(load) + seconds * 1000).toFixed(0)}ms, shape: constant, rate: ${startsPerSecond(load)}/s, mix: { chat: 1 } }
limits: { max-in-flight: ${2 * streams + 64} }
record: all
thresholds: [{ expect: violations == 0, why: The metronome keeps every promise. }]
`
}

/** Carries out a load of streams and holds the stamps of its observations, on which every report rests, against the beats. */
export async function stampStreams(
  run: Omit<StreamRun, 'onStart' | 'observe'> & { readonly originMs: number },
): Promise<Pick<Measured, 'turnpike' | 'misread' | 'run'>> {
  const { load, originMs } = run
  const noted = new Map<string, Beats>()
  let loadStartMs: () => number | null = () => null
  const delays = collectDelays(() => countedSpan(load, originMs + (loadStartMs() ?? Number.NaN)))
  let misread = 0
  const { verdict, reasons } = await carryOutStreams({
    ...run,
    send: noteBeats(run.send, (responseId, beats) => noted.set(responseId, beats)),
    onStart: startMs => {
      loadStartMs = startMs
    },
    observe: observation => {
      const { response, outcome } = observation
      const stream = streamOf(observation)
      const responseId = response?.headers['cf-ray'] ?? ''
      const beats = noted.get(responseId)
      noted.delete(responseId)
      // A stream that failed has its place in the verdict of the run.
      if (stream === null || beats === undefined || outcome.kind !== 'answered') return
      const stampsMs = stampsOf(stream, originMs)
      if (stampsMs.length === beats.writtenMs.length) delays.add(beats, stampsMs)
      else misread++
    },
  })
  return { turnpike: delays.facts(), misread, run: { verdict, reasons } }
}

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
