import { describe, expect, test } from 'vitest'
import { clauseIds } from '../../../src/contract/clauses.ts'
import { planDifferences } from '../../../src/judge/compare/comparable.ts'
import { createJudge } from '../../../src/judge/judge.ts'
import { callsExercising } from '../../../src/plan/only.ts'
import { renderers } from '../../../src/report/render/renderers.ts'
import type { Lie } from '../../../src/service/lies/lie.ts'
import { lieByName } from '../../../src/service/lies/lies.ts'
import { virtualRun } from '../../support/virtual-run.ts'

const scenario = `name: test
callers: { count: 4 }
calls:
  chat: { kind: chat, stream: true, model-tier: XS, prompt-tokens: 20, max-completion-tokens: 20 }
  batch: { kind: rpc-batch, network: ethereum-mainnet, size: 4, failing-items: 1 }
  models: { kind: models }
stages: [{ name: load, duration: 20s, shape: constant, rate: 6/s, mix: { chat: 1, batch: 1 } }]
thresholds:
  - { expect: p(50) latency of chat < 10s, why: A test. }
  - { expect: failed == 0, why: A test. }
`

const lie = (name: string): Lie => {
  const found = lieByName(name)
  if (found === undefined) throw new Error(`no lie named ${name}`)
  return found
}
const priceLie = [lie('failed-item-in-full')]
const chatLie = [lie('usage-without-prompt')]

describe('--only with a call', () => {
  test('sends this call alone, at its rate, and judges it and its thresholds', async () => {
    const { report, observations } = await virtualRun({ scenario, only: ['batch'] })
    const load = observations.filter(({ stage }) => stage === 'load')
    expect(new Set(load.map(({ call }) => call))).toEqual(new Set(['batch']))
    expect(load).toHaveLength(60)
    expect(report.verdict).toBe('pass')
    expect(report.reasons.at(-1)).toBe('Only batch was judged.')
    expect(report.thresholds.map(({ expression }) => expression)).toEqual(['failed == 0'])
    expect(report.plan?.only).toEqual({
      names: ['batch'],
      clauses: null,
      calls: ['batch'],
      leftOut: ['p(50) latency of chat < 10s'],
    })
  })

  test('names the lie about this call, and not that about another one', async () => {
    const liar = await virtualRun({ scenario, only: ['batch'], lies: priceLie })
    expect(liar.report.findings.map(({ clause }) => clause)).toContain('rpc.batch.error-price')
    expect(liar.report.reasons.at(-1)).toBe('Only batch was judged.')
    const other = await virtualRun({ scenario, only: ['batch'], lies: chatLie })
    expect(other.report.verdict).toBe('pass')
  })
})

describe('--only with a clause', () => {
  const only = ['rpc.batch.error-price']

  test('judges this clause and nothing else', async () => {
    const { report, observations } = await virtualRun({ scenario, only })
    expect(report.reasons).toEqual([
      expect.stringMatching(/^\d+ responses checked: 1 clause passed\.$/),
      'Only rpc.batch.error-price was judged.',
    ])
    expect(report.clauses.map(({ id }) => id)).toEqual(only)
    expect(report.thresholds).toEqual([])
    expect(observations.filter(({ call }) => call === 'chat')).toEqual([])
    const page = { columns: 100, color: false, directory: null }
    expect(renderers.text(report, page)).not.toMatch(/missing 429|Credits and money|discrepancy/)
    expect(renderers.junit(report)).toMatch(/name="discrepancies"[\s\S]*?<skipped message="not selected by --only"/)
  })

  test('fails for a violation of it', async () => {
    const { report } = await virtualRun({ scenario, only, lies: priceLie })
    expect(report.verdict).toBe('fail')
    expect(report.findings.map(({ clause }) => clause)).toEqual(only)
    expect(report.billing.discrepancies).toEqual([])
  })

  test('does not fail for anything else', async () => {
    const faults = [{ status: 503, probability: 0.1 }] as const
    const { report } = await virtualRun({ scenario, only: ['rpc.batch.correlation'], lies: priceLie, faults })
    expect([report.verdict, report.findings, report.billing.discrepancies]).toEqual(['pass', [], []])
  })

  test('is inconclusive if nothing exercised it, and never a pass', async () => {
    const { report } = await virtualRun({ scenario, only: ['rpc.batch.full', 'rpc.batch.correlation'] })
    expect([report.verdict, ...report.reasons]).toEqual([
      'inconclusive',
      'No response exercised rpc.batch.full, so there is no verdict on it.',
      'Only rpc.batch.full, rpc.batch.correlation were judged.',
    ])
  })

  test('gives the same verdict with several workers', async () => {
    const { report } = await virtualRun({ scenario, only, lies: priceLie, workers: 3 })
    expect(report.findings.map(({ clause }) => clause)).toEqual(only)
  })
})

test('a run with --only is not comparable with a whole one, even if it sent the same', async () => {
  const [whole, part] = await Promise.all([virtualRun({ scenario }), virtualRun({ scenario, only: ['header.cf-ray'] })])
  expect(planDifferences(whole, part)).toEqual([{ path: 'only', base: '"the whole scenario"', run: '"header.cf-ray"' }])
  expect(planDifferences(part, part)).toEqual([])
})

/** A clause that the whole load exercises is also exercised by the calls that --only keeps for it. */
test.each(['conformance', 'idempotency', 'resources'])('the calls that exercise a clause are known: %s', async name => {
  const { observations, plan, contract, head } = await virtualRun({ scenario: `scenarios/${name}.yaml` })
  const judgedBy = (isKept: (call: string) => boolean) => {
    const judge = createJudge(plan, contract, head)
    for (const observation of observations) if (isKept(observation.call)) judge.add(observation)
    return judge.finish(true).findingLog.judged
  }
  const whole = judgedBy(() => true)
  const byCalls = new Map<string, ReturnType<typeof judgedBy>>()
  const lost: string[] = []
  for (const id of clauseIds) {
    const calls = callsExercising([id], plan.calls)
    if (calls === null || (whole.get(id) ?? 0) === 0) continue
    const judged = byCalls.get(calls.join()) ?? judgedBy(call => calls.includes(call))
    byCalls.set(calls.join(), judged)
    if ((judged.get(id) ?? 0) < (whole.get(id) ?? 0)) lost.push(`${id}: ${judged.get(id)} of ${whole.get(id)}`)
  }
  expect(lost).toEqual([])
})
