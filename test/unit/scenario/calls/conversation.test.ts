import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { parseProfile } from '../../../../src/contract/profile.ts'
import { UsageError } from '../../../../src/lib/usage-error.ts'
import { traitsOf } from '../../../../src/scenario/calls/calls.ts'
import { resolvedTurnReplays } from '../../../../src/scenario/calls/replay.ts'
import { parseScenario } from '../../../../src/scenario/load-scenario.ts'

const scenarioOf = (talk: string) => `name: talking
callers: { count: 9 }
calls:
  talk: { kind: conversation, model-tier: S, ${talk} }
stages:
  - { name: steady, duration: 1s, shape: constant, rate: 1/s, mix: { talk: 1 } }
budget: { usd: 1 }
thresholds:
  - { expect: violations == 0, why: Test. }
`
const chatHasKeys = parseProfile('idempotency: { calls: [chat] }', 'p.yaml')
const lengths = 'turns: 3, user-tokens: 20, max-completion-tokens: 40'

function mistakeIn(talk: string): string {
  try {
    parseScenario(scenarioOf(talk), 's.yaml', documentedContract)
  } catch (mistake) {
    if (mistake instanceof UsageError) return mistake.message
    throw mistake
  }
  return 'none'
}

function callOf(talk: string) {
  const { talk: call } = parseScenario(scenarioOf(talk), 's.yaml', documentedContract).calls
  if (call?.kind !== 'conversation') throw new Error('no conversation')
  return call
}

describe('a mistake is reported with its place', () => {
  test.each([
    [
      'turns: 0, user-tokens: 20, max-completion-tokens: 40',
      's.yaml:4:',
      'got 0, expected a whole number from 1 to 1000',
    ],
    ['turns: 5 to 2, user-tokens: 20, max-completion-tokens: 40', 's.yaml:4:', 'got "5 to 2", expected a whole number'],
    ['turns: 1 to 2 to 3, user-tokens: 20, max-completion-tokens: 40', 's.yaml:4:', 'or a range such as 2 to 4'],
    ['turns: some, user-tokens: 20, max-completion-tokens: 40', 's.yaml:4:', 'got "some", expected a whole number'],
    ['user-tokens: 20, max-completion-tokens: 40', 's.yaml:4:', 'turns'],
    [`${lengths}, think: 2`, 's.yaml:4:', 'expected a duration of at most 168h, or a range such as 1s to 4s'],
    [`${lengths}, think: 4s to 1s`, 's.yaml:4:', 'got "4s to 1s"'],
    [`${lengths}, history: none`, 's.yaml:4:', 'expected target or synthetic'],
    [`${lengths}, after-429: retry`, 's.yaml:4:', 'expected go-on or give-up'],
    [`${lengths}, own-system-ratio: 2`, 's.yaml:4:', 'expected a probability from 0 to 1'],
    [`${lengths}, cache: hot`, 's.yaml:4:', 'expected warm or cold'],
    [
      `${lengths}, cache: cold`,
      's.yaml:4:',
      'got cold with 0 system-tokens, expected "system-tokens" of at least 16, which are new in each turn',
    ],
    [`${lengths}, session-header: "a b"`, 's.yaml:4:', 'expected the name of a header'],
    ['turns: 3, user-tokens: 20, max-completion-tokens: 1 to 900000', 's.yaml:4:', 'the maximum of ref-small-24b'],
    [`${lengths}, tools: { ratio: 0.5 }`, 's.yaml:4:', 'result-tokens'],
    [`${lengths}, tools: { result-tokens: 0 }`, 's.yaml:4:', 'got 0, expected a whole number from 1 to 100000'],
    [`${lengths}, tools: { result-tokens: 9, time: 2 }`, 's.yaml:4:', 'expected a duration of at most 168h'],
    [`${lengths}, tools: 3`, 's.yaml:4:', 'got 3, expected a mapping'],
    [`${lengths}, branches: { turns: 2 }`, 's.yaml:4:', 'count'],
    [`${lengths}, branches: { count: 101, turns: 2 }`, 's.yaml:4:', 'got 101, expected a whole number from 1 to 100'],
    [
      `${lengths}, stream: false, replays: { ratio: 1 }`,
      's.yaml:4:',
      'got replays of chat, and idempotency.calls of the profile is [rpc]',
    ],
    [
      `${lengths}, stream: false, replays: { ratio: 1 }`,
      's.yaml:4:',
      'expected no replays, or a profile whose idempotency.calls has chat',
    ],
    [`${lengths}, replays: { ratio: 2 }`, 's.yaml:4:', 'expected a probability from 0 to 1'],
    [`${lengths}, replays: { duplicates: 0 }`, 's.yaml:4:', 'got 0, expected a whole number from 1 to 20'],
    [`${lengths}, replays: { conflict-ratio: 2 }`, 's.yaml:4:', 'expected a probability from 0 to 1'],
    [`${lengths}, replays: { other-key-ratio: 0.5 }`, 's.yaml:4:', '0, since "keys-per-caller" of "callers" is 1'],
    [`${lengths}, replays: { other-caller-ratio: 2 }`, 's.yaml:4:', 'expected a probability from 0 to 1'],
    [`${lengths}, model: nope`, 's.yaml:4:', 'either "model" or "model-tier"'],
  ])('%s', (talk, place, text) => {
    expect(mistakeIn(talk)).toContain(place)
    expect(mistakeIn(talk)).toContain(text)
  })

  test('a saturate stage and a search for the capacity take no conversation', () => {
    const stage = (shape: string) => scenarioOf(lengths).replace('shape: constant, rate: 1/s', shape)
    for (const shape of [
      'shape: saturate, connections: 1, max-calls: 5',
      'shape: capacity, from: 1/s, to: 2/s, good-ratio: 90%',
    ])
      expect(() => parseScenario(stage(shape), 's.yaml', documentedContract)).toThrow(/talk/)
  })
})

