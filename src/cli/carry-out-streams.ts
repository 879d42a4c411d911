import { metronomeContract } from '../certificate/metronome-contract.ts'
import { type StreamLoad, startsPerSecond, streamMs } from '../certificate/stream-load.ts'
import { makePlan } from '../plan/make-plan.ts'
import type { Report } from '../report/document.ts'
import { carryOutUnrecorded, type UnrecordedRun } from '../run/carry-out-unrecorded.ts'
import { parseScenario } from '../scenario/load-scenario.ts'

/** A load of streams, from a metronome. */
export type StreamRun = Required<Pick<UnrecordedRun, 'target' | 'clock' | 'send' | 'stop' | 'onStart' | 'watch'>> & {
  readonly load: StreamLoad
}

/** Carries out a load of streams as any other run, every judge on, with nothing written to a file. */
export function carryOutStreams({ load, ...run }: StreamRun): Promise<Report> {
  const scenario = parseScenario(scenarioOf(load), 'streams', metronomeContract)
  const plan = makePlan(scenario, metronomeContract, { seed: 1, target: run.target, budgetUsd: null })
  return carryOutUnrecorded({ ...run, plan, contract: metronomeContract, runId: 'streams' })
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
