import { beforeAll, describe, expect, test } from 'vitest'
import { createJudge } from '../../../src/judge/judge.ts'
import { createTurnFold } from '../../../src/judge/metrics/turns.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import { requestTraits } from '../../../src/observation/requests/request.ts'
import type { TurnDescriptor } from '../../../src/observation/requests/traits.ts'
import { lie } from '../../../src/service/lies/lie.ts'
import { lies } from '../../../src/service/lies/lies.ts'
import { type VirtualRun, virtualRun } from '../../support/virtual-run.ts'

const scenarioOf = (stage: string, more = '') => `name: talking
callers: { count: 4 }
calls:
  talk:
    kind: conversation
    model-tier: S
    turns: 2 to 5
    user-tokens: 20 to 60
    max-completion-tokens: 40
    think: 1s to 3s
    system-tokens: 1200
    ${more}
stages:
  - { name: steady, duration: 10s, mix: { talk: 1 }, ${stage} }
budget: { usd: 1 }
thresholds:
  - { expect: violations == 0, why: Test. }
`
const open = 'shape: constant, rate: 1/s'

type Turn = { readonly turn: TurnDescriptor; readonly of: Observation }

/** The sessions of a run, each with its turns in order. */
function sessionsIn(observations: readonly Observation[]): readonly (readonly Turn[])[] {
  const turns = observations.flatMap(of => {
    const turn = requestTraits(of.request).turn(of.request)
    return turn === null ? [] : [{ turn, of }]
  })
  return [...new Set(turns.map(({ turn }) => turn.session))].map(session =>
    turns.filter(({ turn }) => turn.session === session).toSorted((a, b) => a.turn.number - b.turn.number),
  )
}

type Run = Awaited<ReturnType<typeof virtualRun>>

