import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { repeatedIn, startQueue, steadyScenario } from '../support/queued-run.ts'
import { describeWith } from '../support/real-part.ts'
import { type StallingProxy, startStallingProxy } from '../support/stalling-proxy.ts'
import { freshDirectory, startForTest, turnpike } from '../support/turnpike.ts'

const inconclusive = 3

const failures: readonly (readonly [string, (proxy: StallingProxy) => void])[] = [
  ['refused', proxy => proxy.drop()],
  ['silent', proxy => proxy.stall()],
]

describeWith('redis', 'a network that fails', () => {
  test.concurrent.for(failures)(
    'and is %s for a short time costs a run nothing',
    async ([, fail], { onTestFinished, expect }) => {
      const { redis, serve, startWorker, startLoad } = await startQueue(onTestFinished)
      const proxy = await startStallingProxy(redis.port)
      onTestFinished(() => proxy.close())
      const service = await serve()
      const scenario = steadyScenario({ callers: 4, rate: 20, seconds: 5 })
      await Promise.all([startWorker('far', { redisUrl: `redis://127.0.0.1:${proxy.port}` }), startWorker('near')])
      const run = await startLoad({ shards: 2, scenario, target: service.target })
      fail(proxy)
      await pause(1_500)
      proxy.restore()
      const { code, stderr } = await run.conclude()
      expect(code, stderr).toBe(0)
      expect(service.load(run.id)).toHaveLength(100)
      expect(repeatedIn(service)).toEqual([])
    },
  )

  test.concurrent.for(failures)(
    'and is %s for long makes a run inconclusive, after the lost worker has stopped itself',
    async ([, fail], { onTestFinished, expect }) => {
      const { redis, serve, startWorker, startLoad, startRun } = await startQueue(onTestFinished)
      const proxy = await startStallingProxy(redis.port)
      onTestFinished(() => proxy.close())
      const service = await serve()
      const scenario = steadyScenario({ callers: 8, rate: 20, seconds: 20 })
      const [far] = await Promise.all([
        startWorker('far', { redisUrl: `redis://127.0.0.1:${proxy.port}` }),
        startWorker('near'),
      ])
      const run = await startLoad({ shards: 2, scenario, target: service.target, flags: ['--max-silence', '6'] })
      const { workers } = await run.progress()
      const shard = workers.indexOf('far')
      const fromMs = Date.now()
      fail(proxy)
      await run.until(({ stop }) => stop === 'worker-lost')
      const lostMs = Date.now()
      const { code } = await run.conclude()
      expect(code).toBe(inconclusive)
      const ofFar = () => service.load(run.id).filter(({ caller }) => Number(caller.slice(1)) % 2 === shard)
      expect(ofFar().at(-1)?.atMs).toBeGreaterThan(fromMs)
      expect(ofFar().at(-1)?.atMs).toBeLessThan(lostMs)
      proxy.restore()
      expect(await far.said(/Shard \d of run .*\.$/m)).toMatch(/: (it|shard|Command|Connection)/)
      expect(ofFar().at(-1)?.atMs).toBeLessThan(lostMs)
      expect(repeatedIn(service)).toEqual([])
      // It is there for the next run.
      const next = await startRun({
        shards: 2,
        scenario: steadyScenario({ callers: 2, rate: 5, seconds: 1 }),
        target: service.target,
      })
      expect((await next.conclude()).code).toBe(0)
    },
  )
})

