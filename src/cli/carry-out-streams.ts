import { loadCallers } from '../callers/callers.ts'
import { metronomeContract } from '../certificate/metronome-contract.ts'
import { type StreamLoad, startsPerSecond, streamMs } from '../certificate/stream-load.ts'
import type { Clock } from '../lib/clock.ts'
import { inSpareTime } from '../lib/spare-time.ts'
import type { Sink } from '../observation/observation.ts'
import { makePlan } from '../plan/make-plan.ts'
import type { Report } from '../report/report.ts'
import { carryOut } from '../run/carry-out.ts'
import { parseScenario } from '../scenario/load.ts'
import type { Transport } from '../transport/transport.ts'

export type StreamRun = {
  readonly load: StreamLoad
  /** The base address of a metronome. */
  readonly target: string
  readonly clock: Clock
  readonly send: Transport
  /** Aborted when the run is to end. */
  readonly stop: AbortSignal
  /** Told when the first stream is due, on the clock. */
  readonly onStart: (loadStartMs: () => number | null) => void
  readonly watch: Sink
}

/** Carries out a load of streams as any other run, every judge on, with nothing written to a file. */
export function carryOutStreams({ load, target, clock, send, stop, onStart, watch }: StreamRun): Promise<Report> {
  const scenario = parseScenario(scenarioOf(load), 'streams', metronomeContract)
  const plan = makePlan(scenario, metronomeContract, { seed: 1, target, budgetUsd: null })
  // Nobody reads the report of this run but who asked for it.
  const [runId, version] = ['streams', 'streams']
  return carryOut({
    plan,
    contract: metronomeContract,
    callers: loadCallers(plan.callers, { environment: undefined, loopback: true, runId }),
    spareKeys: { unpaying: null, empty: null },
    head: { turnpike: 1, runId, version, target, startedAtMs: clock.wallMs() },
    clock,
    transport: send,
    saturate: async () => {},
    stop,
    quit: stop,
    workers: 1,
    record: { write: () => {}, unrecorded: () => 0, end: async () => {} },
    records: { recall: async function* () {}, writeSlices: async () => {} },
    eventLoopDelayMs: () => null,
    pushed: () => null,
    onStart: live => onStart(live.loadStartMs),
    watch,
    judgeLater: inSpareTime,
  })
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
record: none
thresholds: [{ expect: violations == 0, why: The metronome keeps every promise. }]
`
}
