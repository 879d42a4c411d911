import { existsSync, readdirSync } from 'node:fs'
import { setPriority } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { Worker as Thread } from 'node:worker_threads'
import { type Cancel, systemClock } from '../lib/clock.ts'
import { messageOf } from '../lib/usage-error.ts'
import type {
  FinishedWorker,
  OpeningResult,
  StartWorker,
  WorkerCommand,
  WorkerEvents,
  WorkerHandle,
  WorkerJob,
  WorkerMessage,
  WorkerQuery,
  WorkerSnapshot,
} from './messages.ts'

type Query = WorkerQuery extends infer Each ? (Each extends WorkerQuery ? Omit<Each, 'id'> : never) : never

/**
 * After about ten seconds of a quiet run, V8 would shrink the heap. This stalls a thread for 14 ms, and the smaller
 * heap then needs garbage collection all the time. V8 reads the flag when it creates the heap of a thread.
 */
const keepHeaps = '--no-memory-reducer'

/** Where Linux lists the threads of this process. */
const ownThreads = '/proc/self/task'

/** V8's own timer, and the four threads in which it compiles and collects garbage. */
const v8Threads = 5

/**
 * Node.js starts the threads of V8 right after its main thread, which is the first, and those for files and compression
 * later. Elsewhere than on Linux they are not known, and keep their priority.
 */
const helperThreads: readonly number[] = existsSync(ownThreads)
  ? readdirSync(ownThreads)
      .map(Number)
      .toSorted((a, b) => a - b)
      .slice(1, 1 + v8Threads)
  : []

/**
 * The priority that lets the threads of V8 yield to those that keep time, if there are fewer cores than threads. At the same
 * priority, the compiler takes half of a core in the first two seconds of a load. With the lowest one, garbage collection
 * would be starved, and stop the load in the end.
 */
const helperPriority = 12

function lowerHelpers(): void {
  for (const thread of helperThreads) {
    try {
      setPriority(thread, helperPriority)
    } catch {
      // It has ended, or the system does not allow it.
    }
  }
}

/** Maximum response time of a thread after it is cancelled. */
const maxAnswerMs = 10_000

/**
 * Starts a worker in its own thread. The worker is lost if the thread throws or ends early, or if it does not respond
 * in time after it is cancelled.
 */
export const startThread: StartWorker = (job, events) => start(job, events, lowerHelpers)

/** The same in the process of another program, whose threads keep their priority. */
export const startGuestThread: StartWorker = (job, events) => start(job, events, () => {})

function start(job: WorkerJob, { onStop, onLost, onSearch }: WorkerEvents, onLoad: () => void): WorkerHandle {
  setFlagsFromString(keepHeaps)
  const thread = new Thread(new URL('./thread-main.js', import.meta.url), { workerData: job })
  const clock = systemClock()
  const waiting = new Map<number, (response: unknown) => void>()
  const deadlines: Cancel[] = []
  let queries = 0
  let isCancelled = false
  let hasEnded = false

  const leave = () => {
    hasEnded = true
    for (const cancel of deadlines) cancel()
    for (const respond of waiting.values()) respond(null)
    waiting.clear()
  }
  const lose = (why: string) => {
    if (hasEnded) return
    leave()
    onLost(why)
  }
  thread.on('message', (message: WorkerMessage) => {
    if ('stopped' in message) return onStop(message.stopped)
    if ('search' in message) return onSearch(message.search)
    waiting.get(message.id)?.(message.response)
    waiting.delete(message.id)
  })
  thread.on('error', cause => lose(messageOf(cause)))
  thread.on('exit', code => lose(`it exited with code ${code}`))

  const send = (command: WorkerCommand) => {
    if (!hasEnded) thread.postMessage(command)
  }
  const setDeadline = (id: number) => {
    const onDeadline = () => {
      if (waiting.has(id)) lose(`it did not respond for ${maxAnswerMs / 1000} s`)
    }
    deadlines.push(clock.at(clock.nowMs() + maxAnswerMs, onDeadline))
  }

  /** Resolves with the response of the thread, whose type depends on the query; null: the worker is lost. */
  const query = <Response>(what: Query): Promise<Response | null> =>
    new Promise(resolve => {
      if (hasEnded) return resolve(null)
      const id = queries++
      waiting.set(id, response => resolve(response as Response | null))
      thread.postMessage({ ...what, id })
      if (isCancelled) setDeadline(id)
    })

  return {
    open: () => query<OpeningResult>({ query: 'open' }),
    drive: loadStartMs => {
      // Not before: the warm-up needs the compiler.
      onLoad()
      return query({ query: 'drive', loadStartMs })
    },
    close: () => query({ query: 'close' }),
    finish: end => query<FinishedWorker>({ query: 'finish', end }),
    snapshot: withDetails => query<WorkerSnapshot>({ query: 'snapshot', withDetails }),
    stop: reason => send({ command: 'stop', reason }),
    search: order => send({ command: 'search', order }),
    cancel: () => {
      isCancelled = true
      send({ command: 'cancel' })
      for (const id of waiting.keys()) setDeadline(id)
    },
    terminate: () => {
      leave()
      return thread.terminate()
    },
  }
}
