import { beforeAll, describe, expect, test } from 'vitest'
import type { Contract } from '../../src/contract/contract.ts'
import { parseProfile } from '../../src/contract/profile.ts'
import type { ChatDescriptor } from '../../src/observation/requests/chat.ts'
import { plannedRequests } from '../../src/produce/arrivals/planned-requests.ts'
import { knownLie } from '../../src/service/lies/lies.ts'
import { virtualRun } from '../support/virtual-run.ts'

const promised = (more = '') => parseProfile(`idempotency: { calls: [rpc, chat, stream]${more} }`, 'p.yaml')

const scenarioOf = (replays: string, more = '', stream = false) => `name: replayed
callers: { count: 40, keys-per-caller: 2 }
calls:
  talk:
    kind: conversation
    stream: ${stream}
    model-tier: S
    turns: 2 to 4
    user-tokens: 20 to 60
    max-completion-tokens: 40
    think: 100ms to 3s
    system-tokens: 1200
    replays: ${replays}
    ${more}
stages:
  - { name: steady, duration: 6s, mix: { talk: 1 }, shape: constant, rate: 2/s }
  - { name: end, duration: 20s, shape: pause }
budget: { usd: 1 }
thresholds:
  - { expect: violations == 0, why: Test. }
  - { expect: discrepancies == 0, why: Test. }
`

type Run = Awaited<ReturnType<typeof virtualRun>>
const runOf = (scenario: string, contract: Contract, lies: readonly string[] = []) =>
  virtualRun({ scenario, contract, lies: lies.map(knownLie) })

/** The turns of a run with their replays. */
function turnsIn({ observations }: Run) {
  const chats = observations.flatMap(of =>
    of.request.kind === 'chat' && of.request.turn ? [{ of, at: of.request }] : [],
  )
  const isReplay = ({ replay }: ChatDescriptor) => replay !== undefined && replay.role !== 'original'
  return chats
    .filter(({ at }) => !isReplay(at))
    .map(turn => ({
      ...turn,
      replays: chats.filter(({ at }) => isReplay(at) && at.replay?.group === turn.of.id).map(({ of }) => of),
    }))
}

const marks = {
  'by a header': '',
  'by a status': ', replayHeader: null, replayStatus: 208',
  'by the same bytes': ', replayHeader: null',
}

const forms = Object.entries(marks).flatMap(([name, mark]) => [
  { form: 'whole answers', name, mark, stream: false },
  { form: 'streams', name, mark, stream: true },
])

describe.each(forms)('a conversation with replays of $form, marked $name', ({ mark, stream }) => {
  test.each([
    ['{ ratio: 0.4 }', ''],
    ['{ duplicates: 2 }', 'branches: { ratio: 0.5, count: 2, turns: 1 to 2 }'],
    ['{ ratio: 0.5 }', 'tools: { ratio: 0.5, result-tokens: 30 }'],
    ['{ ratio: 0.5, conflict-ratio: 0.4, other-key-ratio: 0.4 }', 'branches: { ratio: 0.5, count: 2, turns: 1 to 2 }'],
    ['{ ratio: 0.5, other-caller-ratio: 0.6, conflict-ratio: 0.3 }', 'tools: { ratio: 0.5, result-tokens: 30 }'],
    ['{ other-caller-ratio: 1 }', 'cache: cold'],
  ])('passes on an honest service: %s %s', async (replays, more) => {
    const { report } = await runOf(scenarioOf(replays, more, stream), promised(mark))
    expect(report.findings.map(({ clause, message }) => `${clause}: ${message}`)).toEqual([])
    expect(report.verdict, report.reasons.join('; ')).toBe('pass')
    expect(report.clauses.find(({ id }) => id === 'rpc.replay.body')?.judged).toBeGreaterThan(0)
  })
})

