import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { Report } from '../../src/report/document.ts'
import { todays } from '../support/nightly.ts'
import { fallen } from '../support/read-exposition.ts'
import { scrapeToTheEnd } from '../support/scrape-run.ts'
import { freshDirectory, startTurnpike, turnpike } from '../support/turnpike.ts'

const failing = pathToFileURL('test/support/failing-thread.mjs').href
const reportIn = (out: string): Report => JSON.parse(readFileSync(join(out, 'report.json'), 'utf8'))

/** A run in which the second of three threads fails during the load. */
function startFailing(how: string, flags: readonly string[] = [], scenario = 'test/e2e/long.yaml') {
  const out = freshDirectory()
  const environment = { NODE_OPTIONS: `--import ${failing}`, FAILING_THREAD: how }
  const args = ['run', scenario, '--workers', '3', '--no-progress', '--out', out, ...flags]
  return { out, ...startTurnpike(args, environment) }
}

describe.concurrent('a worker that is lost during the load', () => {
  const causes = [
    ['exit', 'it exited with code 7'],
    ['throw', 'a fault of its own'],
    ['memory', 'reaching memory limit'],
    ['terminate', 'it exited with code 1'],
  ] as const

  test.for(todays(causes, 2))('by %s ends the run; report and audit state what is known', async ([how, why]) => {
    const { out, ended } = startFailing(how)
    const run = await ended
    expect(run.stderr).toMatch(new RegExp(`Worker 2 of 3 crashed: .*${why}`))
    expect(run.code).toBe(3)
    const { verdict, reasons, run: snapshot, load } = reportIn(out)
    expect([verdict, snapshot.ended]).toEqual(['inconclusive', 'worker-lost'])
    expect(load.workers.map(({ lost }) => lost)).toEqual([false, true, false])
    expect(load.workers.reduce((sum, { sent }) => sum + sent, 0)).toBe(load.sent)
    expect(load.workers.filter(({ sent }) => sent > 10)).toHaveLength(3)
    const known = load.workers[1]?.sent
    expect(reasons[0]).toContain(`Worker 2 of 3 crashed. ${known} requests of its 1 caller were recovered.`)
    const audit = await turnpike(['audit', out, '--format', 'json'])
    expect(audit.code).toBe(3)
    expect(audit.stdout).toBe(readFileSync(join(out, 'report.json'), 'utf8'))
  })

  test('ends a capacity search without a result, and an audit states the same', async () => {
    const { out, ended } = startFailing('exit', [], 'test/slow/search.yaml')
    expect((await ended).code).toBe(3)
    const { run, capacity } = reportIn(out)
    expect(run.ended).toBe('worker-lost')
    expect(capacity.map(({ status, ratePerSecond }) => [status, ratePerSecond])).toEqual([['inconclusive', null]])
    const audit = await turnpike(['audit', out, '--format', 'json'])
    expect(audit.stdout).toBe(readFileSync(join(out, 'report.json'), 'utf8'))
  })

  test('stays in the scraped metrics', async () => {
    const started = startFailing('exit', ['--metrics', ':0'])
    const scrapes = await scrapeToTheEnd(started)
    expect((await started.ended).code).toBe(3)
    expect(fallen(scrapes)).toEqual([])
  })

  test('that hangs is given up when the run is cancelled', async () => {
    const { out, child, said, ended } = startFailing('hang')
    await said('hanging from now on')
    child.kill('SIGINT')
    await said('Interrupted')
    child.kill('SIGINT')
    const run = await ended
    expect(run.stderr).toContain('Worker 2 of 3 crashed: it did not respond for 10 s')
    expect(run.code).toBe(3)
    expect(reportIn(out).load.workers.map(({ lost }) => lost)).toEqual([false, true, false])
  })
})
