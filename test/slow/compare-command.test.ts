import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { comparisonSchema } from '../../src/judge/compare/comparison.ts'
import { defaultLatency, scaleLatency } from '../../src/service/capacity.ts'
import { recordedRun } from '../support/recorded-run.ts'
import { freshDirectory, serveForTest, turnpike } from '../support/turnpike.ts'

const scenario = `
name: minute
callers: { count: 12 }
calls: { rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_call: 1 } } }
stages: [{ name: steady, duration: 60s, shape: constant, rate: 18/s, mix: { rpc: 1 } }]
record: none
thresholds: [{ expect: failed == 0, why: The run needs a threshold. }]
`
const short = 'test/e2e/short.yaml'

describe('turnpike compare', () => {
  const runs = freshDirectory()
  const of = (name: string) => join(runs, name)
  beforeAll(async () => {
    for (const seed of [1, 2, 3]) await recordedRun(of(`base-${seed}`), { scenario, seed })
    await recordedRun(of('same'), { scenario, seed: 4 })
    await recordedRun(of('slow'), { scenario, seed: 5, timing: scaleLatency(defaultLatency, 0.5) })
    await recordedRun(of('other'), { scenario: 'scenarios/idempotency.yaml' })
    await recordedRun(of('killed'), { scenario, seed: 6 }, true)
  })

  test('exits with 1 for a regressed run and writes every format', async () => {
    const out = freshDirectory()
    const bases = [1, 2, 3].map(seed => of(`base-${seed}`))
    const { code, stdout } = await turnpike(['compare', ...bases, of('slow'), '--out', out])
    expect(stdout).toMatch(/^Regressed: .*\n?.* of \w+ in steady .*→/)
    expect(stdout).toMatch(/^REGRESSED {2}minute/m)
    expect(code).toBe(1)
    expect(readdirSync(out).sort()).toEqual(['comparison.html', 'comparison.json', 'comparison.md', 'comparison.txt'])
    const written = comparisonSchema.parse(JSON.parse(readFileSync(join(out, 'comparison.json'), 'utf8')))
    expect(written.baselines.map(({ id }) => id)).toEqual(bases)
    expect(written.verdict).toBe('regressed')
  })

  test('exits with 0 for an unchanged run and prints the requested format', async () => {
    const { code, stdout } = await turnpike([
      'compare',
      of('base-1'),
      of('same'),
      '--format',
      'json',
      '--noise-floor',
      '1%',
    ])
    expect(comparisonSchema.parse(JSON.parse(stdout))).toMatchObject({
      verdict: 'unchanged',
      criteria: { noiseFloor: 0.01 },
    })
    expect(code).toBe(0)
  })

  test('exits with 3 for a killed run', async () => {
    const { code, stdout } = await turnpike(['compare', of('base-1'), of('killed')])
    expect(stdout).toMatch(/^Cannot tell: the run did not end by itself\.(.|\n)*^CANNOT TELL {2}minute/m)
    expect(code).toBe(3)
  })

  test.each([
    [
      'runs of different plans',
      ['base-1', 'other'],
      /other: got a plan with \d+ differences, such as \S+, expected the plan of the baseline/,
    ],
    ['a run with itself', ['base-1', 'base-1'], /got run .*base-1, as in .*base-1, expected each run once/],
    ['a single run', ['base-1'], /got one run, expected at least one baseline, and after it the run/],
    ['a directory without a run', ['base-1', 'none'], /none: got no such directory, expected a run directory/],
  ])('rejects %s with exit code 2', async (_, names, words) => {
    const { code, stderr, stdout } = await turnpike(['compare', ...names.map(of)])
    expect(stderr).toMatch(words)
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })

  test.each([
    ['--min-effect', '0%'],
    ['--noise-floor', '0.02'],
  ])('rejects %s %s', async (flag, value) => {
    const { code, stderr } = await turnpike(['compare', of('base-1'), of('same'), flag, value])
    expect(stderr).toContain(`${flag}: got "${value}", expected a share from`)
    expect(code).toBe(2)
  })
})

describe('turnpike run --baseline', () => {
  test('fails a run with more failures than its baseline', async ({ onTestFinished }) => {
    const baseline = await recordedRun(join(freshDirectory(), 'base'), { scenario: short })
    const out = freshDirectory()
    const { target } = await serveForTest(['service', '--fault', '503:0.9'], onTestFinished)
    const { code, stdout } = await turnpike(['run', short, '--target', target, '--out', out, '--baseline', baseline])
    expect(stdout).toMatch(/Against the baseline: Regressed: [^;]*failures of \w+ in steady \+\d/)
    expect(code).toBe(1)
    const report = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8'))
    expect(report).toMatchObject({
      verdict: 'fail',
      comparison: { verdict: 'regressed', baselines: [{ id: baseline }] },
    })
    expect(readFileSync(join(out, 'junit.xml'), 'utf8')).toContain('name="comparison"')
    const again = await turnpike(['report', out])
    expect(again.stdout).toBe(stdout)
  })

  test('rejects a baseline of another plan before the first request', async () => {
    const baseline = await recordedRun(join(freshDirectory(), 'base'), { scenario: 'scenarios/rpc-only.yaml' })
    const out = join(freshDirectory(), 'out')
    const { code, stderr } = await turnpike(['run', short, '--out', out, '--baseline', baseline])
    expect(stderr).toMatch(
      /^short: got a plan with \d+ differences, such as callers\.count, expected the plan of the baseline/,
    )
    expect(code).toBe(2)
    expect(existsSync(out)).toBe(false)
  })

  test('accepts one scenario only', async () => {
    const { code, stderr } = await turnpike(['run', short, short, '--baseline', 'none'])
    expect(stderr).toContain('--baseline: got 2 scenarios, expected one scenario')
    expect(code).toBe(2)
  })
})
