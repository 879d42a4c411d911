import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../src/contract/documented.ts'
import { parseProfile } from '../../src/contract/profile.ts'
import { todays } from '../support/nightly.ts'
import { virtualRun } from '../support/virtual-run.ts'
import { honestTransport } from './in-memory.ts'
import { judge, objections } from './judged.ts'
import { profileOf } from './service/profile.ts'
import { randomVariant, type Variant, variant } from './service/variant.ts'

const changes: readonly Partial<Variant>[] = [
  {},
  { limiter: 'gcra', limits: 'lower', rpc429: 'draft-and-one' },
  { abuseWords: 'spelled-out', abuseStatus: 403 },
  { charges: 'diem-first', balanceDecimals: 12 },
  { costMember: 'never' },
  { replayRequestId: 'new', replayCredits: 'zero' },
  // As written, the scenarios need the documented limit of the proxy.
  ...[201, 202, 203, 204].map(seed => ({
    ...randomVariant(seed, 0.2),
    networks: 'many' as const,
    rpcLimit: 100 as const,
  })),
]

describe.each([
  'rate-limit',
  'conformance',
  'abuse-block',
  'smoke',
  'billing',
  'idempotency',
  'conversations',
  'agents',
  'twins',
  'races',
  'hang-ups',
])('%s', scenario => {
  test.each(todays(changes, 2))('does not accuse the honest service: %j', async changes => {
    expect(
      await objections({ changes, scenario: `scenarios/${scenario}.yaml`, profile: 'none', asWritten: true }),
    ).toEqual([])
  })
})

describe('with an account that has little money', () => {
  test.each(todays(changes, 2))('races do not accuse the honest service: %j', async changes => {
    const scenario = 'scenarios/races.yaml'
    const found = await judge({
      changes,
      scenario,
      profile: 'none',
      settings: { openingUsd: 20_000_000 },
      asWritten: true,
    })
    expect(found.findings.filter(text => !text.startsWith('threshold: '))).toEqual([])
  })
})

test('tool calls in pieces have arguments that fit, if a profile promises that', async () => {
  const { report } = await virtualRun({
    scenario: 'scenarios/conformance.yaml',
    contract: { ...documentedContract, promises: { only: ['chat.json.arguments', 'catalogue.models'], except: [] } },
    target: {
      connect: clock => honestTransport(variant({}), {}, [], clock),
      environment: { TURNPIKE_KEYS: Array.from({ length: 16 }, (_, index) => `hk-c${index}-1`).join(',') },
    },
  })
  expect(report.findings).toEqual([])
  expect(report.clauses.find(({ id }) => id === 'chat.json.arguments')).toMatchObject({ judged: 2, verdict: 'pass' })
})

test.each([false, true])('replays of turns are not accused, if a profile promises them: stream %s', async stream => {
  const { report } = await virtualRun({
    scenario: `name: replayed
callers: { count: 16, keys-per-caller: 2 }
calls:
  talk:
    kind: conversation
    stream: ${stream}
    model-tier: S
    turns: 2 to 3
    user-tokens: 20
    max-completion-tokens: 20
    think: 500ms
    system-tokens: 1200
    replays: { ratio: 0.7, duplicates: 1, conflict-ratio: 0.3, other-key-ratio: 0.5, other-caller-ratio: 0.5 }
stages:
  - { name: steady, duration: 8s, mix: { talk: 1 }, shape: constant, rate: 2/s }
  - { name: end, duration: 8s, shape: pause }
budget: { usd: 1 }
`,
    contract: parseProfile(
      profileOf(variant({})).replace(/^rpc:/m, 'idempotency: { calls: [rpc, chat, stream] }\nrpc:'),
      'p.yaml',
    ),
    target: {
      connect: clock => honestTransport(variant({}), {}, [], clock),
      environment: {
        TURNPIKE_KEYS: Array.from({ length: 16 }, (_, index) => `hk-c${index}-1 hk-c${index}-2`).join(','),
      },
    },
  })
  expect(report.findings.map(({ clause, message }) => `${clause}: ${message}`)).toEqual([])
  const judged = (id: string) => report.clauses.find(clause => clause.id === id)?.judged
  for (const id of ['rpc.replay.body', 'rpc.replay.header', 'rpc.replay.any-key', 'rpc.replay.per-user'])
    expect(judged(id), id).toBeGreaterThan(2)
})
