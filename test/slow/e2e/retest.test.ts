import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Report } from '../../../src/report/document.ts'
import { freshDirectory, serveForTest, turnpike } from '../../support/turnpike.ts'

const short = 'test/e2e/short.yaml'
const long = 'test/e2e/long.yaml'
const reportIn = (directory: string): Report => JSON.parse(readFileSync(join(directory, 'report.json'), 'utf8'))

describe.concurrent('a retest', () => {
  test('ends at the first violation, does not run further scenarios, and exits with 1', async ({ onTestFinished }) => {
    const { target } = await serveForTest(['service', '--lie', 'failed-item-in-full'], onTestFinished)
    const out = freshDirectory()
    const args = ['run', long, short, '--target', target, '--fail-fast', '--workers', '2', '--out', out]
    const run = await turnpike(args)
    expect(run.code).toBe(1)
    expect(run.stderr).toContain('Not run, because of --fail-fast: short.')
    expect(run.stdout).toContain('The run ended at the first violation')
    const report = reportIn(join(out, 'long'))
    expect(report.run.ended).toBe('violation-found')
    expect(existsSync(join(out, 'short'))).toBe(false)
    const audit = await turnpike(['audit', join(out, 'long'), '--format', 'json'])
    expect(JSON.parse(audit.stdout).reasons).toEqual(report.reasons)
  })

  test('of one clause says so everywhere, and is no baseline of a whole run', async () => {
    const [whole, part] = [freshDirectory(), freshDirectory()]
    const only = ['--only', 'rpc.batch.error-price']
    const plan = await turnpike(['plan', short, ...only])
    expect(plan.stdout).toMatch(/only +rpc\.batch\.error-price: sends only rpc, replay; judges no threshold/)
    const run = await turnpike(['run', short, '--out', part, ...only])
    expect(run.stdout).toContain('Only rpc.batch.error-price was judged.')
    expect([run.code, reportIn(part).plan?.only?.calls]).toEqual([0, ['rpc', 'replay']])
    await turnpike(['run', short, '--out', whole])
    const compared = await turnpike(['compare', part, whole])
    expect(compared.code).toBe(2)
    expect(compared.stderr).toContain('only: got "the whole scenario", expected "rpc.batch.error-price"')
  })

  test('of an unknown name is refused before anything is sent', async () => {
    const run = await turnpike(['run', short, '--only', 'rpcc'])
    expect(run.code).toBe(2)
    expect(run.stderr).toContain('did you mean "rpc"?')
  })
})
