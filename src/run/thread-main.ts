import { parentPort, workerData } from 'node:worker_threads'
import { whenIdle } from '../lib/batches.ts'
import { type Clock, clockFromEpoch, createBootTime, monitorEventLoop } from '../lib/clock.ts'
import { openLog } from '../observation/log.ts'
import type { Plan } from '../plan/plan.ts'
import { warmUpTerms } from '../plan/warm-up.ts'
import { createSigner } from '../produce/callers/signer.ts'
import { createPauseWatch, createRunStop, isLeaseOver, onStop, watchLease } from '../produce/drivers/stop.ts'
import { watchStalls } from '../produce/transport/stalls.ts'
import type { Saturate } from '../produce/transport/transport.ts'
import { type UndiciTransport, undiciTransport } from '../produce/transport/undici.ts'
import type { WorkerCommand, WorkerJob, WorkerMessage, WorkerQuery } from './messages.ts'
import { signerJobOf, startSignerThread } from './signer-thread.ts'
import { createWorker } from './worker.ts'

/** How long the start of the load may wait for connections that open in advance. */
const maxPreopenMs = 500

/**
 * The main function of a thread: a worker with its own clock, connections and log, which handles queries and commands.
 * An uncaught error ends the thread, and the worker is lost.
 */
async function serve(job: WorkerJob): Promise<void> {
  const { info, shard, plan, baseUrl, sendLease } = job
  const clock = clockFromEpoch(job.epoch)
  const bootTimeMs = createBootTime(clock)
  const quit = new AbortController()
  const isOver = sendLease === undefined ? createPauseWatch(bootTimeMs) : () => isLeaseOver(sendLease, bootTimeMs())
  const stop = createRunStop(new AbortController().signal, quit.signal, isOver)
  const endWatch = watchLease(clock, stop)
  const ready = prepare()
  onStop(stop, reason => post({ stopped: reason }))

  parentPort?.on('message', (message: WorkerQuery | WorkerCommand) => {
    if ('query' in message) void responseTo(message).then(response => post({ id: message.id, response }))
    else if (message.command === 'stop') stop.stop(message.reason)
    else if (message.command === 'search') void ready.then(({ worker }) => worker.search(message.order))
    else quit.abort()
  })
  await ready

  async function prepare() {
    const saturate = (url: string) => loadSaturate(plan, url, clock)
    if (job.warmUp) {
      const { warmUp } = await import('./warm-up.ts')
      await warmUp(job, { clock, saturate, signal: stop.stopping })
    }
    const signing = job.callers.some(({ kind }) => kind === 'wallet') ? startSignerThread(signerJobOf(job)) : null
    const eventLoop = monitorEventLoop()
    const stalls = watchStalls(clock)
    const transport = undiciTransport({ baseUrl, clock, maxConnections: job.maxConnections })
    const worker = createWorker(job, {
      clock,
      stop,
      transport: transport.send,
      // Without wallets there is nothing to sign.
      signer: signing?.signer ?? createSigner(signerJobOf(job)),
      saturate: await saturate(baseUrl),
      log: job.logFile === null ? null : await openLog(job.logFile, { ...info, ...shard }, clock),
      defer: whenIdle(clock),
      eventLoopDelayMs: eventLoop.delayMs,
      stalls,
      reportSearch: search => post({ search }),
    })
    return { worker, transport, eventLoop, stalls, signing }
  }

  /** Opens what the first stage is about to use, for as long as the others may wait. */
  async function preopen({ preopen }: UndiciTransport): Promise<void> {
    const terms = job.warmUp ? warmUpTerms(plan, shard.workers) : null
    if (terms === null) return
    const cancel = clock.at(clock.nowMs() + maxPreopenMs, () => giveUp.abort())
    const giveUp = new AbortController()
    await preopen(terms.connections, giveUp.signal)
    cancel()
  }

  async function responseTo(message: WorkerQuery): Promise<Extract<WorkerMessage, { id: number }>['response']> {
    const { worker, transport, eventLoop, stalls, signing } = await ready
    switch (message.query) {
      case 'open': {
        const opening = await worker.open()
        if (opening.answered > 0 || opening.sent === 0) await preopen(transport)
        return opening
      }
      case 'drive':
        await worker.drive(message.loadStartMs)
        return null
      case 'close':
        await worker.close()
        return null
      case 'snapshot':
        return worker.snapshot(message.withDetails)
      case 'finish': {
        endWatch()
        const result = await worker.finish(message.end)
        eventLoop.stop()
        stalls.stop()
        await signing?.stop()
        await transport.close()
        return result
      }
    }
  }
}

/** Loads autocannon only if a stage saturates the target, because loading takes long. */
async function loadSaturate(plan: Plan, baseUrl: string, clock: Clock): Promise<Saturate> {
  if (!plan.stages.some(({ load }) => load.model === 'saturate')) return async () => {}
  const { createSaturate } = await import('../produce/transport/autocannon.ts')
  return createSaturate({ baseUrl, clock })
}

const post = (message: WorkerMessage): void => parentPort?.postMessage(message)

if (parentPort !== null) await serve(workerData as WorkerJob)
