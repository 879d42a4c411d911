import { describe, expect, test } from 'vitest'
import { contractSchema } from '../../../src/contract/contract.ts'
import { documentedContract } from '../../../src/contract/documented.ts'
import { parseProfile } from '../../../src/contract/profile.ts'
import { parseScenario } from '../../../src/scenario/load-scenario.ts'
import { knownLie } from '../../../src/service/lies/lies.ts'
import { virtualRun } from '../../support/virtual-run.ts'

const calls = {
  chat: 'kind: chat, stream: false, model-tier: XS, prompt-tokens: 9, max-completion-tokens: 8',
  stream: 'kind: chat, stream: true, model-tier: XS, prompt-tokens: 9, max-completion-tokens: 8',
  resource: 'kind: resource, resource: image',
}

const scenarioOf = (kind: keyof typeof calls, conflict: number) => `
name: keyed
callers: { count: 2, keys-per-caller: 2 }
calls:
  own: { ${calls[kind]} }
  again: { kind: replay, of: own, duplicates: 1, conflict-ratio: ${conflict}, other-key-ratio: 1, other-caller-ratio: 1 }
  race: { kind: replay, of: own, duplicates: 2, concurrent: true }
  later: { kind: replay, of: own, duplicates: 0, repeat-after: 3s }
  expired: { kind: replay, of: own, duplicates: 1, repeat-after: 8s }
stages:
  - { name: once, duration: 30s, shape: sequence, calls: [again, race, later, expired, again] }
budget: { usd: 5 }
`

async function clausesFound(profile: string, lies: readonly string[] = [], kind: keyof typeof calls = 'chat') {
  const contract = parseProfile(`idempotency: { calls: [rpc, ${kind}], ttlMs: 5000, ${profile} }`, 'p.yaml')
  const scenario = scenarioOf(kind, kind === 'resource' ? 0 : 1)
  const { report } = await virtualRun({ scenario, contract, lies: lies.map(knownLie) })
  return {
    report,
    messages: report.findings.map(({ clause, message }) => `${clause}: ${message}`),
    clauses: report.findings.map(({ clause }) => clause),
  }
}

const profiles = {
  'as the document marks RPC': 'concurrent: one-charge',
  'in headers of their own': 'header: X-Request-Key, replayHeader: X-Cache, replayValue: hit, conflict: [409, 422]',
  'by any value of a header': 'replayHeader: X-Original-Request, replayValue: null',
  'by a status': 'replayHeader: null, replayStatus: 208, conflict: [422]',
  'by the same bytes': 'replayHeader: null',
  'with a status while the first is in progress': 'concurrent: one-charge, inProgress: [409], conflict: [422]',
}

describe.each(Object.entries(profiles))('chat with replays %s', (_, profile) => {
  test.each(['chat', 'stream'] as const)('is accused of nothing if it keeps its promises of %s', async kind => {
    const { report, messages } = await clausesFound(profile, [], kind)
    expect(messages).toEqual([])
    expect(report.verdict, report.reasons.join('; ')).toBe('pass')
    expect(report.clauses.find(({ id }) => id === 'rpc.replay.body')?.judged).toBeGreaterThan(0)
  })

  test.each([
    ['rpc.replay.charge', 'replay-charged-again'],
    ['rpc.replay.conflict', 'conflict-runs'],
    ['rpc.replay.any-key', 'replays-by-api-key'],
    ['rpc.replay.expiry.kept', 'key-kept-for-a-second'],
  ])('%s finds that %s', async (clause, lie) => {
    expect((await clausesFound(profile, [lie])).clauses).toContain(clause)
  })
})

test.each([
  ['rpc.replay.body', 'replay-reformatted'],
  ['rpc.replay.header', 'replay-unmarked'],
  ['rpc.replay.per-user', 'keys-for-all'],
  ['rpc.replay.expiry.ends', 'key-never-expires'],
])('%s finds in chat that %s', async (clause, lie) => {
  expect((await clausesFound('concurrent: one-charge', [lie])).clauses).toContain(clause)
})

