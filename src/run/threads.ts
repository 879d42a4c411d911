import { setFlagsFromString } from 'node:v8'
import { Worker as Thread } from 'node:worker_threads'
import type { WorkerResult } from '../judge/judge-run.ts'
import { type Cancel, systemClock } from '../lib/clock.ts'
import type {
  OpeningResult,
  StartWorker,
  WorkerCommand,
  WorkerMessage,
  WorkerQuery,
  WorkerSnapshot,
} from './messages.ts'

type Query = WorkerQuery extends infer Each ? (Each extends WorkerQuery ? Omit<Each, 'id'> : never) : never

/**
 * Some ten seconds into a quiet run V8 would give memory back. That stalls a thread for 14 ms, and keeps so little that it
 * has to collect garbage all the time. The flag is read when the heap of a thread is made.
 */
setFlagsFromString('--no-memory-reducer')

/** Once a thread is cancelled, it has this long for each answer. */
const maxAnswerMs = 10_000

/**
 * Starts a worker in a thread of its own. It is lost where the thread ends before it was told to, throws, or gives no
 * answer in time once it is cancelled.
 */
export const startThread: StartWorker = (job, { onStop, onLost }) => {
  const thread = new Thread(new URL('./thread-main.js', import.meta.url), { workerData: job })
  const clock = systemClock()
  const waiting = new Map<number, (response: unknown) => void>()
  const deadlines: Cancel[] = []
  let queries = 0
  let isCancelled = false
  let isGone = false

  const leave = () => {
    isGone = true
    for (const cancel of deadlines) cancel()
    for (const response of waiting.values()) response(null)
    waiting.clear()
  }
  const lose = (why: string) => {
    if (isGone) return
    leave()
    onLost(why)
  }
  thread.on('message', (message: WorkerMessage) => {
    if ('stopped' in message) return onStop(message.stopped)
    waiting.get(message.id)?.(message.response)
    waiting.delete(message.id)
  })
  thread.on('error', cause => lose(cause instanceof Error ? cause.message : String(cause)))
  thread.on('exit', code => lose(`it ended with ${code}`))

  const tell = (command: WorkerCommand) => {
    if (!isGone) thread.postMessage(command)
  }
  const setDeadline = (id: number) => {
    const onDeadline = () => {
      if (waiting.has(id)) lose(`it gave no answer for ${maxAnswerMs / 1000} s`)
    }
    deadlines.push(clock.at(clock.nowMs() + maxAnswerMs, onDeadline))
  }

  /** The thread answers each query with what the type of its answer says, or is lost. */
  const ask = <ObservedResponse>(query: Query): Promise<ObservedResponse | null> =>
    new Promise(resolve => {
      if (isGone) return resolve(null)
      const id = queries++
      waiting.set(id, response => resolve(response as ObservedResponse | null))
      thread.postMessage({ ...query, id })
      if (isCancelled) setDeadline(id)
    })

  return {
    open: () => ask<OpeningResult>({ ask: 'open' }),
    drive: loadStartMs => ask({ ask: 'drive', loadStartMs }),
    close: () => ask({ ask: 'close' }),
    finish: end => ask<WorkerResult>({ ask: 'finish', end }),
    snapshot: () => ask<WorkerSnapshot>({ ask: 'snapshot' }),
    stop: reason => tell({ tell: 'stop', reason }),
    cancel: () => {
      isCancelled = true
      tell({ tell: 'cancel' })
      for (const id of waiting.keys()) setDeadline(id)
    },
    terminate: () => {
      leave()
      return thread.terminate()
    },
  }
}
