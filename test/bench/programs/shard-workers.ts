import type {
  FinishedWorker,
  OpeningResult,
  StartWorker,
  WorkerHandle,
  WorkerSnapshot,
} from '../../../src/run/messages.ts'
import { loadQueuePackages } from '../../../src/run/queue/run-over-queue.ts'
import { serveShards } from '../../../src/run/queue/serve-shards.ts'
import { startThread } from '../../../src/run/threads.ts'

/**
 * Many workers in one process, which do everything with Redis that workers do. Only the first shard drives a load: the
 * others answer with its snapshots and its result. Arguments: the URL of Redis, the number of workers, the version.
 * Sends a message when all of them wait for shards.
 */
const [url = '', count = '', version = ''] = process.argv.slice(2)

let drives: (handle: WorkerHandle) => void = () => {}
const driving = new Promise<WorkerHandle>(resolve => {
  drives = resolve
})
let latest: WorkerSnapshot | null = null

/** What the first shard was asked is not asked again. */
function once<Value>(ask: (handle: WorkerHandle) => Promise<Value>): () => Promise<Value> {
  let asked: Promise<Value> | null = null
  return () => {
    asked ??= driving.then(ask)
    return asked
  }
}

let loadStartMs = 0
const opened = once<OpeningResult | null>(handle => handle.open())
const driven = once(handle => handle.drive(loadStartMs))
const closed = once(handle => handle.close())
let end: Parameters<WorkerHandle['finish']>[0] = { ended: 'complete', durationMs: 0, pushed: null }
const finished = once<FinishedWorker | null>(handle => handle.finish(end))

const startWorker: StartWorker = (job, events) => {
  const real = job.shard.worker === 0 ? startThread(job, events) : null
  if (real !== null) drives(real)
  return {
    open: opened,
    drive: startMs => {
      loadStartMs = startMs
      return driven()
    },
    close: closed,
    finish: ended => {
      end = ended
      return finished()
    },
    snapshot: async () => {
      if (real !== null) latest = await real.snapshot(false)
      return latest
    },
    stop: reason => real?.stop(reason),
    cancel: () => real?.cancel(),
    search: order => real?.search(order),
    terminate: async () => real?.terminate(),
  }
}

const packages = await loadQueuePackages()
for (let worker = 0; worker < Number(count); worker++)
  await serveShards(packages, {
    url,
    worker: `worker ${worker}`,
    version,
    log: () => {},
    onDone: () => {},
    logFile: () => null,
    startWorker,
  })
process.send?.({ waiting: Number(count) })
process.once('disconnect', () => process.exit())
