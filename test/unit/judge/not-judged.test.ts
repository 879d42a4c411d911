import { describe, expect, test } from 'vitest'
import type { Clause } from '../../../src/contract/clause.ts'
import { type ClauseId, clauseIds, clauses } from '../../../src/contract/clauses.ts'
import { createFindingLog } from '../../../src/judge/findings/findings.ts'
import { createMetrics } from '../../../src/judge/metrics/request-stats.ts'
import { callFilterOf, explainNotJudged } from '../../../src/judge/not-judged.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import type { Call, Plan } from '../../../src/plan/plan.ts'
import { anObservation, aPlan, respondedWith } from './metrics/fixtures.ts'

const chat = (stream: boolean) =>
  ({
    kind: 'chat',
    stream,
    model: 'm',
    modelTier: null,
    promptTokens: 1,
    maxCompletionTokens: 1,
    isBounded: true,
    options: null,
  }) as const

const fixed = { from: 1, to: 1 }
const talk: Call = {
  ...{ kind: 'conversation', stream: true, model: 'm', modelTier: null },
  ...{ turns: fixed, userTokens: fixed, maxCompletionTokens: fixed, thinkMs: fixed },
  ...{ systemTokens: 0, systemGroups: 1, ownSystemRatio: 0, history: 'target' },
  ...{ sessionHeader: null, sessionField: null, after429: 'go-on', afterFailure: 'give-up' },
}

const plan: Plan = aPlan({
  calls: { chat: chat(true), limits: { kind: 'rate-limits' }, probe: { kind: 'probe', probe: 'bad-key' } },
})

function explain(observations: readonly Observation[], ...violated: readonly ClauseId[]) {
  const findingLog = createFindingLog()
  for (const clause of violated) findingLog.reporterFor('headers').fail(clause as 'header.date', 'wrong', [0])
  const metrics = createMetrics(plan)
  for (const observation of observations) metrics.add(observation)
  const tallies = explainNotJudged(findingLog.tallies(), plan, metrics)
  return (id: ClauseId) => tallies.find(tally => tally.id === id)?.because ?? null
}

const answered = (call: string, status = 200) => respondedWith(status, { call })

describe('a clause that nothing judged says why', () => {
  test('no call could exercise it', () => {
    const because = explain([answered('chat')])
    expect(because('chat.object')).toEqual({
      kind: 'not-exercised',
      text: 'no call of this run requests an unstreamed completion (kind: chat, stream: false)',
      clause: null,
    })
    expect(because('rpc.batch.full')?.text).toBe('no call of this run sends a JSON-RPC batch (kind: rpc-batch)')
    expect(because('auth.missing')?.text).toMatch(
      /^no call of this run sends one of the probes no-key, no-key-to-rpc, .*…$/,
    )
    expect(because('logs.shows-429')?.text).toBe('no call of this run has the kind rate-limit-logs')
  })

  test('no such request was sent', () => {
    expect(explain([answered('limits')])('chat.id')).toMatchObject({
      kind: 'not-exercised',
      text: 'no such request was sent',
    })
  })

  test('no such request succeeded', () => {
    const because = explain([answered('chat', 404), answered('chat', 404), answered('chat', 503)])
    expect(because('chat.id')).toEqual({
      kind: 'not-judged',
      text: 'none of 3 such requests succeeded: 2 got 404, 1 got 503',
      clause: null,
    })
    // A probe should be refused, so a refusal does not explain it.
    expect(explain([answered('probe', 401)])('auth.bearer')?.text).not.toContain('succeeded')
  })

  test('a violation hides it', () => {
    expect(explain([answered('chat')], 'chat.stream.content-type')('chat.stream.done')).toEqual({
      kind: 'not-judged',
      text: 'streams are unreadable',
      clause: 'chat.stream.content-type',
    })
    expect(explain([answered('chat')], 'rpc.response')('chat.stream.done')?.kind).toBe('not-exercised')
    // Without such a call, nothing is hidden.
    expect(explain([answered('chat')], 'rpc.response')('rpc.response.error')?.kind).toBe('not-exercised')
  })

  test('it needs something else', () => {
    expect(explain([anObservation()])('retry.after-reset')?.text).toBe(
      'it needs a caller that exceeds a limit, and sends another request after its window',
    )
    expect(explain([anObservation()])('auth.keys-share-limits')?.text).toContain('keys-per-caller')
  })

  test('every clause has a reason if a run sent nothing, and none if it was violated', () => {
    const because = explain([])
    expect(clauseIds.filter(id => because(id) === null)).toEqual([])
    expect(explain([], 'header.date')('header.date')).toBe(null)
  })
})

test('every clause of a judge of streams is fed by streamed completions', () => {
  for (const id of clauseIds.filter(id => clauses[id].judges.includes('chat-stream'))) {
    const { exercisedBy }: Clause = clauses[id]
    if (exercisedBy !== 'conversation') expect(callFilterOf(id)?.matches(chat(true)), id).toBe(true)
    expect(callFilterOf(id)?.matches(talk), id).toBe(true)
  }
})

test('a conversation feeds the clauses of replays if some of its turns are sent again', () => {
  const replays = { ratio: 1, duplicates: 1, conflictRatio: 0, otherKeyRatio: 0, otherCallerRatio: 0 }
  for (const id of ['rpc.replay.header', 'rpc.replay.body', 'rpc.replay.charge'] as const) {
    expect(callFilterOf(id)?.matches(talk), id).toBe(false)
    expect(callFilterOf(id)?.matches({ ...talk, stream: false, replays }), id).toBe(true)
  }
  expect(callFilterOf('rpc.replay.conflict')?.matches({ ...talk, replays })).toBe(false)
  expect(callFilterOf('rpc.replay.conflict')?.matches({ ...talk, replays: { ...replays, conflictRatio: 0.1 } })).toBe(
    true,
  )
  expect(callFilterOf('rpc.replay.any-key')?.matches({ ...talk, replays })).toBe(false)
  expect(callFilterOf('rpc.replay.any-key')?.matches({ ...talk, replays: { ...replays, otherKeyRatio: 1 } })).toBe(true)
  const others = { ...talk, replays: { ...replays, otherCallerRatio: 1 } }
  expect([talk, others].map(call => callFilterOf('rpc.replay.per-user')?.matches(call))).toEqual([false, true])
})