describeWith('redis', 'a Redis that stays away', () => {
  test.concurrent('during the load ends the load, the run and a worker that serves once', async ({
    onTestFinished,
  }) => {
    const { redis, serve, startWorker, startLoad } = await startQueue(onTestFinished)
    const service = await serve()
    const scenario = steadyScenario({ callers: 8, rate: 20, seconds: 20 })
    const [once, stays] = await Promise.all([startWorker('once', { flags: ['--once'] }), startWorker('stays')])
    const run = await startLoad({ shards: 2, scenario, target: service.target, flags: ['--max-silence', '6'] })
    await redis.kill()
    const fromMs = Date.now()
    const { code, report } = await run.conclude()
    expect(code).toBe(inconclusive)
    expect(report.reasons).not.toEqual([])
    expect(Math.max(...service.seen().map(({ atMs }) => atMs))).toBeLessThan(fromMs + 10_000)
    expect((await once.ended).code).toBe(inconclusive)
    stays.child.kill('SIGINT')
    await stays.ended
  })

  test.concurrent('before all keys are given ends the run with a report', async ({ onTestFinished }) => {
    const { redis, serve, startWorker, startRun } = await startQueue(onTestFinished)
    const service = await serve()
    const worker = await startWorker('only')
    const scenario = steadyScenario({ callers: 4, rate: 20, seconds: 3 })
    const run = await startRun({ shards: 2, scenario, target: service.target })
    await run.until(({ ready }) => ready === 1)
    await redis.kill()
    const { code, report, stderr } = await run.conclude()
    expect(code, stderr).toBe(inconclusive)
    expect(report.reasons).not.toEqual([])
    expect(service.load(run.id)).toEqual([])
    worker.child.kill('SIGINT')
    await worker.ended
  })

  test.concurrent('before the run is in its queue is named, and nothing is sent', async ({ onTestFinished }) => {
    const { redis, serve } = await startQueue(onTestFinished)
    const service = await serve()
    const scenario = steadyScenario({ callers: 4, rate: 20, seconds: 3 })
    const proxy = await startStallingProxy(redis.port)
    onTestFinished(() => proxy.close())
    const url = `redis://127.0.0.1:${proxy.port}`
    const args = [
      'run',
      scenario,
      '--target',
      service.target,
      '--out',
      freshDirectory(),
      '--redis',
      url,
      '--shards',
      '2',
    ]
    const terminal = startForTest(args, onTestFinished)
    await terminal.said(/Run \S+/)
    proxy.drop()
    const { code, stderr } = await terminal.ended
    expect(code, stderr).toBe(2)
    // The command on its way fails, or the next one does.
    expect(stderr).toMatch(/--redis: got .+, expected a Redis that responds(?: until the run is in its queue)?\n/)
    expect(service.seen().filter(({ isPost }) => isPost)).toEqual([])
  })

  test.concurrent('that takes no run into its queue is named with its reason, before anything is sent', async context => {
    const { redis, serve } = await startQueue(context.onTestFinished)
    const service = await serve()
    const full = new Redis(redis.url)
    await full.config('SET', 'maxmemory', '1')
    full.disconnect()
    const scenario = steadyScenario({ callers: 4, rate: 20, seconds: 3 })
    const args = ['run', scenario, '--target', service.target, '--out', freshDirectory(), '--redis', redis.url]
    const { code, stderr } = await turnpike([...args, '--shards', '2'])
    expect(code, stderr).toBe(2)
    expect(stderr).toMatch(/\n--redis: got .*OOM.*, expected a Redis that responds until the run is in its queue\n$/)
    expect(service.seen().filter(({ isPost }) => isPost)).toEqual([])
  })

  test.concurrent('from the start is named once, before anything is sent', async () => {
    const url = `redis://:a-secret-password@127.0.0.1:${await freePort()}`
    const scenario = steadyScenario({ callers: 4, rate: 20, seconds: 3 })
    const target = ['--target', 'http://127.0.0.1:9/api/v1', '--out', freshDirectory()]
    for (const args of [['worker'], ['attach', 'any'], ['run', scenario, ...target, '--shards', '2']]) {
      const { code, stderr } = await turnpike([...args, '--redis', url])
      expect(code, stderr).toBe(2)
      expect(stderr).toContain('ECONNREFUSED')
      expect(stderr).not.toContain('a-secret-password')
    }
  })
})
