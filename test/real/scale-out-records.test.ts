import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { percentilesOf } from '../../src/judge/metrics/histogram.ts'
import { createMetrics } from '../../src/judge/metrics/request-stats.ts'
import type { Report } from '../../src/report/document.ts'
import { observationsIn, openRun } from '../../src/storage/run-directory.ts'
import { describeWith } from '../support/real-part.ts'
import { type RealRedis, startRedis } from '../support/real-redis.ts'
import { freshDirectory, type Started, serveForTest, startForTest, turnpike } from '../support/turnpike.ts'

const scenario = 'test/real/sharded.yaml'

describeWith('redis', 'the records of runs over several machines', () => {
  let redis: RealRedis
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis.kill())

  type Machine = Started & { readonly out: string }

  /** Each has a folder of its own, as on a machine of its own. */
  const startWorkers = (count: number): Promise<readonly Machine[]> =>
    Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const out = freshDirectory()
        const flags = ['--redis', redis.url, '--name', `w${index}`, '--out', out]
        const worker = startForTest(['worker', ...flags], onTestFinished)
        await worker.said('Waiting for shards')
        return { ...worker, out }
      }),
    )
  const reportIn = (out: string): Report => JSON.parse(readFileSync(join(out, 'report.json'), 'utf8'))

  /** With patience, since many processes may share the cores of this machine. */
  const patient = ['--max-silence', '40', '--ready-within', '120']

  async function startRun(shards: number, flags: readonly string[], lie: readonly string[] = []) {
    const { target } = await serveForTest(['service', ...lie], onTestFinished)
    const out = freshDirectory()
    const common = ['run', scenario, '--target', target, '--out', out, '--no-progress', '--seed', '7']
    const run = startForTest([...common, '--redis', redis.url, '--shards', String(shards), ...flags], onTestFinished)
    return { run, out }
  }

  const audit = async (directory: string) => {
    const { code, stdout, stderr } = await turnpike(['audit', directory, '--format', 'json'])
    return { code, stderr, report: stdout === '' ? null : (JSON.parse(stdout) as Report) }
  }

  /** What an audit must judge as the run did. */
  const essence = ({ verdict, reasons, run, clauses, billing, findings, thresholds, calls, load }: Report) => ({
    verdict,
    reasons,
    ended: [run.ended, run.durationMs],
    clauses,
    billing,
    findings,
    thresholds,
    calls,
    load: { ...load, workers: load.workers.map(({ worker, sent, startedMs }) => [worker, sent, startedMs]) },
  })

  const missingIn = ({ load }: Report) => load.workers.map(({ records }) => records?.missing)

  test('are collected, and an audit of them has the clauses, the billing and the percentiles of the run', async () => {
    await startWorkers(4)
    const client = new Redis(redis.url)
    onTestFinished(() => client.disconnect())
    const { run, out } = await startRun(4, ['--collect', ...patient])
    const { code, stderr } = await run.ended
    expect(code, stderr).toBe(0)
    const report = reportIn(out)
    expect(missingIn(report)).toEqual([null, null, null, null])
    const again = await audit(out)
    expect(again.code, again.stderr).toBe(0)
    expect(again.report && essence(again.report)).toEqual(essence(report))

    // The percentiles are those of all observations together, in one fold.
    const { plan, logs } = await openRun(out)
    const metrics = createMetrics(plan)
    for await (const observation of observationsIn(logs)) metrics.add(observation)
    for (const { call, stage, count, latencyMs } of report.calls) {
      const together = metrics.select({ call, stage })
      expect([call, stage, count, latencyMs]).toEqual([
        call,
        stage,
        together.sent,
        percentilesOf(together.timing('latency')),
      ])
    }
    expect(await client.keys('*:record:*'), 'all chunks are deleted').toEqual([])
  })

  test('stay on the workers without --collect, and become a run directory when someone copies them together', async () => {
    const workers = await startWorkers(2)
    const { run, out } = await startRun(2, patient)
    expect((await run.ended).code).toBe(0)
    const report = reportIn(out)
    expect(missingIn(report)).toEqual(['the run did not collect them', 'the run did not collect them'])
    const { code, stderr } = await audit(out)
    expect([code, stderr]).toEqual([2, expect.stringContaining('no recorded observations')])

    const together = join(freshDirectory(), 'together')
    mkdirSync(together)
    for (const worker of workers) {
      const [folder = ''] = readdirSync(worker.out)
      for (const file of readdirSync(join(worker.out, folder)))
        copyFileSync(join(worker.out, folder, file), join(together, file))
    }
    const again = await audit(together)
    expect(again.code, again.stderr).toBe(0)
    expect(again.report && essence(again.report)).toEqual(essence(report))
  })

  test('are named where they are if they cannot be collected, and an audit without them does not pass', async () => {
    const workers = await startWorkers(2)
    const { run, out } = await startRun(2, ['--collect', '--max-silence', '15', '--ready-within', '120'])
    const folder = workers[1]?.out ?? ''
    const isRecording = () => readdirSync(folder, { recursive: true }).some(file => String(file).endsWith('.gz'))
    while (!isRecording()) await pause(100)
    workers[1]?.child.kill('SIGKILL')
    const { code, stderr } = await run.ended
    expect(code).toBe(3)
    const { workers: all } = reportIn(out).load
    const lost = all.find(worker => worker.lost)?.records
    expect(all.find(worker => !worker.lost)?.records?.missing).toBeNull()
    expect([lost?.worker, lost?.missing]).toEqual(['w1', 'the shard has no result'])
    expect(existsSync(lost?.file ?? '')).toBe(true)
    expect(stderr).toContain(`Worker w1 may have them in ${lost?.file}`)
    expect((await audit(out)).code).toBe(3)
  })

  test('are collected by the terminal that attaches, if the first one is gone', async () => {
    await startWorkers(2)
    const base = freshDirectory()
    const { target } = await serveForTest(['service'], onTestFinished)
    await turnpike(['run', scenario, '--target', target, '--out', base, '--no-progress', '--seed', '7'])
    const { run } = await startRun(2, ['--collect', ...patient])
    const [id = ''] = /\d{8}T\d{6}Z-[0-9a-f]{6}/.exec(await run.said(/Run \S+/)) ?? []
    await pause(5_000)
    run.child.kill('SIGKILL')
    const out = freshDirectory()
    // The noise of one machine that does everything else, too, is not the subject.
    const flags = ['--redis', redis.url, '--out', out, '--no-progress', '--baseline', base, '--noise-floor', '50%']
    const { stderr } = await turnpike(['attach', id, ...flags])
    const report = reportIn(out)
    expect(
      report.comparison?.baselines.map(each => each.id),
      stderr,
    ).toEqual([reportIn(base).run.id])
    expect(missingIn(report)).toEqual([null, null])
    const again = await audit(out)
    expect(again.report && essence(again.report).clauses).toEqual(essence(report).clauses)
  })

  test('need no collecting for the evidence of findings', async () => {
    await startWorkers(2)
    const { run, out } = await startRun(2, patient, ['--lie', 'failed-item-in-full'])
    expect((await run.ended).code).toBe(1)
    const examples = reportIn(out).findings.flatMap(finding => finding.examples)
    expect(examples.length).toBeGreaterThan(0)
    for (const { requestIds, evidence } of examples)
      expect(requestIds).toEqual(expect.arrayContaining(evidence.map(({ id }) => id)))
    expect(examples.every(({ evidence }) => evidence.length > 0)).toBe(true)
  })
})
