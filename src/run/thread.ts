import { parentPort, workerData } from 'node:worker_threads'
import { createEnding } from '../drivers/ending.ts'
import { whenIdle } from '../lib/batches.ts'
import { clockFromEpoch, monitorEventLoop } from '../lib/clock.ts'
import { createGauges } from '../metrics/gauges.ts'
import { openLog } from '../observation/log.ts'
import { undiciTransport } from '../transport/undici.ts'
import type { Call, Order, Question, Reply } from './messages.ts'
import { saturateFor } from './saturate-for.ts'
import { createWorker } from './worker.ts'

/**
 * What a thread of `run/crew.ts` does: it is a worker with a clock, connections and a record of its own, and does what it
 * is asked. What goes wrong in it is thrown, and then the thread is lost.
 */
async function serve(order: Order): Promise<void> {
  const { plan, contract, head, share } = order
  const clock = clockFromEpoch(order.epoch)
  if (order.isRehearsed) {
    const { rehearse } = await import('./rehearse.ts')
    await rehearse(plan, contract)
  }
  const quit = new AbortController()
  const ending = createEnding(new AbortController().signal, quit.signal)
  const eventLoop = monitorEventLoop()
  const meters = createGauges(contract)
  const transport = undiciTransport({ baseUrl: head.target, clock, maxConnections: order.maxConnections })
  const record = await openLog(order.logFile, { ...head, ...share }, clock)
  const worker = createWorker({
    ...order,
    plan,
    clock,
    transport: transport.send,
    saturate: await saturateFor(plan, head.target, clock),
    ending,
    quit: quit.signal,
    record,
    eventLoopDelayMs: eventLoop.delayMs,
    judgeLater: whenIdle,
    watch: order.isMetered ? meters.add : () => {},
  })
  ending.halted.addEventListener('abort', () => {
    const why = ending.why()
    if (why !== 'complete') say({ halted: why })
  })

  parentPort?.on('message', (message: Question | Call) => {
    if ('tell' in message) heed(message)
    else void answerTo(message).then(answer => say({ id: message.id, answer }))
  })

  function heed(call: Call): void {
    if (call.tell === 'halt') ending.halt(call.why)
    else if (call.tell === 'abandon') ending.abandon()
    else quit.abort()
  }

  async function answerTo(question: Question): Promise<Extract<Reply, { id: number }>['answer']> {
    switch (question.ask) {
      case 'open':
        return worker.open()
      case 'drive':
        await worker.drive(question.loadStartMs)
        return null
      case 'close':
        await worker.close()
        return null
      case 'look': {
        const glance = worker.judgement.glance()
        return { glance, meters: meters.snapshot(), inFlight: worker.inFlight.count(), stage: worker.stage() }
      }
      case 'end': {
        const part = await worker.end(question.end)
        eventLoop.stop()
        await transport.close()
        return part
      }
    }
  }
}

const say = (reply: Reply): void => parentPort?.postMessage(reply)

if (parentPort !== null) await serve(workerData as Order)
