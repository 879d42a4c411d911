import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { TargetDiff } from '../../../src/diff/compare-sides.ts'
import { freePort } from '../../support/free-port.ts'
import { libraryScript } from '../../support/library-script.ts'
import { freshDirectory, serveForTest, turnpike } from '../../support/turnpike.ts'

const scenario = 'test/e2e/short.yaml'
const wide = ['latency', 'ttft', 'tpot'].flatMap(name => ['--margin', `${name}=100%`])

test.concurrent('the new version is worse, no worse, or nobody can tell', async ({ onTestFinished }) => {
  const { target: old } = await serveForTest(['service'], onTestFinished)
  const { target: lying } = await serveForTest(['service', '--lie', 'failed-item-in-full'], onTestFinished)
  const folder = freshDirectory()
  const diff = (fresh: string, out: string, ...flags: readonly string[]) => diffOf([scenario], fresh, out, flags)
  const diffOf = async (load: readonly string[], fresh: string, out: string, flags: readonly string[] = []) => {
    const common = ['--no-warm-up', '--quiet', '--out', join(folder, out), ...wide]
    return await turnpike(['diff', old, fresh, ...load, ...common, ...flags])
  }
  const worse = await diff(lying, 'worse', '--format', 'json')
  expect([worse.code, worse.stderr]).toEqual([1, ''])
  const found = JSON.parse(worse.stdout) as TargetDiff
  expect(found).toMatchObject({ verdict: 'worse', old: { ended: 'complete' }, new: { ended: 'complete' } })
  expect(found.clauses).toMatchObject([{ name: 'rpc.batch.error-price', old: { violated: 0 }, verdict: 'worse' }])
  expect(found.numbers.find(({ measure, call }) => measure === 'credits' && call === 'rpc')).toMatchObject({
    ...{ old: 65, new: 80, verdict: 'worse' },
  })
  expect(JSON.parse(readFileSync(join(folder, 'worse', 'diff.json'), 'utf8'))).toEqual(found)
  // Both are run directories like any other.
  expect((await turnpike(['findings', join(folder, 'worse', 'new')])).stdout).toContain('rpc.batch.error-price')

  // Each side got keys of its own from Turnpike, so that they share no account.
  // The traffic of a recorded run is the same load.
  const same = await diffOf(['--shadow', join(folder, 'worse', 'old')], old, 'same')
  const firstLine = same.stdout.split('\n')[0]
  // A busy machine may make times too uncertain, but equal versions are never worse.
  expect([same.code, firstLine]).toEqual(same.code === 0 ? [0, 'NO WORSE  short'] : [3, 'CANNOT TELL  short'])

  const away = `http://127.0.0.1:${await freePort()}/v1`
  const lost = await diff(away, 'lost', '--format', 'html')
  expect([lost.code, lost.stdout]).toEqual([
    3,
    expect.stringContaining('The run of NEW ended early: target-unreachable.'),
  ])
  expect(lost.stdout).toContain('<span class="verdict">cannot tell</span><h1>short</h1>')

  const poor = await diff(lying, 'poor', '--budget-usd', '0.0001')
  expect([poor.code, poor.stdout]).toEqual([2, ''])
  expect(poor.stderr).toMatch(
    /^budget: got \$0\.0001 for two targets, expected at least \$0\.\d+, twice the worst case/,
  )
  expect(existsSync(join(folder, 'poor'))).toBe(false)
})

test.concurrent('a program can compare two versions', async () => {
  const { value } = await libraryScript(`
    const old = await turnpike.startService({})
    const fresh = await turnpike.startService({ lies: ['failed-item-in-full'] })
    const seen = []
    const diff = await turnpike.diff(old.url, fresh.url, 'test/e2e/short.yaml', {
      ...{ margin: { ttft: 1 }, warmUp: false, budgetUsd: 0.05, onProgress: progress => seen.push(progress) },
    })
    const mistake = await turnpike.diff(old.url, fresh.url, 'smoke', { margin: { tftt: 0.05 } }).catch(cause => cause.message)
    await Promise.all([old.close(), fresh.close()])
    done({ verdict: diff.verdict, clauses: diff.clauses.map(({ name }) => name), seen: seen.length > 0, mistake })
  `)
  expect(value).toEqual({
    ...{ verdict: 'worse', clauses: ['rpc.batch.error-price'], seen: true },
    mistake: expect.stringMatching(/^margin: got "tftt=5%", expected a margin of .*; did you mean "ttft"\?$/),
  })
})