describe('sessions that arrive by themselves', () => {
  let run: Run
  let sessions: readonly (readonly Turn[])[] = []
  beforeAll(async () => {
    run = await virtualRun({ scenario: scenarioOf(open), workers: 2 })
    sessions = sessionsIn(run.observations)
  })

  test('pass on an honest service', () => {
    expect(run.report.findings).toEqual([])
    expect(run.report.verdict).toBe('pass')
  })

  test('start on time, whatever earlier sessions do, and have all of their turns', () => {
    const starts = sessions.map(([first]) => first?.of.dueMs ?? 0).toSorted((a, b) => a - b)
    expect(starts.map(ms => ms - (starts[0] ?? 0))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(s => s * 1_000))
    expect(sessions.map(({ length }) => length)).toEqual(sessions.map(([first]) => first?.turn.turns))
    expect(new Set(sessions.map(({ length }) => length)).size).toBeGreaterThan(1)
  })

  test('have each turn due when its think time ends, and send it then', () => {
    for (const session of sessions)
      for (const [index, { of }] of session.entries()) {
        const before = session[index - 1]?.of.endMs ?? null
        if (before !== null) expect(of.dueMs - before).toBeGreaterThanOrEqual(1_000)
        if (before !== null) expect(of.dueMs - before).toBeLessThanOrEqual(3_001)
        expect(of.sentMs).toBe(of.dueMs)
        expect(of.caller).toBe(session[0]?.of.caller)
      }
  })

  test('have different ids', () => {
    const ids = run.observations.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('are counted by turn: what the target states, and what a cache can have at most', () => {
    const [conversation] = run.report.conversations
    expect(conversation).toMatchObject({ call: 'talk', started: 10, finished: 10, gaveUp: 0 })
    const turns = conversation?.turns ?? []
    expect(turns.map(({ turn, sent }) => [turn, sent])).toEqual(
      [1, 2, 3, 4, 5].map(turn => [turn, sessions.filter(({ length }) => length >= turn).length]),
    )
    expect(turns.every(({ cachedTokens, cacheableTokens }) => cachedTokens <= cacheableTokens)).toBe(true)
    const [first, second] = turns
    // Each later turn finds all that came before it.
    expect(second?.hits).toBe(second?.sent)
    expect(first?.hits).toBeLessThan(first?.sent ?? 0)
    expect(Number(conversation?.claimedUsd)).toBeCloseTo(Number(run.report.billing.claimedUsd), 9)
    // $0.5 per million tokens, and what the list asks for those of a cache.
    const cached = turns.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0)
    const { cacheInput } = run.contract.models.find(({ id }) => id === 'ref-small-24b')?.usdPerMillion ?? {}
    const saved = (cached * (0.5 - Number(cacheInput))) / 1_000_000
    expect(Number(conversation?.uncachedUsd) - Number(conversation?.claimedUsd)).toBeCloseTo(saved, 9)
    expect(conversation?.hitTtftMs.count).toBe(turns.reduce((sum, { hits }) => sum + hits, 0))
    expect(turns.map(({ hitTtftMs, missTtftMs }) => [hitTtftMs?.count, missTtftMs?.count])).toEqual(
      turns.map(({ hits, answered }) => [hits, answered - hits]),
    )
    expect(conversation?.missTtftMs.count).toBe((first?.sent ?? 0) - (first?.hits ?? 0))
  })

  test('are judged the same from their record', () => {
    const judge = createJudge(run.plan, run.contract, run.head)
    for (const each of JSON.parse(JSON.stringify(run.observations))) judge.add(each)
    const fold = createTurnFold(run.plan)
    fold.merge(judge.finish(true).turns)
    expect(fold.results()).toEqual(run.report.conversations)
  })
})

test('the requests of a worker are numbered in the order of sending, without gaps', async () => {
  const { observations } = await virtualRun({ scenario: scenarioOf(open) })
  const bySeq = observations.filter(({ stage }) => stage === 'steady').toSorted((a, b) => a.seq - b.seq)
  expect(observations.map(({ seq }) => seq).toSorted((a, b) => a - b)).toEqual([...observations.keys()])
  const sent = bySeq.map(({ sentMs }) => sentMs ?? 0)
  expect(sent).toEqual(sent.toSorted((a, b) => a - b))
})

test('a fixed number of sessions: each user begins the next one after the last turn', async () => {
  const { observations, report } = await virtualRun({
    scenario: scenarioOf('shape: closed, users: 3, think: 500ms'),
  })
  expect(report.verdict).toBe('pass')
  const sessions = sessionsIn(observations)
  const spans = sessions.map(each => ({ from: each[0]?.of.dueMs ?? 0, to: each.at(-1)?.of.endMs ?? 0 }))
  const most = Math.max(...spans.map(({ from }) => spans.filter(each => each.from <= from && from < each.to).length))
  expect(most).toBe(3)
  expect(sessions.length).toBeGreaterThan(3)
  const starts = spans.map(({ from }) => from).toSorted((a, b) => a - b)
  for (const from of starts.slice(3)) expect(spans.map(({ to }) => from - to)).toContainEqual(expect.closeTo(500, 2))
})

test('a closed stage plans no more sessions than the think times allow', async () => {
  const scenario = scenarioOf('shape: closed, users: 3').replace('1s to 3s', '4s')
  const { plan, observations } = await virtualRun({ scenario })
  // At least two turns, and so 4 s for each session: 3 users in 10 s.
  const planned = plan.forecast.requests / 3.5
  expect(planned).toBeCloseTo(7.5, 0)
  expect(sessionsIn(observations).length).toBeLessThanOrEqual(planned + 3)
})

describe('sessions that call tools', () => {
  test.each(['true', 'false'])('pass on a service that checks the ids of results, stream: %s', async stream => {
    const tools = `stream: ${stream}\n    tools: { ratio: 0.6, result-tokens: 30 to 90, time: 100ms to 300ms }`
    const { report } = await virtualRun({ scenario: scenarioOf(open, tools) })
    expect(report.findings).toEqual([])
    expect(report.verdict).toBe('pass')
    const [conversation] = report.conversations
    expect(conversation).toMatchObject({ started: 10, finished: 10 })
    const turns = conversation?.turns ?? []
    const called = turns.reduce((sum, { toolCalls }) => sum + toolCalls, 0)
    const others = turns.reduce((sum, { answered }) => sum + answered, 0) - 10
    expect(called / others).toBeGreaterThan(0.4)
    expect(called / others).toBeLessThan(0.8)
    expect(turns.every(({ cachedTokens, cacheableTokens }) => cachedTokens <= cacheableTokens)).toBe(true)
  })

  test.each(['tool-calls-lost', 'tool-calls-not-streamed'])('find the lie %s', async name => {
    const told = lies['chat.choice.tool-calls'].filter(lie => lie.name === name)
    const tools = `stream: ${name === 'tool-calls-not-streamed'}\n    tools: { result-tokens: 30 }`
    const { report } = await virtualRun({ scenario: scenarioOf(open, tools), lies: told })
    expect(report.findings.map(each => each.clause)).toEqual(['chat.choice.tool-calls'])
    // Without the call there is nothing to have a result for, so the user goes on.
    expect(report.conversations[0]?.finished).toBe(10)
  })
})

describe('sessions with branches', () => {
  const branches =
    'branches: { ratio: 0.5, count: 2 to 3, turns: 1 to 2 }\n    tools: { ratio: 0.5, result-tokens: 30 }'
  const forking = scenarioOf(open, branches).replace('count: 4', 'count: 12')
  let run: Run
  beforeAll(async () => {
    run = await virtualRun({ scenario: forking, workers: 2 })
  })

  test('pass on an honest service, and finish', () => {
    expect(run.report.findings).toEqual([])
    expect(run.report.verdict).toBe('pass')
    expect(run.report.conversations[0]).toMatchObject({ started: 10, finished: 10, gaveUp: 0 })
  })

  test('have rows of their own in the report', () => {
    const turns = run.report.conversations[0]?.turns ?? []
    const inMain = turns.filter(({ isBranch }) => !isBranch)
    const inBranch = turns.filter(({ isBranch }) => isBranch)
    expect(inMain.map(({ turn, sent }) => [turn, sent])[0]).toEqual([1, 10])
    expect(inBranch.map(({ turn }) => turn)).toEqual([1, 2])
    expect(turns.reduce((sum, { sent }) => sum + sent, 0)).toBe(sessionsIn(run.observations).flat().length)
    // A branch finds the history that it shares.
    expect(inBranch[0]?.hits).toBe(inBranch[0]?.sent)
  })

  test('send branches at once, with ids of their own', () => {
    const ids = run.observations.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const overlaps = sessionsIn(run.observations).filter(session =>
      session.some(({ of, turn }) =>
        session.some(
          other => turn.number < other.turn.number && (other.of.sentMs ?? 0) < (of.endMs ?? 0) && turn.place?.isBranch,
        ),
      ),
    )
    expect(overlaps.length).toBeGreaterThan(0)
  })

  test('are the same with one worker', async () => {
    const alone = await virtualRun({ scenario: forking })
    const placesOf = ({ observations }: Run) =>
      sessionsIn(observations).map(each => each.map(({ turn }) => [turn.session, turn.number, turn.place]))
    expect(new Set(placesOf(alone).map(each => JSON.stringify(each)))).toEqual(
      new Set(placesOf(run).map(each => JSON.stringify(each))),
    )
  })

  test('keep a budget to their end', async () => {
    const scenario = forking.replace('usd: 1', 'usd: 0.05')
    const { report } = await virtualRun({ scenario })
    expect(report.run.ended).toBe('budget-reached')
    expect(Number(report.billing.claimedUsd)).toBeLessThanOrEqual(0.05)
    expect(Number(report.billing.claimedUsd)).toBeGreaterThan(0)
  })
})

test('a session that is refused gives up, and its other turns are not due', async () => {
  const { report, observations } = await virtualRun({
    scenario: scenarioOf(open, 'after-failure: give-up'),
    faults: [{ status: 503, probability: 0.3 }],
  })
  const [conversation] = report.conversations
  const sessions = sessionsIn(observations)
  const isBad = ({ of }: Turn) => of.outcome.kind === 'answered' && of.outcome.status === 503
  expect(conversation?.gaveUp).toBe(sessions.filter(each => each.some(isBad)).length)
  expect(conversation?.gaveUp).toBeGreaterThan(0)
  expect(conversation?.finished).toBe(10 - (conversation?.gaveUp ?? 0))
  expect(report.load.dropped).toBe(0)
})

test('a budget is kept, and no session begins that it does not cover to its end', async () => {
  const scenario = scenarioOf(open).replace('usd: 1', 'usd: 0.012')
  const { report, observations } = await virtualRun({ scenario })
  expect(report.run.ended).toBe('budget-reached')
  expect(Number(report.billing.claimedUsd)).toBeLessThanOrEqual(0.012)
  expect(Number(report.billing.claimedUsd)).toBeGreaterThan(0)
  const reasons = sessionsIn(observations).map(each => {
    const [first] = each
    return first?.of.outcome.kind === 'dropped' ? first.of.outcome.reason : 'sent'
  })
  expect(reasons).toContain('budget')
})

test('a session that outlasts the run is cut off, and the turns that are left are dropped', async () => {
  const scenario = scenarioOf(open).replace('budget:', 'bounds: { drain: 1s }\nbudget:')
  const { report } = await virtualRun({ scenario })
  const [{ started, finished, gaveUp } = { started: 0, finished: 0, gaveUp: 0 }] = report.conversations
  expect([started, gaveUp]).toEqual([10, 0])
  expect(finished).toBeLessThan(10)
  expect(report.load.dropped).toBeGreaterThanOrEqual(started - finished)
})

describe('a lie about cached tokens is accused', () => {
  const told = (['chat.usage.cached.new', 'chat.cost.cached'] as const).flatMap(clause =>
    lies[clause].filter(({ name }) => !name.startsWith('written')).map(lie => ({ clause, name: lie.name, lie })),
  )
  test.each(told)('$clause: $name', async ({ clause, lie }) => {
    const run: VirtualRun = { scenario: scenarioOf(open), lies: [lie] }
    const { report } = await virtualRun(run)
    expect(report.findings.map(each => each.clause)).toEqual([clause])
    expect(report.verdict).toBe('fail')
  })
})

describe('a cold phase', () => {
  const phases = `name: phases
callers: { count: 4 }
calls:
  warm: &talk { kind: conversation, model-tier: S, turns: 3, user-tokens: 40, max-completion-tokens: 40, system-tokens: 1200 }
  cold: { <<: *talk, cache: cold }
stages:
  - { name: cold, duration: 5s, shape: constant, rate: 1/s, mix: { cold: 1 } }
  - { name: warm, duration: 5s, shape: constant, rate: 1/s, mix: { warm: 1 } }
budget: { usd: 1 }
thresholds:
  - { expect: violations == 0, why: Test. }
`
  /** Possible in a warm phase, where all but the new text was sent before. */
  const halfCached = lie('half-cached', 'Half of every prompt counts as cached.', () => ({
    cacheUse: (_, prompt) => ({ read: Math.floor(prompt / 2), written: 0 }),
  }))

  test('has no hits on an honest service, and the warm one after it has', async () => {
    const { report } = await virtualRun({ scenario: phases })
    expect(report.findings).toEqual([])
    expect(report.verdict).toBe('pass')
    const [warm, cold] = report.conversations
    expect(warm?.cache).toBe('warm')
    expect(cold).toMatchObject({ call: 'cold', cache: 'cold', started: 5, finished: 5 })
    expect(cold?.turns.map(({ hits, cachedTokens, cacheableTokens }) => [hits, cachedTokens, cacheableTokens])).toEqual(
      [0, 1, 2].map(() => [0, 0, 0]),
    )
    expect(cold?.hitTtftMs.p50).toBeNull()
    expect(cold?.missTtftMs.p50).toBeGreaterThan(0)
    // The first session of each caller finds an empty cache.
    expect(warm?.turns.map(({ hits }) => hits)).toEqual([1, 5, 5])
  })

  test('accuses a target that states cached tokens in it, which the warm one cannot tell', async () => {
    const { report, observations } = await virtualRun({ scenario: phases, lies: [halfCached] })
    expect(report.findings.map(({ clause }) => clause)).toEqual(['chat.usage.cached.new'])
    const [finding] = report.findings
    const sent = observations.filter(({ call, outcome }) => call === 'cold' && outcome.kind === 'answered')
    expect(sent).toHaveLength(15)
    expect(finding?.count).toBe(sent.length)
    expect(finding?.message).toMatch(/^6\d\d of 1\d\d\d prompt tokens are cached, expected at most \d{2,3}:/)
  })
})
