import { setFlagsFromString } from 'node:v8'
import { Worker as Thread } from 'node:worker_threads'
import type { Ending } from '../drivers/ending.ts'
import type { WorkerResult } from '../judging/judge-run.ts'
import type { Cancel, Clock } from '../lib/clock.ts'
import type { Call, Order, Question, Reply, Sight } from './messages.ts'
import type { Opening, Worker } from './worker.ts'

/** A worker in a thread of its own. */
export type ThreadWorker = Worker & {
  /** null where it was lost. */
  readonly look: () => Promise<Sight | null>
  /** Resolves when the thread is no more, and writes nothing. */
  readonly terminate: () => Promise<unknown>
}

type Asked = Question extends infer Each ? (Each extends Question ? Omit<Each, 'id'> : never) : never

/**
 * Some ten seconds into a quiet run V8 would give memory back, for which a thread is deaf for 14 ms, and keep so little that
 * it has to collect garbage all the time. It is asked when the heap of a thread is made.
 */
setFlagsFromString('--no-memory-reducer')

/** When all are to end now, a thread has so long for each answer. */
const patienceMs = 10_000

/**
 * Starts a worker in a thread. Its halting halts `ending`, and that of `ending` halts it. Where the thread ends before it
 * was told to, throws, or gives no answer although all are to end now, `onLost` is told why. What was asked of a thread
 * that is no more is answered with null.
 */
export function startThread(
  order: Order,
  {
    ending,
    quit,
    clock,
    onLost,
  }: {
    readonly ending: Ending
    readonly quit: AbortSignal
    readonly clock: Clock
    readonly onLost: (why: string) => void
  },
): ThreadWorker {
  const thread = new Thread(new URL('./thread.js', import.meta.url), { workerData: order })
  const waiting = new Map<number, (answer: unknown) => void>()
  let questions = 0
  let isGone = false
  const deadlines: Cancel[] = []

  const leave = () => {
    isGone = true
    for (const cancel of deadlines) cancel()
    for (const answer of waiting.values()) answer(null)
    waiting.clear()
  }
  const lose = (why: string) => {
    if (isGone) return
    leave()
    onLost(why)
  }
  thread.on('message', (reply: Reply) => {
    if ('halted' in reply) return ending.halt(reply.halted)
    waiting.get(reply.id)?.(reply.answer)
    waiting.delete(reply.id)
  })
  thread.on('error', cause => lose(cause instanceof Error ? cause.message : String(cause)))
  thread.on('exit', code => lose(`it ended with ${code}`))

  const tell = (call: Call) => {
    if (!isGone) thread.postMessage(call)
  }
  const onAbort = (signal: AbortSignal, then: () => void) => signal.addEventListener('abort', then, { once: true })
  onAbort(ending.halted, () => {
    const why = ending.why()
    if (why !== 'complete') tell({ tell: 'halt', why })
  })
  onAbort(ending.abandoned, () => tell({ tell: 'abandon' }))
  onAbort(quit, () => {
    tell({ tell: 'quit' })
    for (const id of waiting.keys()) hurry(id)
  })
  const hurry = (id: number) => {
    const wake = () => {
      if (waiting.has(id)) lose(`it gave no answer for ${patienceMs / 1000} s`)
    }
    deadlines.push(clock.at(clock.nowMs() + patienceMs, wake))
  }

  /** The thread answers each question with what the type of its answer says, or is lost. */
  const ask = <Answer>(question: Asked): Promise<Answer | null> =>
    new Promise(resolve => {
      if (isGone) return resolve(null)
      const id = questions++
      waiting.set(id, answer => resolve(answer as Answer | null))
      thread.postMessage({ ...question, id })
      if (quit.aborted) hurry(id)
    })

  return {
    open: () => ask<Opening>({ ask: 'open' }),
    drive: loadStartMs => ask({ ask: 'drive', loadStartMs }),
    close: () => ask({ ask: 'close' }),
    look: () => ask<Sight>({ ask: 'look' }),
    end: end => ask<WorkerResult>({ ask: 'end', end }),
    terminate: () => {
      leave()
      return thread.terminate()
    },
  }
}