test.each([
  ['rpc.replay.body', 'stream-replay-lacks-a-word'],
  ['rpc.replay.header', 'keys-of-streams-ignored'],
  ['rpc.replay.charge', 'replay-charged-again'],
  ['rpc.replay.per-user', 'keys-for-all'],
  ['rpc.replay.expiry.ends', 'key-never-expires'],
])('%s finds in streams that %s', async (clause, lie) => {
  expect((await clausesFound('concurrent: one-charge', [lie], 'stream')).clauses).toContain(clause)
})

test('a resource has replays, too', async () => {
  expect((await clausesFound('', [], 'resource')).messages).toEqual([])
  expect((await clausesFound('', ['replays-by-api-key'], 'resource')).clauses).toContain('rpc.replay.any-key')
})

describe('a scenario may only repeat', () => {
  const mistakeOf =
    (of: string, profile: string, more = '') =>
    () =>
      parseScenario(
        `
name: a
callers: { count: 2 }
calls: { own: { ${of} }, again: { kind: replay, of: own${more} } }
stages: [{ name: s, duration: 1s, shape: constant, rate: 1, mix: { again: 1 } }]
`,
        's.yaml',
        parseProfile(profile, 'p.yaml'),
      )

  test.each([
    [calls.chat, '', '', 'expected the name of a call of the kind rpc or rpc-batch'],
    [
      calls.chat.replace('false', 'true'),
      'idempotency: { calls: [chat] }',
      '',
      'got "own", a stream, expected a chat call with',
    ],
    [
      calls.resource,
      'idempotency: { calls: [resource] }',
      ', conflict-ratio: 1',
      'since a resource has one valid body',
    ],
    ['kind: resource, resource: characters', 'idempotency: { calls: [resource] }', '', 'a GET, expected a resource'],
  ])('what the profile promises: %s with %s', (of, profile, more, mistake) => {
    expect(mistakeOf(of, profile, more)).toThrow(mistake)
  })
})

describe('a 500 to a key', () => {
  const run = (promised: 'kept' | 'forgotten' | null, done: 'kept' | 'forgotten') => {
    const of = (errors: typeof promised) => ({
      ...documentedContract,
      idempotency: { ...documentedContract.idempotency, calls: ['rpc', 'chat'] as const, errors },
    })
    return virtualRun({
      scenario: `
name: retries
callers: { count: 1 }
calls:
  rpc: { kind: rpc, network-family: evm, methods: { eth_chainId: 1 } }
  chat: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 20, max-completion-tokens: 8 }
  retry: { kind: replay, of: rpc, duplicates: 1 }
  retry-chat: { kind: replay, of: chat, duplicates: 1 }
stages: [{ name: once, duration: 60s, shape: sequence, calls: [12 x retry, 6 x retry-chat] }]
budget: { usd: 5 }
`,
      contract: contractSchema.parse(of(promised)),
      serviceContract: contractSchema.parse(of(done)),
      faults: [{ status: 500, probability: 0.3 }],
    })
  }

  test.each(['kept', 'forgotten'] as const)('is %s as the profile says, or nothing is said', async done => {
    for (const promised of [done, null]) {
      const { report } = await run(promised, done)
      expect(report.findings.map(({ clause, message }) => `${clause}: ${message}`)).toEqual([])
    }
  })

  test.each([
    ['kept', 'forgotten', 'a repeated key and body got a new response after a 500, expected the same error'],
    ['forgotten', 'kept', 'a 500 is repeated as a replay for its key and body, expected a new attempt'],
  ] as const)('should be %s and is %s', async (promised, done, message) => {
    const { report } = await run(promised, done)
    expect(report.findings.map(each => [each.clause, each.message])).toEqual([['rpc.replay.header', message]])
  })
})
