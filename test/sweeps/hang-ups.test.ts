import { describe, expect, test } from 'vitest'
import { clauseIds, isExtra } from '../../src/contract/clauses.ts'
import type { Contract } from '../../src/contract/contract.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { streamOf } from '../../src/observation/observation.ts'
import { knownLie, lieByName } from '../../src/service/lies/lies.ts'
import { todays } from '../support/nightly.ts'
import { virtualRun } from '../support/virtual-run.ts'

type Policy = Contract['billing']['hangUp']

const withPolicy = (hangUp: Policy): Contract => ({
  ...documentedContract,
  billing: { ...documentedContract.billing, hangUp },
})

const scenario = 'scenarios/hang-ups.yaml'

describe('a service that bills as the profile says is spared', () => {
  test.each(todays<Policy>(['delivered', 'generated', 'full', 'nothing'], 2))('%s', async policy => {
    const { report } = await virtualRun({ scenario, contract: withPolicy(policy) })
    expect(report.findings).toEqual([])
    expect(report.verdict).toBe('pass')
    const judged = report.clauses.filter(({ id }) => id.startsWith('billing.hang-up.'))
    expect(judged.map(({ verdict }) => verdict)).toEqual(['pass', 'pass', 'pass'])
  })
})

test('a profile that leaves the price open judges none, and says so', async () => {
  const { report, observations } = await virtualRun({ scenario })
  expect(report.verdict).toBe('pass')
  const amount = report.clauses.find(({ id }) => id === 'billing.hang-up.amount')
  expect(amount).toMatchObject({ judged: 0, because: { text: expect.stringContaining('billing.hangUp') } })
  const left = observations.filter(({ call, outcome }) => call === 'short-left' && outcome.kind === 'left')
  expect(left.length).toBeGreaterThan(20)
  expect(new Set(left.map(observation => streamOf(observation)?.tokenChunks))).toEqual(new Set([5]))
  const facts = report.calls.find(({ call, stage }) => call === 'short-left' && stage === null)
  expect(facts).toMatchObject({ left: left.length, failed: 0 })
  // Of requests that all were left, none is good or bad.
  expect(report.calls.map(({ goodRatio }) => goodRatio).filter(Number.isNaN)).toEqual([])
})

describe('a service that bills by another policy is accused', () => {
  test.each<[Policy, Policy]>([
    ['nothing', 'delivered'],
    ['full', 'nothing'],
  ])('the profile says %s, the service bills %s', async (said, done) => {
    const { report } = await virtualRun({
      scenario,
      contract: withPolicy(said),
      serviceContract: withPolicy(done),
    })
    expect(report.findings.map(({ clause }) => clause)).toContain('billing.hang-up.amount')
  })
})

test('a charge that comes a minute after the client has left is named', async () => {
  const lie = lieByName('generates-on-after-hang-up')
  if (lie === undefined) throw new Error('no such lie')
  const { report } = await virtualRun({ scenario, contract: withPolicy('generated'), lies: [lie] })
  const late = report.findings.find(({ clause }) => clause === 'billing.hang-up.late')
  expect(late?.message).toMatch(/^hang-up-billed: .* left the balance .*; the client had left earlier ones$/)
})

test('a client that reads slowly gets and pays everything, and none of its times counts', async () => {
  const { report, observations } = await virtualRun({ scenario, contract: withPolicy('delivered') })
  const slow = observations.filter(({ call }) => call === 'slow')
  expect(slow.length).toBeGreaterThan(2)
  for (const observation of slow) {
    const stream = streamOf(observation)
    const tokens = stream?.tokenChunks ?? 0
    expect(observation.outcome).toEqual({ kind: 'answered', status: 200 })
    expect(stream?.usage).toMatchObject({ completion_tokens: tokens })
    const readMs = (observation.endMs ?? 0) - (stream?.firstTokenMs ?? 0)
    expect((tokens / readMs) * 1000).toBeLessThanOrEqual(20.5)
    expect((tokens / readMs) * 1000).toBeGreaterThan(19)
  }
  const facts = report.calls.find(({ call, stage }) => call === 'slow' && stage === null)
  expect(facts).toMatchObject({ count: slow.length, failed: 0, statuses: { 200: slow.length } })
  expect([facts?.latencyMs.p50, facts?.ttftMs.p50, facts?.tpotMs.p50, facts?.iclMs.p50]).toEqual([
    null,
    null,
    null,
    null,
  ])
})

describe('a profile that promises slow-reader.*', () => {
  const contract = {
    ...withPolicy('delivered'),
    promises: { only: [...clauseIds.filter(id => !isExtra(id)), 'slow-reader.*'], except: [] },
  }

  test('spares a service that waits for its readers', async () => {
    const { report } = await virtualRun({ scenario, contract })
    const judged = report.clauses.filter(({ id }) => id.startsWith('slow-reader.'))
    expect(judged.map(({ id, verdict }) => [id, verdict])).toEqual([
      ['slow-reader.text', 'pass'],
      ['slow-reader.kept', 'pass'],
    ])
  })

  test.each([
    [
      'slow-reader-loses-text',
      'slow-reader.text',
      /^the text of a client that reads slowly has \d\.\d characters per token, expected/,
    ],
    [
      'slow-reader-cut-off',
      'slow-reader.kept',
      /^\d+ of \d+ streams broke off while their clients read slowly, expected none/,
    ],
  ])('%s violates %s', async (name, clause, message) => {
    const { report } = await virtualRun({ scenario, contract, lies: [knownLie(name)] })
    expect(report.findings.map(finding => [finding.clause, finding.message])).toEqual([
      [clause, expect.stringMatching(message)],
    ])
  })
})

describe('a profile that lets two completions of a caller be in progress', () => {
  const atOnce = { requests: 2, message: 'Too many completions at once' }
  const contract = { ...withPolicy('delivered'), chat: { ...documentedContract.chat, atOnce } }
  const judged = async (seed: number, ...lies: string[]) => {
    const { report } = await virtualRun({ scenario, seed, contract, lies: lies.map(knownLie) })
    return report.findings.map(({ clause, message }) => [clause, message])
  }

  test('spares a service that frees each slot, also below a slow reader', async () => {
    for (let seed = 0; seed < 20; seed++) expect(await judged(seed)).toEqual([])
  })

  test.each(['slot-never-freed', 'slot-freed-after-a-minute', 'slot-of-slow-reader-never-freed'])(
    '%s is named',
    async name => {
      for (const seed of [1, 2, 3])
        expect(await judged(seed, name)).toEqual([
          [
            'limit.hang-up.freed',
            expect.stringMatching(
              /^a completion was refused since 2 are in progress, expected at most [01]: the client had left or slowly read \d+ before$/,
            ),
          ],
        ])
    },
  )
})
