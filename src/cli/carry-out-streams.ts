import { metronomeContract } from '../certificate/metronome-contract.ts'
import { type StreamLoad, startsPerSecond, streamMs } from '../certificate/stream-load.ts'
import type { Clock } from '../lib/clock.ts'
import type { Sink } from '../observation/observation.ts'
import type { LiveRun } from '../outputs/output.ts'
import { makePlan } from '../plan/make-plan.ts'
import type { Report } from '../report/document.ts'

import { inlineIo, unrecordedJob } from '../run/inline.ts'
import { run } from '../run/run.ts'
import { parseScenario } from '../scenario/load-scenario.ts'
import type { Transport } from '../transport/transport.ts'

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
  const log = { write: observe, unrecorded: () => 0, end: async () => {} }
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
