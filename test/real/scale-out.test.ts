import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { queuePackages } from '../../src/run/queue/queue.ts'
import { serveShards } from '../../src/run/queue/serve-shards.ts'
import { startThread } from '../../src/run/threads.ts'
import { repeatedIn, reportIn, startQueue, steadyScenario } from '../support/queued-run.ts'
import { describeWith } from '../support/real-part.ts'
import { freshDirectory, turnpike } from '../support/turnpike.ts'

const exits = { pass: 0, inconclusive: 3, interrupted: 130 }
/** 80 requests. */
const scenario = steadyScenario({ callers: 4, rate: 20, seconds: 4 })

describeWith('redis', 'runs over several machines', () => {
  test.concurrent('are inconclusive if a shard finds no worker, and send nothing', async ({ onTestFinished }) => {
    const { serve, startWorker, startRun } = await startQueue(onTestFinished)
    const service = await serve()
    await startWorker('only')
    const run = await startRun({ shards: 2, scenario, target: service.target, flags: ['--ready-within', '5'] })
    expect((await run.conclude()).code).toBe(exits.inconclusive)
    expect(service.load(run.id)).toEqual([])
  })

  test.concurrent('are inconclusive if a worker is killed during the load', async ({ onTestFinished }) => {
    const { serve, startWorkers, startLoad } = await startQueue(onTestFinished)
    const service = await serve()
    const [, second] = await startWorkers(2)
    const run = await startLoad({ shards: 2, scenario, target: service.target, flags: ['--max-silence', '5'] })
    second?.child.kill('SIGKILL')
    const { code, report } = await run.conclude()
    expect(code).toBe(exits.inconclusive)
    expect(report.reasons.join(' ')).toMatch(/crashed|ended early/)
    expect(service.load(run.id).length).toBeLessThan(80)
  })

  test.concurrent('are inconclusive if a worker stops for longer than its silence is borne, and it sends no more', async ({
    onTestFinished,
  }) => {
    const { serve, startWorkers, startLoad } = await startQueue(onTestFinished)
    const service = await serve()
    const [, second] = await startWorkers(2)
    const run = await startLoad({ shards: 2, scenario, target: service.target, flags: ['--max-silence', '5'] })
    second?.child.kill('SIGSTOP')
    const { code } = await run.conclude()
    expect(code).toBe(exits.inconclusive)
    second?.child.kill('SIGCONT')
    await second?.said(/Shard \d of run/)
    // Much of its load was due while it stood still, and is not sent any more.
    expect(service.load(run.id).length).toBeLessThan(80)
    expect(repeatedIn(service)).toEqual([])
  })

  test.concurrent('are concluded from another terminal', async ({ onTestFinished }) => {
    const { redis, serve, startWorkers, startRun } = await startQueue(onTestFinished)
    const service = await serve()
    await startWorkers(2)
    const run = await startRun({ shards: 2, scenario, target: service.target })
    await run.until(({ ready }) => ready === 2)
    run.terminal.child.kill('SIGKILL')
    const attached = freshDirectory()
    const flags = ['--redis', redis.url, '--out', attached, '--no-progress']
    const unknown = await turnpike(['attach', 'another', ...flags])
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      'run: got "another", expected the id of a run that this Redis knows, as the run prints it\n',
    ])
    const { code, stderr } = await turnpike(['attach', run.id, ...flags])
    expect(code, stderr).toBe(exits.pass)
    expect(reportIn(attached).run.id).toBe(run.id)
    expect(() => reportIn(run.out)).toThrow('ENOENT')
  })

  test.concurrent('survive a Redis that is killed and starts again with its data', async ({ onTestFinished }) => {
    const { redis, serve, startWorkers, startLoad } = await startQueue(onTestFinished)
    const service = await serve()
    await startWorkers(2)
    const run = await startLoad({ shards: 2, scenario, target: service.target })
    await redis.kill()
    await pause(1_500)
    await redis.restart(false)
    const { code, stderr } = await run.conclude()
    expect(code, stderr).toBe(exits.pass)
    expect(service.load(run.id)).toHaveLength(80)
  })

  test.concurrent('are inconclusive if Redis loses its data', async ({ onTestFinished }) => {
    const { redis, serve, startWorkers, startLoad } = await startQueue(onTestFinished)
    const service = await serve()
    await startWorkers(2)
    const run = await startLoad({ shards: 2, scenario, target: service.target })
    await redis.kill()
    await redis.restart(true)
    expect((await run.conclude()).code).toBe(exits.inconclusive)
  })

  test.concurrent('end with a report at ^C', async ({ onTestFinished }) => {
    const { serve, startWorkers, startLoad } = await startQueue(onTestFinished)
    const service = await serve()
    await startWorkers(2)
    const run = await startLoad({ shards: 2, scenario, target: service.target })
    run.terminal.child.kill('SIGINT')
    const { code, report } = await run.conclude()
    expect(code).toBe(exits.interrupted)
    expect(report.load.workers.every(({ lost }) => !lost)).toBe(true)
    expect(service.load(run.id).length).toBeLessThan(80)
  })

  test.concurrent('are refused by a worker of another version, and send nothing', async ({ onTestFinished }) => {
    const { redis, serve, startRun } = await startQueue(onTestFinished)
    const service = await serve()
    const packages = await queuePackages.load()
    if (packages === null) throw new Error(`missing: ${queuePackages.names.join(', ')}`)
    const lines: string[] = []
    const other = await serveShards(packages, {
      url: redis.url,
      worker: 'other',
      version: '0.0.0',
      log: line => void lines.push(line),
      logFile: () => null,
      onDone: () => {},
      startWorker: startThread,
    })
    onTestFinished(() => other.end(true))
    const run = await startRun({ shards: 1, scenario, target: service.target })
    expect((await run.conclude()).code).toBe(exits.inconclusive)
    expect(service.load(run.id)).toEqual([])
    expect(lines.join(' ')).toContain('worker other has version 0.0.0, and the run has version')
  })

  test.concurrent('take turns on the same workers', async ({ onTestFinished }) => {
    const { serve, startWorkers, startRun } = await startQueue(onTestFinished)
    const service = await serve()
    await startWorkers(2)
    const start = () => startRun({ shards: 2, scenario, target: service.target })
    for (const { id, conclude } of await Promise.all([start(), start()])) {
      expect((await conclude()).code).toBe(exits.pass)
      expect(service.load(id)).toHaveLength(80)
    }
  })
})
