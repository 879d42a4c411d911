import { expect, test } from 'vitest'
import { createSlowReaderAudit } from '../../../../src/judge/audits/slow-readers.ts'
import { createFindingLog } from '../../../../src/judge/findings/findings.ts'
import type { Observation, StreamRecord } from '../../../../src/observation/observation.ts'
import { isChat } from '../../../../src/observation/requests/chat.ts'
import { streamObserved } from '../checks/observed.ts'

function judge(observations: readonly Observation[]) {
  const findingLog = createFindingLog()
  const audit = createSlowReaderAudit(findingLog.reporterFor('slow-readers'))
  for (const [id, observation] of observations.entries()) audit.add({ ...observation, id }, 0)
  audit.finish(true)
  return Object.fromEntries(
    findingLog
      .tallies()
      .filter(({ id }) => id.startsWith('slow-reader.'))
      .map(({ id, verdict }) => [id.slice('slow-reader.'.length), verdict]),
  )
}

const usageOf = (completion_tokens: number, more = {}) => ({
  ...{ prompt_tokens: 10, completion_tokens, total_tokens: 10 + completion_tokens, ...more },
})

/** A stream of 100 tokens that is open for a second. */
const fast = (contentCharacters: number, more: Partial<StreamRecord> = {}, changes: Partial<Observation> = {}) =>
  streamObserved(
    { contentCharacters, reasoningCharacters: 0, usage: usageOf(100), ...more },
    { headersMs: 1_000, endMs: 2_000, ...changes },
  )

function slow(...[characters, more, changes]: Parameters<typeof fast>): Observation {
  const observation = fast(characters, more, { endMs: 6_000, ...changes })
  if (!isChat(observation.request)) throw new Error('no chat')
  return { ...observation, request: { ...observation.request, readRate: { unit: 'tokens', perSecond: 20 } } }
}

const broken = { outcome: { kind: 'failed', reason: 'connection-lost', detail: 'ECONNRESET' }, endMs: 1_200 } as const
const times = (count: number, observation: Observation) => Array.from({ length: count }, () => observation)
const usual = [380, 400, 420, 450, 500].map(characters => fast(characters))

test('a text that is a third of what its tokens usually are is cut', () => {
  expect(judge([...usual, slow(130)])).toMatchObject({ text: 'fail', kept: 'pass' })
})

test.each<[string, readonly Observation[], string]>([
  ['a text as long as others', [...usual, slow(390)], 'pass'],
  ['a text a little shorter than others', [...usual, slow(250)], 'pass'],
  ['a short text', [...usual, slow(10, { usage: usageOf(12) })], 'not-exercised'],
  ['a tool call', [...usual, slow(0, { toolNames: ['search'] })], 'not-exercised'],
  ['tokens that are stated to be hidden', [...usual, slow(130, { usage: usageOf(100, hidden(70)) })], 'pass'],
  ['other texts that differ as much', [...usual, fast(150), slow(100)], 'not-exercised'],
  ['too few others', [...usual.slice(1), slow(130)], 'not-exercised'],
  ['nobody who reads slowly', [...usual, fast(130)], 'not-exercised'],
  ['no usage', [...usual, slow(130, { usage: null })], 'not-exercised'],
])('no text is cut by %s', (_, observations, verdict) => {
  expect(judge(observations)).toMatchObject({ text: verdict })
})

function hidden(reasoning_tokens: number) {
  return { completion_tokens_details: { reasoning_tokens } }
}

test('streams that all break off for slow readers alone are cut off', () => {
  expect(judge([...times(40, fast(400)), ...times(3, slow(100, {}, broken))])).toMatchObject({ kept: 'fail' })
})

test.each<[string, readonly Observation[], string]>([
  ['one broken stream of many', [...times(40, fast(400)), ...times(20, slow(400)), slow(100, {}, broken)], 'pass'],
  // All streams of a network that breaks one every ten seconds.
  [
    'long streams that break',
    [...times(40, fast(400)), ...times(12, slow(400)), ...times(6, slow(1, {}, broken))],
    'pass',
  ],
  [
    'a network that breaks others, too',
    [...times(40, fast(400)), fast(100, {}, broken), ...times(3, slow(100, {}, broken))],
    'not-exercised',
  ],
  [
    'a client that leaves',
    [...times(40, fast(400)), ...times(3, slow(1, {}, { outcome: { kind: 'left', after: '1' } }))],
    'not-exercised',
  ],
])('nobody is cut off by %s', (_, observations, verdict) => {
  expect(judge(observations)).toMatchObject({ kept: verdict })
})
