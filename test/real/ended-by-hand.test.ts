import { expect, test } from 'vitest'
import { startQueue, steadyScenario } from '../support/queued-run.ts'
import { describeWith } from '../support/real-part.ts'

const exits = { pass: 0, inconclusive: 3, interrupted: 130 }

describeWith('redis', 'a run over machines that somebody ends', () => {
  test.concurrent('by ^C twice in the terminal cancels what is in flight, and waits for no response', async ({
    onTestFinished,
  }) => {
    const { serve, startWorkers, startLoad, startRun } = await startQueue(onTestFinished)
    const service = await serve()
    const scenario = steadyScenario({ callers: 8, rate: 20, seconds: 30 })
    const workers = await startWorkers(2)
    const run = await startLoad({ shards: 2, scenario, target: service.target })
    service.hold(() => true)
    await run.until(({ loadMs }) => loadMs !== null && loadMs > 1_500)
    run.terminal.child.kill('SIGINT')
    await run.terminal.said('press ^C again')
    run.terminal.child.kill('SIGINT')
    const fromMs = Date.now()
    const { code, report } = await run.conclude()
    // A worker that gets too little of a busy machine has no result within 3 s.
    expect(code).toBe(report.load.workers.some(({ lost }) => lost) ? exits.inconclusive : exits.interrupted)
    // Without the second ^C, requests in flight would get half a minute.
    expect(Date.now() - fromMs).toBeLessThan(20_000)
    // A worker is there for the next run.
    for (const { said } of workers) await said(/Shard \d of run/)
    service.release()
    const next = await startRun({
      shards: 2,
      scenario: steadyScenario({ callers: 4, rate: 5, seconds: 1 }),
      target: service.target,
    })
    expect((await next.conclude()).code).toBe(exits.pass)
    expect(service.load(next.id)).toHaveLength(5)
  })

  test.concurrent('by ^C at a worker goes on to its end, and the worker takes no other shard', async ({
    onTestFinished,
  }) => {
    const { serve, startWorkers, startLoad, startRun } = await startQueue(onTestFinished)
    const service = await serve()
    const scenario = steadyScenario({ callers: 4, rate: 20, seconds: 3 })
    const [first] = await startWorkers(2)
    const run = await startLoad({ shards: 2, scenario, target: service.target })
    first?.child.kill('SIGINT')
    const { code, stderr } = await run.conclude()
    expect(code, stderr).toBe(exits.pass)
    expect((await first?.ended)?.code).toBe(exits.pass)
    const next = await startRun({ shards: 2, scenario, target: service.target, flags: ['--ready-within', '4'] })
    expect((await next.conclude()).code).toBe(exits.inconclusive)
    expect(service.load(run.id)).toHaveLength(60)
    expect(service.load(next.id)).toEqual([])
  })

  test.concurrent('by ^C twice at a worker ends for all', async ({ onTestFinished }) => {
    const { serve, startWorkers, startLoad } = await startQueue(onTestFinished)
    const service = await serve()
    const scenario = steadyScenario({ callers: 8, rate: 20, seconds: 30 })
    const [first, second] = await startWorkers(2)
    const run = await startLoad({ shards: 2, scenario, target: service.target })
    service.hold(() => true)
    first?.child.kill('SIGINT')
    // One signal after the other: two at the same instant would count as one.
    await run.until(({ loadMs }) => loadMs !== null && loadMs > 1_500)
    first?.child.kill('SIGINT')
    await run.until(({ stop }) => stop === 'interrupted')
    expect((await first?.ended)?.code).toBe(exits.pass)
    service.release()
    const { code, report } = await run.conclude()
    expect(code).toBe(exits.interrupted)
    expect(report.load.workers.every(({ lost }) => !lost)).toBe(true)
    await second?.said(/Shard \d of run .*: done/)
  })

  test.concurrent('has no more of a worker that serves once, which ends by itself', async ({ onTestFinished }) => {
    const { serve, startWorker, startRun } = await startQueue(onTestFinished)
    const service = await serve()
    const scenario = steadyScenario({ callers: 2, rate: 20, seconds: 1 })
    const worker = await startWorker('once', { flags: ['--once'] })
    const run = await startRun({ shards: 1, scenario, target: service.target })
    expect((await run.conclude()).code).toBe(exits.pass)
    expect((await worker.ended).code).toBe(exits.pass)
    const next = await startRun({ shards: 1, scenario, target: service.target, flags: ['--ready-within', '2'] })
    expect((await next.conclude()).code).toBe(exits.inconclusive)
    expect(service.load(run.id)).toHaveLength(20)
    expect(service.load(next.id)).toEqual([])
  })
})
