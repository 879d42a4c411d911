import { describe, expect, test } from 'vitest'
import { type Contract, contractSchema } from '../../src/contract/contract.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { type Lie, lie } from '../../src/service/lies/lie.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
import { type VirtualRun, virtualRun } from '../support/virtual-run.ts'

/** A service with prices of its own, which no profile states. Its list of models states those of tokens. */
function priced(baseOf: (slug: string) => number, tokens: string, changeTier = false): Contract {
  const { rpc, models } = documentedContract
  const networks = Object.entries(rpc.networks).map(([slug, network]) => [
    slug,
    { ...network, baseCredits: baseOf(slug) },
  ])
  const evm = changeTier
    ? { ...rpc.methods.evm, eth_call: 'large', trace_replayTransaction: 'standard' }
    : rpc.methods.evm
  return contractSchema.parse({
    ...documentedContract,
    models: models.map(model => ({
      ...model,
      usdPerMillion: { ...model.usdPerMillion, input: tokens, output: tokens },
    })),
    rpc: { ...rpc, networks: Object.fromEntries(networks), methods: { ...rpc.methods, evm } },
  })
}

const services: Readonly<Record<string, Contract>> = {
  'the reference prices': documentedContract,
  'a low base': priced(() => 7, '0.11'),
  'a base for each chain': priced(slug => 10 + slug.length, '1.37'),
  'a high base, and other tiers': priced(() => 50, '2.5', true),
}

async function judged(run: Partial<VirtualRun>) {
  const { report } = await virtualRun({ scenario: 'scenarios/smoke.yaml', isElsewhere: true, ...run })
  return {
    verdict: report.verdict,
    ended: report.run.ended,
    findings: report.findings.map(({ clause, message }) => `${clause}: ${message}`),
    discrepancies: report.billing.discrepancies.length,
  }
}

describe.each(Object.entries(services))('an honest target with %s passes without a profile', (_, serviceContract) => {
  test.each(['smoke', 'billing', 'idempotency', 'rpc-only'])('%s', async name => {
    expect(await judged({ scenario: `scenarios/${name}.yaml`, serviceContract })).toEqual({
      verdict: 'pass',
      ended: 'complete',
      findings: [],
      discrepancies: 0,
    })
  })
})

const own = (name: string, itemCredits: (credits: number, index: number, isFailed: boolean) => number): Lie =>
  lie(name, name, honest => {
    let items = 0
    return { itemCredits: item => itemCredits(honest.itemCredits(item), items++, item.batched && item.failed) }
  })

function named(name: string): Lie {
  const found = lieByName(name)
  if (found === undefined) throw new Error(`unknown lie: ${name}`)
  return found
}

const liars: readonly (readonly [clause: string, lie: Lie])[] = [
  ['rpc.batch.error-price', named('failed-item-in-full')],
  ['rpc.batch.error-price', own('four-for-a-failed-item', (credits, _, isFailed) => (isFailed ? 4 : credits))],
  ['rpc.cost.amount', named('dearer-credits')],
  [
    'rpc.credits.amount',
    own('base-changes-in-mid-run', (credits, at, isFailed) => (at > 400 && !isFailed ? credits + 10 : credits)),
  ],
  [
    'rpc.credits.amount',
    own('one-more-at-times', (credits, at, isFailed) => (at % 17 === 3 && !isFailed ? credits + 1 : credits)),
  ],
  ['rpc.credits.amount', named('first-item-twice-billed')],
]

/** The service bills one caller by another base, so each caller alone finds nothing wrong. */
const otherBaseForSome = (isOther: (authorization: string) => boolean): Lie =>
  lie('other-base-for-some', 'Some callers have another base.', honest => {
    let isNow = false
    return {
      scope: (scope, state) => {
        isNow = isOther(state.request.headers.authorization ?? '')
        return honest.scope(scope, state)
      },
      itemCredits: item => honest.itemCredits(isNow ? { ...item, baseCredits: item.baseCredits + 10 } : item),
    }
  })

test.each([1, 2])('a base that differs between the callers is named with %i workers', async workers => {
  // With two workers, each has the callers of one base.
  const lies = [otherBaseForSome(authorization => /[13579]$/.test(authorization))]
  const rpcOnly = { scenario: 'scenarios/rpc-only.yaml', workers }
  const { findings } = await judged({ ...rpcOnly, lies })
  expect(findings.join('\n')).toContain('rpc.credits.amount: ')
  expect((await judged(rpcOnly)).findings).toEqual([])
})

describe('a target that breaks what the document says about prices is named without a profile', () => {
  test.each(liars)('%s: $name', async (clause, liar) => {
    for (const serviceContract of [documentedContract, priced(() => 50, '2.5', true)]) {
      const { findings } = await judged({ serviceContract, lies: [liar] })
      expect(findings.join('\n')).toContain(`${clause}: `)
    }
  })
})
