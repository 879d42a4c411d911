import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { clauseIds } from '../../src/contract/clauses.ts'
import { lies } from '../../src/service/lies/lies.ts'
import { contractFor } from '../support/contract-for.ts'
import { todays } from '../support/nightly.ts'
import { virtualRun } from '../support/virtual-run.ts'

/** By scenario, lies that a run with one key must still find. Those that are missing here need no second key, or all. */
const found: Readonly<Record<string, readonly string[]>> = {
  'abuse-block': ['block-never', 'block-of-ten-seconds', 'block-by-endpoint'],
  agents: ['tool-calls-lost', 'whole-prompt-cached'],
  billing: ['charged-twice', 'balance-after', 'tiers-not-heeded'],
  capacity: ['usage-as-text', 'completion-id-of-the-model'],
  'chat-only': ['no-done', 'usage-as-text'],
  conformance: ['no-limits-on-errors', 'last-item-unbilled'],
  conversations: ['cached-as-text', 'whole-prompt-cached'],
  'hang-ups': ['usage-as-text', 'charged-twice'],
  idempotency: ['replay-unmarked', 'replay-runs-again', 'replay-charged-again'],
  nightly: ['tiers-not-heeded', 'usage-as-text'],
  races: ['one-request-too-many', 'replay-charged-again'],
  'rate-limit': ['one-request-too-many', 'limit-of-the-other-accounts', 'reset-announced-early'],
  'rpc-only': ['tiers-not-heeded', 'charged-twice'],
  saturate: ['last-item-unbilled'],
  smoke: ['one-request-too-many', 'charged-twice'],
  spike: ['usage-as-text', 'standard-as-advanced'],
  stairs: ['usage-as-text', 'standard-as-advanced'],
  twins: ['streams-refused', 'streams-count-a-word-more', 'batches-cost-one-more', 'first-item-answered-as-second'],
  wallets: ['tiers-not-heeded'],
}

const names = readdirSync('scenarios').flatMap(file => (file.endsWith('.yaml') ? [file.slice(0, -5)] : []))
/** Wallets on Solana ask a node before they pay, which takes real time. */
const run = (name: string) => ({
  scenario: readFileSync(`scenarios/${name}.yaml`, 'utf8').replace('[base, solana]', 'base'),
  contract: contractFor(`scenarios/${name}.yaml`),
})

const seeds = [null, 1, 2].flatMap(seed => Object.keys(found).map(name => ({ name, seed })))

test.each(todays(seeds, 3))('$name with one key and seed $seed passes an honest service', async ({ name, seed }) => {
  const { report } = await virtualRun({ ...run(name), keys: [1], ...(seed !== null && { seed }) })
  expect([report.verdict, report.findings], report.reasons.join('\n')).toEqual(['pass', []])
  const { given, leftOut } = report.plan?.fewerKeys ?? { given: 0, leftOut: [] }
  expect(given).toBe(1)
  expect(report.reasons.at(-1)).toContain('The run had 1 key for ')
  for (const each of leftOut) expect(report.reasons.at(-1)).toContain(each)
})

const several = ['abuse-block', 'billing', 'idempotency', 'races', 'rate-limit', 'smoke', 'twins', 'wallets'].flatMap(
  name => [2, 3].map(keys => ({ name, keys })),
)

test.each(todays(several, 4))('$name with $keys keys passes an honest service', async ({ name, keys }) => {
  const { report } = await virtualRun({ ...run(name), keys: Array.from({ length: keys }, () => 1) })
  expect([report.verdict, report.findings], report.reasons.join('\n')).toEqual(['pass', []])
})

const liars = Object.entries(found).flatMap(([name, lies]) => lies.map(lie => ({ name, lie })))

test.each(liars)('$name with one key finds $lie', async ({ name, lie }) => {
  const clause = clauseIds.find(id => lies[id].some(each => each.name === lie))
  if (clause === undefined) throw new Error(`there is no lie ${lie}`)
  const told = lies[clause].filter(each => each.name === lie)
  const { report } = await virtualRun({ ...run(name), keys: [1], lies: told })
  expect(report.verdict).toBe('fail')
  expect(report.findings.map(({ clause }) => clause)).toContain(clause)
})

describe('of the shipped scenarios', () => {
  test.each(names.filter(name => !Object.hasOwn(found, name)))('%s is the same with one key', async name => {
    const { plan } = await virtualRun({ ...run(name), keys: [1] })
    expect(plan.fewerKeys).toBeNull()
    const keyed = plan.callers.names.length - (plan.callers.wallets?.chains.length ?? 0)
    expect(keyed).toBeLessThanOrEqual(1)
  })
})
