import { parentPort, workerData } from 'node:worker_threads'
import { whenIdle } from '../lib/batches.ts'
import type { Clock } from '../lib/clock.ts'
import { clockFromEpoch, monitorEventLoop } from '../lib/clock.ts'
import { openLog } from '../observation/log.ts'
import { createRunStop, onStop } from '../produce/drivers/stop.ts'
import type { Saturate } from '../produce/transport/transport.ts'
import { undiciTransport } from '../produce/transport/undici.ts'
import type { WorkerCommand, WorkerJob, WorkerMessage, WorkerQuery } from './messages.ts'
import { createWorker } from './worker.ts'

/**
 * The main function of a thread: a worker with its own clock, connections and log, which handles queries and commands.
 * An uncaught error ends the thread, and the worker is lost.
 */
async function serve(job: WorkerJob): Promise<void> {
  const { info, shard, baseUrl } = job
  const clock = clockFromEpoch(job.epoch)
  if (job.warmUp) {
    const { warmUp } = await import('./warm-up.ts')
    await warmUp(job.plan, job.contract)
  }
  const quit = new AbortController()
  const stop = createRunStop(new AbortController().signal, quit.signal)
  const eventLoop = monitorEventLoop()
  const transport = undiciTransport({ baseUrl, clock, maxConnections: job.maxConnections })
  const worker = createWorker(job, {
    clock,
    stop,
    transport: transport.send,
    saturate: await loadSaturate(job, clock),
    log: job.logFile === null ? null : await openLog(job.logFile, { ...info, ...shard }, clock),
    defer: whenIdle,
    eventLoopDelayMs: eventLoop.delayMs,
    reportSearch: search => post({ search }),
  })
  onStop(stop, reason => post({ stopped: reason }))

  parentPort?.on('message', (message: WorkerQuery | WorkerCommand) => {
    if ('query' in message) void responseTo(message).then(response => post({ id: message.id, response }))
    else if (message.command === 'stop') stop.stop(message.reason)
    else if (message.command === 'search') worker.search(message.order)
    else quit.abort()
  })

  async function responseTo(message: WorkerQuery): Promise<Extract<WorkerMessage, { id: number }>['response']> {
    switch (message.query) {
      case 'open':
        return worker.open()
      case 'drive':
        await worker.drive(message.loadStartMs)
        return null
      case 'close':
        await worker.close()
        return null
      case 'snapshot':
        return worker.snapshot()
      case 'finish': {
        const result = await worker.finish(message.end)
        eventLoop.stop()
        await transport.close()
        return result
      }
    }
  }
}

/** Loads autocannon only if a stage saturates the target, because loading takes long. */
async function loadSaturate({ plan, baseUrl }: WorkerJob, clock: Clock): Promise<Saturate> {
  if (!plan.stages.some(({ load }) => load.model === 'saturate')) return async () => {}
  const { createSaturate } = await import('../produce/transport/autocannon.ts')
  return createSaturate({ baseUrl, clock })
}

const post = (message: WorkerMessage): void => parentPort?.postMessage(message)

if (parentPort !== null) await serve(workerData as WorkerJob)
