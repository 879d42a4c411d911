import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type QueuedRun, repeatedIn, startQueue, steadyScenario } from '../support/queued-run.ts'
import { describeWith } from '../support/real-part.ts'
import type { SeenRequest } from '../support/watched-service.ts'

const inconclusive = 3

/** Which shard a worker has claimed. */
const shardOf = async ({ until }: QueuedRun, name: string): Promise<number> =>
  (await until(({ workers }) => workers.includes(name))).workers.indexOf(name)

/** When the target got the last request of one of two shards. Callers belong to them in turn. */
const lastOf = (load: readonly SeenRequest[], shard: number): number =>
  Math.max(0, ...load.filter(({ caller }) => Number(caller.slice(1)) % 2 === shard).map(({ atMs }) => atMs))

describeWith('redis', 'a worker that is lost', () => {
  test.concurrent('between its claim and the start leaves a run that sends no load, and nobody takes its shard', async ({
    onTestFinished,
  }) => {
    const { serve, startWorker, startRun } = await startQueue(onTestFinished)
    const service = await serve()
    const scenario = steadyScenario({ callers: 4, rate: 20, seconds: 3 })
    const first = await startWorker('first')
    const run = await startRun({ shards: 2, scenario, target: service.target, flags: ['--max-silence', '6'] })
    await run.until(({ ready }) => ready === 1)
    first.child.kill('SIGKILL')
    const others = await Promise.all([startWorker('second'), startWorker('third')])
    const { code, stderr } = await run.conclude()
    expect(code).toBe(inconclusive)
    expect(stderr).toMatch(/worker-lost\): (shard \d was silent for too long|1 of the shards knew)/)
    expect(service.load(run.id)).toEqual([])
    expect((await run.progress()).workers).toContain('first')
    for (const { child } of others) expect(child.exitCode).toBeNull()
  })

  test.concurrent('after its load and before its result leaves an inconclusive run, in which nothing is sent again', async ({
    onTestFinished,
  }) => {
    const { serve, startWorkers, startWorker, startLoad } = await startQueue(onTestFinished)
    const service = await serve()
    const scenario = steadyScenario({ callers: 4, rate: 20, seconds: 3 })
    const workers = await startWorkers(2)
    const run = await startLoad({ shards: 2, scenario, target: service.target, flags: ['--max-silence', '6'] })
    // Its last balance checks get no response, so it has sent its load, and has no result.
    service.hold(({ method }) => method === 'GET')
    const shard = await shardOf(run, 'w1')
    await startWorker('idle')
    await run.until(({ loadMs }) => loadMs !== null && loadMs > 3_500)
    workers[1]?.child.kill('SIGKILL')
    const { code, report } = await run.conclude()
    expect(code).toBe(inconclusive)
    expect(report.reasons.join(' ')).toMatch(/crashed|ended early/)
    expect(service.load(run.id)).toHaveLength(60)
    expect(repeatedIn(service)).toEqual([])
    expect((await run.progress()).workers[shard]).toBe('w1')
  })

  test.concurrent('because its event loop blocks for longer than its lock has nobody take its shard again', async ({
    onTestFinished,
  }) => {
    const { serve, startWorker, startLoad } = await startQueue(onTestFinished)
    const service = await serve()
    const scenario = steadyScenario({ callers: 8, rate: 20, seconds: 30 })
    const blocking = { NODE_OPTIONS: '--import ./test/support/blocked-event-loop.mjs', BLOCKED_MS: '22000' }
    const [blocked] = await Promise.all([startWorker('blocked', { environment: blocking }), startWorker('other')])
    const run = await startLoad({ shards: 2, scenario, target: service.target, flags: ['--max-silence', '6'] })
    const shard = await shardOf(run, 'blocked')
    const idle = await startWorker('idle')
    const fromMs = Date.now()
    blocked.child.kill('SIGUSR2')
    const { code, report } = await run.conclude()
    expect(code).toBe(inconclusive)
    expect(report.reasons.join(' ')).toMatch(/crashed|ended early/)
    // The others have stopped, and its load goes on: it has a thread of its own.
    await blocked.said(/Shard \d of run/)
    expect(Date.now() - fromMs).toBeGreaterThan(20_000)
    // By now its lock has expired, and BullMQ has looked for stalled jobs.
    await pause(6_000)
    expect((await run.progress()).workers[shard]).toBe('blocked')
    expect(repeatedIn(service)).toEqual([])
    const endMs = Date.now()
    await pause(1_000)
    expect(lastOf(service.load(run.id), shard)).toBeLessThan(endMs)
    idle.child.kill('SIGINT')
    expect((await idle.ended).stderr).not.toContain('Shard')
  })

  test.concurrent('because its event loop blocks sends no request after its silence and 2 s more', async ({
    onTestFinished,
  }) => {
    const { serve, startWorker, startLoad } = await startQueue(onTestFinished)
    const service = await serve()
    const scenario = steadyScenario({ callers: 8, rate: 20, seconds: 20 })
    const blocking = { NODE_OPTIONS: '--import ./test/support/blocked-event-loop.mjs', BLOCKED_MS: '12000' }
    const [blocked] = await Promise.all([startWorker('blocked', { environment: blocking }), startWorker('other')])
    const run = await startLoad({ shards: 2, scenario, target: service.target, flags: ['--max-silence', '6'] })
    const shard = await shardOf(run, 'blocked')
    const fromMs = Date.now()
    blocked.child.kill('SIGUSR2')
    expect((await run.conclude()).code).toBe(inconclusive)
    await blocked.said(/Shard \d of run/)
    expect(lastOf(service.load(run.id), shard)).toBeGreaterThan(fromMs)
    expect(lastOf(service.load(run.id), shard)).toBeLessThan(fromMs + 8_000)
  })

  test.concurrent('because it is paused sends nothing when it goes on, although much is due', async ({
    onTestFinished,
  }) => {
    const { serve, startWorkers, startLoad } = await startQueue(onTestFinished)
    const service = await serve()
    const scenario = steadyScenario({ callers: 8, rate: 40, seconds: 30 })
    const workers = await startWorkers(2)
    const run = await startLoad({ shards: 2, scenario, target: service.target, flags: ['--max-silence', '4'] })
    const paused = workers[1]
    const shard = await shardOf(run, 'w1')
    paused?.child.kill('SIGSTOP')
    // A request that was in flight may still arrive.
    await pause(500)
    const fromMs = Date.now()
    expect((await run.conclude()).code).toBe(inconclusive)
    await pause(8_000)
    paused?.child.kill('SIGCONT')
    await paused?.said(/Shard \d of run/)
    expect(lastOf(service.load(run.id), shard)).toBeGreaterThan(0)
    expect(lastOf(service.seen(), shard)).toBeLessThan(fromMs)
  })

  test.concurrent('ends its own run, and not the one beside it on the same queue', async ({ onTestFinished }) => {
    const { serve, startWorkers, startLoad } = await startQueue(onTestFinished)
    const services = await Promise.all([serve(), serve()])
    const scenario = steadyScenario({ callers: 4, rate: 20, seconds: 5 })
    const workers = await startWorkers(4)
    const runs = await Promise.all(
      services.map(({ target }) => startLoad({ shards: 2, scenario, target, flags: ['--max-silence', '6'] })),
    )
    const [mine, other] = runs
    if (mine === undefined || other === undefined) throw new Error('there are two runs')
    const { workers: names } = await mine.until(({ loadMs }) => loadMs !== null && loadMs > 500)
    await other.until(({ loadMs }) => loadMs !== null)
    workers[Number(names[0]?.slice(1))]?.child.kill('SIGKILL')
    expect((await mine.conclude()).code).toBe(inconclusive)
    const { code, stderr, report } = await other.conclude()
    expect(code, stderr).toBe(0)
    expect(report.load.answered).toBeGreaterThanOrEqual(100)
    for (const service of services) expect(repeatedIn(service)).toEqual([])
  })
})