describe('a session', () => {
  test('costs what its turns cost, each with all of the earlier ones', () => {
    const [one, two] = [1, 2].map(
      turns => traitsOf(callOf(`turns: ${turns}, user-tokens: 100, max-completion-tokens: 200`)).cost,
    )
    const [first, both] = [one, two].map(cost => cost?.arrivals(1, documentedContract) ?? 0n)
    const second = two?.maxRequest(documentedContract) ?? 0n
    // The second turn has the first one before it: 300 tokens at $0.5 per million.
    expect((both ?? 0n) - (first ?? 0n)).toBeGreaterThan((first ?? 0n) + 150_000_000n)
    expect(second).toBeGreaterThanOrEqual((both ?? 0n) - (first ?? 0n))
  })

  test('costs what its branches cost, too', () => {
    const traits = traitsOf(callOf(`${lengths}, branches: { ratio: 0.5, count: 2 to 4, turns: 1 to 3 }`))
    // Two of three turns may have branches.
    expect(traits.cost.maxCharged).toBe(3 + 2 * 4 * 3)
    expect(traits.requests).toBe(3 + 2 * 0.5 * 3 * 2)
    expect(traits.limits[0]?.amount).toBe(9)
    expect(traits.requestsAtOnce).toBe(4)
    const without = traitsOf(callOf(lengths)).cost.arrivals(1, documentedContract) ?? 0n
    const longest = traits.cost.maxRequest(documentedContract) ?? 0n
    const all = traits.cost.arrivals(1, documentedContract) ?? 0n
    expect(all).toBeGreaterThan(without * 4n)
    expect(all).toBeLessThan(longest * 27n)
    const never = traitsOf(callOf(`${lengths}, branches: { ratio: 0, count: 4, turns: 3 }`))
    expect(never.cost.arrivals(1, documentedContract)).toBe(without)
  })

  test('has a place for its replays in limits and counts, but not in its cost', () => {
    const withReplays = parseScenario(
      scenarioOf(`${lengths}, stream: false, replays: { ratio: 0.5, duplicates: 2 }`),
      's.yaml',
      chatHasKeys,
    ).calls.talk
    if (withReplays === undefined) throw new Error('no conversation')
    const [without, traits] = [traitsOf(callOf(`${lengths}, stream: false`)), traitsOf(withReplays)]
    expect([traits.requests, traits.limits[0]?.amount, traits.cost.maxCharged]).toEqual([6, 6, 9])
    expect(traits.limits[1]?.amount).toBe(2 * (without.limits[1]?.amount ?? 0))
    expect(traits.cost.arrivals(1, documentedContract)).toBe(without.cost.arrivals(1, documentedContract))
    expect([without, traits].map(({ judges }) => judges([]).includes('idempotency'))).toEqual([false, true])
  })

  test('counts its conflicts as refusals, and a place for each further replay', () => {
    const replays = 'replays: { ratio: 0.5, conflict-ratio: 0.5, other-key-ratio: 0.25, other-caller-ratio: 0.5 }'
    const twoKeys = scenarioOf(`${lengths}, stream: false, ${replays}`).replace(
      'count: 9',
      'count: 9, keys-per-caller: 2',
    )
    const { talk } = parseScenario(twoKeys, 's.yaml', chatHasKeys).calls
    if (talk === undefined) throw new Error('no conversation')
    const { requests, samples, refusals, cost, usesOtherCallers } = traitsOf(talk)
    expect([requests, cost.maxCharged]).toEqual([3 * (1 + 0.5 * 2.25), 15])
    expect([refusals(documentedContract), samples(documentedContract)]).toEqual([0.75, 3 * 2.125 - 0.75])
    // The other caller pays for a quarter of the turns again.
    const without = traitsOf(callOf(`${lengths}, stream: false`)).cost.arrivals(8, documentedContract) ?? 0n
    expect(cost.arrivals(8, documentedContract)).toBe((without * 5n) / 4n)
    expect(usesOtherCallers).toBe(true)
  })

  test('has no other caller to repeat its turns if there is one alone', () => {
    const alone = scenarioOf(`${lengths}, stream: false, replays: { other-caller-ratio: 0.5 }`).replace(
      'count: 9',
      'count: 1',
    )
    const load = () => parseScenario(alone, 's.yaml', chatHasKeys)
    expect(load).toThrow('got 0.5, expected 0, since there is only 1 caller')
  })

  test('has replays of streams only if the profile promises them', () => {
    const load = (profile: typeof chatHasKeys) =>
      parseScenario(scenarioOf(`${lengths}, replays: { ratio: 1 }`), 's.yaml', profile)
    expect(() => load(chatHasKeys)).toThrow(
      'got replays of streams, and idempotency.calls of the profile is [chat], expected no replays, "stream: false", or a profile whose idempotency.calls has stream',
    )
    expect(load(parseProfile('idempotency: { calls: [stream] }', 'p.yaml')).calls.talk).toMatchObject({ stream: true })
  })

  test('may have results of tools in place of texts of the user', () => {
    const [without, short, long] = ['', ', tools: { result-tokens: 20 }', ', tools: { result-tokens: 1000 }']
      .map(tools => traitsOf(callOf(`${lengths}${tools}`)))
      .map(({ cost, limits }) => ({ pico: cost.arrivals(1, documentedContract) ?? 0n, tokens: limits[1]?.amount ?? 0 }))
    // The definition of the tool is part of each prompt.
    expect(short?.pico).toBeGreaterThan(without?.pico ?? 0n)
    expect(short?.tokens).toBe(without?.tokens)
    expect(long?.pico).toBeGreaterThan((short?.pico ?? 0n) + 3n * 980n * 500_000n)
    expect(long?.tokens).toBeGreaterThan((short?.tokens ?? 0) + 3 * 980)
  })

  test('may cost as much as its longest form, and is expected to be as long as the mean', () => {
    const drawn = traitsOf(callOf('turns: 2 to 6, user-tokens: 10 to 30, max-completion-tokens: 20 to 60'))
    const longest = traitsOf(callOf('turns: 6, user-tokens: 30, max-completion-tokens: 60'))
    expect(drawn.cost.arrivals(10, documentedContract)).toBe(longest.cost.arrivals(10, documentedContract))
    expect(drawn.cost.maxCharged).toBe(6)
    expect(drawn.requests).toBe(4)
    const [requests, tokens] = drawn.limits.map(({ amount }) => amount)
    expect(requests).toBe(4)
    // Four turns of 20 and 40 tokens, with 0 to 3 earlier ones.
    expect(tokens).toBeGreaterThan(4 * 60 + (0 + 1 + 2 + 3) * 60)
  })
})

test('a recorded plan without the newer replays of turns can be read', () => {
  expect(resolvedTurnReplays.parse({ ratio: 1, duplicates: 2 })).toEqual({
    ...{ ratio: 1, duplicates: 2 },
    ...{ conflictRatio: 0, otherKeyRatio: 0, otherCallerRatio: 0 },
  })
})
