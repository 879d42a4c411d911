import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Report } from '../../src/report/document.ts'

import { observationsIn, openRun } from '../../src/storage/run-directory.ts'
import { fallen } from '../support/read-exposition.ts'
import { scrapeToTheEnd } from '../support/scrape-run.ts'
import { freshDirectory, startTurnpike, turnpike } from '../support/turnpike.ts'

const scenario = 'test/e2e/short.yaml'
const reportIn = (out: string): Report => JSON.parse(readFileSync(join(out, 'report.json'), 'utf8'))

test('a run on several threads has one report, and an audit reproduces it exactly', async () => {
  const out = freshDirectory()
  const run = await turnpike(['run', scenario, '--workers', '3', '--out', out, '--quiet'])
  expect(run.stderr).toBe('')
  expect(run.code).toBe(0)
  const report = reportIn(out)
  expect(report.run.ended).toBe('complete')
  expect(report.load.workers.map(({ callers, lost }) => ({ callers, lost }))).toEqual(
    Array(3).fill({ callers: 1, lost: false }),
  )
  expect(report.load.workers.reduce((sum, { sent }) => sum + sent, 0)).toBe(report.load.sent)
  expect(report.load.sent).toBeGreaterThan(50)
  expect(run.stdout).toMatch(/workers +3, started .* apart/)
  expect(readdirSync(out).filter(name => name.startsWith('observations'))).toEqual(
    [1, 2, 3].map(worker => `observations-${worker}.ndjson.gz`),
  )
  const audit = await turnpike(['audit', out, '--format', 'json'])
  expect(audit.stdout).toBe(readFileSync(join(out, 'report.json'), 'utf8'))
  const clauses = await turnpike(['clauses', out])
  expect(clauses.code).toBe(0)
})

test('a plan cannot have more workers than callers', async () => {
  const out = join(freshDirectory(), 'none')
  const run = await turnpike(['run', scenario, '--workers', '4', '--out', out])
  expect(run.code).toBe(2)
  expect(run.stderr).toContain('--workers: got 4, expected a whole number from 1 to 3: short has 3 callers')
})

test('a lost worker ends the run, which is then inconclusive', async () => {
  const out = freshDirectory()
  // The second worker fails as it starts.
  const failing = `import { isMainThread, workerData } from 'node:worker_threads'
if (!isMainThread && workerData?.shard?.worker === 1) throw new Error('no second worker')`
  const preload = `--import=data:text/javascript,${encodeURIComponent(failing)}`
  const run = await turnpike(['run', scenario, '--workers', '2', '--out', out], { NODE_OPTIONS: preload })
  expect(run.code).toBe(3)
  expect(run.stderr).toContain('Worker 2 of 2 crashed: no second worker')
  const report = reportIn(out)
  expect(report.verdict).toBe('inconclusive')
  expect(report.run.ended).toBe('worker-lost')
  expect(report.reasons[0]).toContain('Worker 2 of 2 crashed. 0 requests of its 1 caller were recovered.')
  expect(report.load.workers.map(({ lost }) => lost)).toEqual([false, true])
})

test('an interrupt stops all workers after their balance checks', async () => {
  const out = freshDirectory()
  const { child, said, ended } = startTurnpike(['run', 'test/e2e/long.yaml', '--workers', '3', '--out', out])
  await said('stage=')
  child.kill('SIGINT')
  const { code } = await ended
  expect(code).toBe(130)
  const report = reportIn(out)
  expect(report.run.ended).toBe('interrupted')
  expect(report.load.workers.every(({ lost }) => !lost)).toBe(true)
  expect(await closingBalanceChecks(out)).toBe(3)
})

