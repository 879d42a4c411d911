import { cpus, hostname, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { messageOf } from '../../lib/usage-error.ts'
import { visible } from '../../lib/visible.ts'
import { loadQueuePackages } from '../../run/queue/run-over-queue.ts'
import { serveShards } from '../../run/queue/serve-shards.ts'
import { startThread } from '../../run/threads.ts'
import { assertWritableDirectory, shardLogFile } from '../../storage/run-directory.ts'
import { exitCodes, text, type Values, version } from '../flags.ts'
import { listenForInterrupts } from '../interrupts.ts'
import { redisUrl } from '../redis-url.ts'

/** Waits for shards of runs, and drives them, until it is interrupted, or once. */
export async function workerCommand(values: Values): Promise<number> {
  const url = redisUrl(values, process.env)
  const out = resolve(text(values, 'out') ?? 'runs')
  if (text(values, 'out') !== null) assertWritableDirectory(out)
  const packages = await loadQueuePackages()
  const log = (line: string) => void process.stderr.write(`${visible(line)}\n`)
  const worker = text(values, 'name') ?? `${hostname()}/${process.pid}`
  const { stop, quit, dispose } = listenForInterrupts()
  let code: number = exitCodes.pass
  let onDone: (isGood: boolean) => void = () => {}
  const ended = new Promise<void>(resolve => {
    stop.addEventListener('abort', () => resolve(), { once: true })
    onDone = isGood => {
      if (values.once !== true) return
      code = isGood ? exitCodes.pass : exitCodes.inconclusive
      resolve()
    }
  })
  const shards = await serveShards(packages, {
    url,
    worker,
    version,
    log,
    onDone: isGood => onDone(isGood),
    startWorker: startThread,
    logFile: (job, shard) => {
      const { info, plan, shards } = job
      try {
        return shardLogFile(join(out, `${info.runId}-${plan.scenario}-shards`), job, shard, shards)
      } catch (cause) {
        log(`Nothing is recorded: ${messageOf(cause)}`)
        return null
      }
    },
  })
  const size = `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`
  log(`Worker ${worker}: version ${version}, ${size}. Waiting for shards.`)
  quit.addEventListener('abort', () => void shards.end(true))
  await ended
  await shards.end(false)
  dispose()
  // BullMQ may still wait for a Redis that is away, and would keep the process for it.
  return process.exit(code)
}