describe('the replays of a conversation', () => {
  const scenario = scenarioOf('{ ratio: 0.5, duplicates: 2 }', 'branches: { ratio: 0.5, count: 2, turns: 1 to 2 }')
  let run: Run
  let turns: ReturnType<typeof turnsIn> = []
  beforeAll(async () => {
    run = await virtualRun({ scenario, contract: promised(), workers: 2 })
    turns = turnsIn(run)
  })

  test('are of a share of the turns, and come one after another when the answer has come', () => {
    const replayed = turns.filter(({ replays }) => replays.length > 0)
    expect(replayed.length / turns.length).toBeGreaterThan(0.3)
    expect(replayed.length / turns.length).toBeLessThan(0.7)
    for (const { of, replays } of replayed) {
      expect(replays).toHaveLength(2)
      const times = [of, ...replays.toSorted((a, b) => a.id - b.id)]
      for (const [at, { sentMs }] of times.entries())
        if (at > 0) expect(sentMs).toBeGreaterThanOrEqual(times[at - 1]?.endMs ?? Number.NaN)
    }
  })

  test('have the numbers after that of their turn, so that an audit gets them together', () => {
    for (const { of, replays } of turns)
      expect(replays.map(({ seq }) => seq).toSorted((a, b) => a - b)).toEqual(replays.map((_, at) => of.seq + 1 + at))
    const ids = run.observations.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('are no rows of the table, and end no session', () => {
    const [conversation] = run.report.conversations
    expect(conversation).toMatchObject({ started: 12, finished: 12, gaveUp: 0 })
    expect(conversation?.turns.reduce((sum, { sent }) => sum + sent, 0)).toBe(turns.length)
    expect(Number(conversation?.claimedUsd)).toBeCloseTo(Number(run.report.billing.claimedUsd), 9)
  })

  test('are planned with the ids and the keys that they have', () => {
    const planned = new Map([...plannedRequests(run.plan, true)].map(each => [each.id, each]))
    for (const { of, at, replays } of turns)
      for (const each of [of, ...replays]) {
        const { number, turns: all } = (each.request as ChatDescriptor).turn ?? at.turn ?? { number: -1, turns: -1 }
        const group = replays.length === 0 ? {} : { group: of.id }
        expect(planned.get(each.id)?.turn).toEqual({ number, turns: all, ...group })
      }
  })

  test('are the same with one worker', async () => {
    const alone = turnsIn(await virtualRun({ scenario, contract: promised() }))
    const placesOf = (all: typeof turns) =>
      new Set(all.map(({ of, replays }) => `${of.id} ${replays.map(({ id }) => id)}`))
    expect(placesOf(alone)).toEqual(placesOf(turns))
  })
})

test('conflicts and replays with another API key follow the duplicates, and are planned as they are sent', async () => {
  const scenario = scenarioOf('{ ratio: 0.6, conflict-ratio: 0.3, other-key-ratio: 0.6 }')
  const run = await virtualRun({ scenario, contract: promised(), workers: 2 })
  expect(run.report.findings).toEqual([])
  const judged = (id: string) => run.report.clauses.find(clause => clause.id === id)?.judged
  expect(judged('rpc.replay.conflict')).toBeGreaterThan(2)
  expect(judged('rpc.replay.any-key')).toBeGreaterThan(5)
  const planned = new Map([...plannedRequests(run.plan, true)].map(each => [each.id, each]))
  const seen = { 'other-key': 0, conflict: 0 }
  for (const { of, replays } of turnsIn(run)) {
    const roles = replays.toSorted((a, b) => a.id - b.id).map(({ request }) => (request as ChatDescriptor).replay?.role)
    if (roles.length > 0) expect(roles[0]).toBe('duplicate')
    for (const [at, role] of roles.slice(1).entries()) {
      if (role !== 'other-key' && role !== 'conflict') throw new Error(`an unexpected ${role}`)
      seen[role]++
      expect(role === 'conflict' || at === 0).toBe(true)
    }
    for (const { id } of replays) expect(planned.get(id)?.turn).toMatchObject({ group: of.id })
    for (const { request, outcome } of replays) {
      const isConflict = (request as ChatDescriptor).replay?.role === 'conflict'
      expect(outcome).toEqual({ kind: 'answered', status: isConflict ? 400 : 200 })
    }
  }
  expect(seen.conflict).toBeGreaterThan(2)
  expect(seen['other-key']).toBeGreaterThan(5)
})

describe('another caller that sends the key and body of a turn', () => {
  const others = '{ ratio: 0.6, other-caller-ratio: 0.7 }'
  const perUser = ({ report }: Run) => report.clauses.find(({ id }) => id === 'rpc.replay.per-user')

  test('comes last, from the other of its pair, and is neither a row of the table nor of the session', async () => {
    const run = await virtualRun({ scenario: scenarioOf(others), contract: promised(), workers: 2 })
    expect(run.report.findings).toEqual([])
    expect(run.report.verdict, run.report.reasons.join('; ')).toBe('pass')
    expect(perUser(run)?.judged).toBeGreaterThan(5)
    const turns = turnsIn(run)
    const planned = new Map([...plannedRequests(run.plan, true)].map(each => [each.id, each]))
    const { names } = run.plan.callers
    let seen = 0
    for (const { of, replays } of turns)
      for (const each of replays) {
        expect(planned.get(each.id)).toMatchObject({ caller: each.caller, key: each.key, turn: { group: of.id } })
        if ((each.request as ChatDescriptor).replay?.role !== 'other-caller') continue
        seen++
        expect(names.indexOf(each.caller)).toBe(names.indexOf(of.caller) ^ 1)
        expect(each.seq).toBe(of.seq + replays.length)
      }
    expect(seen).toBe(perUser(run)?.judged)
    const [conversation] = run.report.conversations
    expect(conversation?.turns.reduce((sum, { sent }) => sum + sent, 0)).toBe(turns.length)
    expect(conversation).toMatchObject({ started: 12, finished: 12 })
    expect(Number(conversation?.claimedUsd)).toBeLessThan(Number(run.report.billing.claimedUsd))
  })

  test.each(['keys-for-all', 'keys-by-tier'])('shows %s', async lie => {
    const run = await runOf(scenarioOf(others), promised(), [lie])
    expect(perUser(run)?.violated).toBeGreaterThan(0)
    expect(run.report.findings.map(({ clause }) => clause)).toEqual(['rpc.replay.per-user'])
  })

  test('is left out if there is one key alone, and the report says so', async () => {
    const scenario = scenarioOf('{ ratio: 0.6, other-caller-ratio: 0.7, other-key-ratio: 0.5 }')
    const run = await virtualRun({ scenario, contract: promised(), keys: [1] })
    expect(run.report.findings).toEqual([])
    const roles = run.observations.map(({ request }) => request.kind === 'chat' && request.replay?.role)
    expect(new Set(roles)).toEqual(new Set([false, undefined, 'original', 'duplicate']))
    expect(run.plan.fewerKeys?.leftOut).toEqual(
      expect.arrayContaining(['requests of other callers', 'requests with 2 keys of an account']),
    )
    expect(perUser(run)?.judged).toBe(0)
  })
})

test('turns without an answer are not sent again, and what is left out is not counted as dropped', async () => {
  const run = await virtualRun({
    scenario: scenarioOf('{ ratio: 1 }', 'after-failure: go-on'),
    contract: promised(),
    faults: [{ status: 503, probability: 0.3 }],
  })
  expect(run.report.findings).toEqual([])
  expect(run.report.load.dropped).toBe(0)
  const turns = turnsIn(run)
  const failed = turns.filter(({ of }) => of.outcome.kind === 'answered' && of.outcome.status === 503)
  expect(failed.length).toBeGreaterThan(3)
  for (const { replays } of failed)
    expect(replays.map(({ outcome }) => outcome)).toEqual([{ kind: 'dropped', reason: 'no-response' }])
})

describe('a lie about replays is accused', () => {
  test.each([
    ['rpc.replay.charge', 'replay-charged-again'],
    ['rpc.replay.charge', 'replay-charged-a-little'],
    ['rpc.replay.header', 'key-of-the-conversation'],
    ['rpc.replay.header', 'replay-unmarked'],
    ['rpc.replay.header', 'replay-marked-with-one'],
    ['rpc.replay.body', 'replay-reformatted'],
    ['rpc.replay.body', 'replay-of-an-earlier-turn'],
  ])('%s: %s', async (clause, lie) => {
    const { report } = await runOf(scenarioOf('{ ratio: 0.6 }'), promised(), [lie])
    const declared = [clause, ...knownLie(lie).alsoViolates]
    expect(report.findings.map(each => each.clause)).toContain(clause)
    expect(declared).toEqual(expect.arrayContaining(report.findings.map(each => each.clause)))
    expect(report.verdict).toBe('fail')
  })

  test.each([
    ['rpc.replay.charge', 'replay-charged-again'],
    ['rpc.replay.header', 'key-of-the-conversation'],
    ['rpc.replay.header', 'replay-unmarked'],
    ['rpc.replay.header', 'keys-of-streams-ignored'],
    ['rpc.replay.body', 'replay-of-an-earlier-turn'],
    ['rpc.replay.body', 'stream-replay-lacks-a-word'],
    ['rpc.replay.body', 'replay-runs-again'],
    ['rpc.replay.conflict', 'conflict-from-cache'],
    ['rpc.replay.per-user', 'keys-for-all'],
  ])('%s: %s in streams', async (clause, lie) => {
    const replays = '{ ratio: 0.6, conflict-ratio: 0.3, other-caller-ratio: 0.3 }'
    const { report } = await runOf(scenarioOf(replays, '', true), promised(), [lie])
    expect(report.findings.map(each => each.clause)).toContain(clause)
    expect(report.verdict).toBe('fail')
  })

  test.each([
    ['rpc.replay.conflict', 'conflict-from-cache'],
    ['rpc.replay.conflict', 'conflict-runs'],
    ['rpc.replay.any-key', 'replays-by-api-key'],
  ])('%s: %s, with conflicts and other keys', async (clause, lie) => {
    const { report } = await runOf(
      scenarioOf('{ ratio: 0.6, conflict-ratio: 0.5, other-key-ratio: 0.5 }'),
      promised(),
      [lie],
    )
    expect(report.findings.map(each => each.clause)).toContain(clause)
  })

  test('rpc.replay.body: replay-runs-again, which may also change a count of tokens', async () => {
    const { report } = await runOf(scenarioOf('{ ratio: 1 }'), promised(), ['replay-runs-again'])
    expect(report.findings.map(each => each.clause)).toContain('rpc.replay.body')
  })

  test.each(['replay-of-an-earlier-turn', 'key-of-the-conversation'])('only a session shows %s', async lie => {
    const single = `name: single
callers: { count: 1 }
calls:
  own: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 20, max-completion-tokens: 8 }
  again: { kind: replay, of: own, duplicates: 2 }
stages: [{ name: once, duration: 30s, shape: sequence, calls: [6 x again] }]
budget: { usd: 1 }
`
    expect((await runOf(single, promised(), [lie])).report.findings).toEqual([])
  })
})