test('a second interrupt stops all workers immediately, without balance checks', async () => {
  const out = freshDirectory()
  const { child, said, ended } = startTurnpike(['run', 'test/e2e/long.yaml', '--workers', '3', '--out', out])
  await said('stage=steady')
  // Two signals of one kind may be merged into one. Signals of two kinds both arrive.
  child.kill('SIGINT')
  child.kill('SIGTERM')
  const { code } = await ended
  expect(code).toBe(130)
  const report = reportIn(out)
  expect([report.verdict, report.run.ended]).toEqual(['inconclusive', 'interrupted'])
  expect(report.load.workers.every(({ lost }) => !lost)).toBe(true)
  expect(await closingBalanceChecks(out)).toBe(0)
  const audit = await turnpike(['audit', out, '--format', 'json'])
  expect(audit.stdout).toBe(readFileSync(join(out, 'report.json'), 'utf8'))
})

test('saturated connections on several threads stay within the call limit of the stage', async () => {
  const out = freshDirectory()
  const run = await turnpike(['run', 'test/e2e/busy.yaml', '--workers', '4', '--out', out, '--quiet'])
  expect(run.code).toBe(0)
  const { answered, workers } = reportIn(out).load
  // Eight callers have a balance check before and after the load.
  expect(answered).toBe(40 + 16)
  expect(workers.map(({ sent }) => sent)).toEqual(Array(4).fill(14))
})

test('a capacity search on several threads finds the capacity, and an audit reproduces it exactly', async () => {
  const out = freshDirectory()
  const run = await turnpike(['run', 'test/slow/search.yaml', '--workers', '3', '--out', out, '--quiet'])
  const { capacity, load } = reportIn(out)
  expect(run.code).toBe(0)
  expect(run.stderr).toBe('')
  expect(capacity[0]?.status).toBe('found')
  expect(capacity[0]?.ratePerSecond).toBeGreaterThan(35)
  expect(capacity[0]?.ratePerSecond).toBeLessThan(60)
  const arrivals = capacity[0]?.trials.reduce((sum, trial) => sum + trial.arrivals, 0) ?? 0
  // Twelve callers have a balance check before and after the load.
  expect(arrivals).toBe(load.sent - 24)
  expect(load.workers.every(({ sent }) => sent > arrivals / 4)).toBe(true)
  const audit = await turnpike(['audit', out, '--format', 'json'])
  expect(audit.stdout).toBe(readFileSync(join(out, 'report.json'), 'utf8'))
})

test('an interrupt during a capacity search on several threads ends it for all, without a result', async () => {
  const out = freshDirectory()
  const { child, said, ended } = startTurnpike(['run', 'test/slow/search.yaml', '--workers', '2', '--out', out])
  await said('stage=search')
  child.kill('SIGINT')
  expect((await ended).code).toBe(130)
  const { capacity, load, run } = reportIn(out)
  expect(run.ended).toBe('interrupted')
  expect(capacity[0]?.status).toBe('inconclusive')
  expect(load.workers.every(({ lost }) => !lost)).toBe(true)
  const audit = await turnpike(['audit', out, '--format', 'json'])
  expect(audit.stdout).toBe(readFileSync(join(out, 'report.json'), 'utf8'))
})

test('metrics of a run on several threads never decrease and have no duplicate series', async () => {
  const out = freshDirectory()
  const flags = ['--workers', '3', '--metrics', ':0', '--out', out, '--no-progress']
  const started = startTurnpike(['run', scenario, ...flags])
  const scrapes = await scrapeToTheEnd(started)
  expect((await started.ended).code).toBe(0)
  expect(scrapes.some(samples => samples.has('turnpike_stage_info{stage="steady"}'))).toBe(true)
  expect(fallen(scrapes)).toEqual([])
  const { load } = reportIn(out)
  const last = [...(scrapes.at(-1) ?? [])].filter(([name]) => name.startsWith('turnpike_requests_total{'))
  const sent = last.reduce((sum, [, value]) => sum + value, 0)
  expect(sent).toBeGreaterThan(Math.max(...load.workers.map(worker => worker.sent)))
  expect(sent).toBeLessThanOrEqual(load.sent)
})

/** The number of balance checks after the load. */
async function closingBalanceChecks(out: string): Promise<number> {
  let count = 0
  const { logs } = await openRun(out)
  for await (const { stage, response } of observationsIn(logs)) if (stage === '(closing)' && response !== null) count++
  return count
}
