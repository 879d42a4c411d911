import { loadCallers } from '../callers/api-keys.ts'
import type { Contract } from '../contract/contract.ts'
import { whenIdle } from '../lib/batches.ts'
import type { Clock } from '../lib/clock.ts'
import type { Sink } from '../observation/observation.ts'
import type { Plan } from '../plan/plan.ts'
import type { Report } from '../report/report.ts'
import type { Saturate, Transport } from '../transport/transport.ts'
import { carryOut } from './carry-out.ts'

export type UnrecordedRun = {
  readonly plan: Plan
  readonly contract: Contract
  /** The base address of a service on this machine that takes reference keys. */
  readonly target: string
  readonly runId: string
  readonly clock: Clock
  readonly send: Transport
  readonly saturate?: Saturate
  /** Aborted when the run is to end, at once. */
  readonly stop?: AbortSignal
  /** Told when the first stage is due, on the clock. */
  readonly onStart?: (loadStartMs: () => number | null) => void
  readonly watch?: Sink
}

/** Carries out a plan in this very thread, every judge on, of which nothing is kept but the report. */
export function carryOutUnrecorded({
  plan,
  contract,
  target,
  runId,
  clock,
  send,
  saturate = async () => {},
  stop = new AbortController().signal,
  onStart = () => {},
  watch = () => {},
}: UnrecordedRun): Promise<Report> {
  return carryOut({
    plan,
    contract,
    callers: loadCallers(plan.callers, { environment: undefined, loopback: true, runId }),
    specialKeys: { unpaying: null, empty: null },
    head: { turnpike: 1, runId, version: 'unrecorded', target, startedAtMs: clock.wallMs() },
    clock,
    transport: send,
    saturate,
    stop,
    quit: stop,
    workers: 1,
    record: { write: () => {}, unrecorded: () => 0, end: async () => {} },
    records: { recall: async function* () {}, writeSlices: async () => {} },
    baselines: null,
    eventLoopDelayMs: () => null,
    judgeLater: whenIdle,
    pushed: () => null,
    onStart: live => onStart(live.loadStartMs),
    watch,
  })
}
