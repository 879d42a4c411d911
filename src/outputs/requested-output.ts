import type { Clock } from '../lib/clock.ts'
import type { RunInfo } from '../observation/log-lines.ts'
import type { Plan } from '../plan/plan.ts'
import type { LiveRun, Output } from './output.ts'
import type { ExpositionSource } from './prometheus/samples.ts'
import type { Receiver, ReceiverLink } from './remote-write/receiver.ts'

/** Reads the flag that turns an output on. Throws a UsageError. */
export type ReadOutput = (given: string, request: OutputRequest) => RequestedOutput

type OutputRequest = {
  /** The name of the flag, for messages: `--otlp`. */
  readonly flag: string
  /** All flags of the command line. */
  readonly values: Readonly<Record<string, unknown>>
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** An output that a flag requests, before the first run. */
export type RequestedOutput = {
  /**
   * Takes what the output needs, such as its address, and resolves with a function that releases it. Rejects with a
   * UsageError if it is not available.
   */
  readonly reserve?: () => Promise<() => Promise<void>>
  /** Creates the output of one run. Rejects with a UsageError. */
  readonly create: (run: WatchedRun) => Output | Promise<Output>
}

/** What an output gets of its run. */
export type WatchedRun = {
  readonly plan: Plan
  readonly info: RunInfo
  readonly clock: Clock
  /** The data of all metrics. */
  readonly sourceOf: (live: LiveRun) => ExpositionSource
  /** Connects to a receiver of metrics. `name`: for messages, such as `Pushgateway at`. */
  readonly linkTo: (receiver: Receiver, name: string) => ReceiverLink
  /** Aborted when the run was told to end. */
  readonly stop: AbortSignal
  /** Ends the run, as ^C does. */
  readonly interrupt: () => void
}
