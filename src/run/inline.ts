import type { Contract } from '../contract/contract.ts'
import { whenIdle } from '../lib/batches.ts'
import { logFormat } from '../observation/log-lines.ts'
import type { Plan } from '../plan/plan.ts'
import { loadCallers } from '../produce/callers/api-keys.ts'
import { createSigner, type Signer } from '../produce/callers/signer.ts'
import { createRunStop, onStop } from '../produce/drivers/stop.ts'
import type { StartWorker, WorkerJob } from './messages.ts'
import type { RunIo, RunJob } from './run.ts'
import type { SearchReport } from './search.ts'
import { signerJobOf } from './signer-thread.ts'
import { createWorker, type WorkerIo } from './worker.ts'

export type InlineIo = Omit<WorkerIo, 'stop' | 'reportSearch' | 'signer'> & {
  /** What signs for the wallets of a worker; by default the current thread. */
  readonly signerOf?: (job: WorkerJob) => Signer
}

/** Starts workers in the current thread. Inputs and results are copied, as between threads. */
export const startInline =
  ({ signerOf = job => createSigner(signerJobOf(job)), ...io }: InlineIo): StartWorker =>
  (job, events) => {
    const quit = new AbortController()
    const stop = createRunStop(new AbortController().signal, quit.signal)
    const reportSearch = (report: SearchReport) => events.onSearch(structuredClone(report))
    const worker = createWorker(structuredClone(job), { ...io, signer: signerOf(job), stop, reportSearch })
    onStop(stop, events.onStop)
    return {
      open: worker.open,
      drive: worker.drive,
      close: worker.close,
      finish: async end => structuredClone(await worker.finish(end)),
      snapshot: async withDetails => structuredClone(worker.snapshot(withDetails)),
      stop: stop.stop,
      search: worker.search,
      cancel: () => quit.abort(),
      terminate: async () => quit.abort(),
    }
  }

/**
 * The job of an unrecorded run against a service at `target` on this machine. By default, its callers have accounts of the
 * reference service.
 */
export function unrecordedJob(
  plan: Plan,
  contract: Contract,
  run: { readonly runId: string; readonly target: string; readonly startedAtMs: number },
  callers: RunJob['callers'] = referenceCallers(plan, run.runId),
): RunJob {
  return {
    info: { turnpike: logFormat, version: 'unrecorded', ...run },
    plan,
    contract,
    callers,
    specialKeys: { 'free-user': null, 'zero-balance': null },
    secrets: [],
    baseUrl: run.target,
    baselines: null,
    workers: 1,
    warmUp: false,
    failFast: false,
    untilDecided: false,
    gauges: false,
    details: false,
  }
}

const referenceCallers = ({ callers }: Plan, runId: string) =>
  loadCallers(callers, { environment: undefined, loopback: true, areOptional: false, runId })

/** Effects of a run in the current thread, without a directory and outputs. `log` gets the recorded observations. */
export function inlineIo({
  clock,
  transport,
  saturate = async () => {},
  log = null,
}: Pick<WorkerIo, 'clock' | 'transport'> & Partial<Pick<WorkerIo, 'saturate' | 'log'>>): RunIo {
  const startWorker = startInline({
    clock,
    transport,
    saturate,
    log,
    defer: whenIdle(clock),
    eventLoopDelayMs: () => null,
  })
  const never = new AbortController().signal
  return {
    clock,
    stop: never,
    quit: never,
    startWorker,
    directory: null,
    outputs: [],
    log: () => {},
    unwritten: () => {},
  }
}
