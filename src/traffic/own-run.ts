import { statSync } from 'node:fs'
import { toObject } from '../lib/json.ts'
import { hasHeader, readLog } from '../observation/log.ts'
import { isFirstRequest, type Observation } from '../observation/observation.ts'
import { isChat } from '../observation/requests/chat.ts'
import { openRun } from '../storage/run-directory.ts'
import { emptyRow, type TrafficFormat, type TrafficItem } from './trace-row.ts'

/** The chat requests of a run of Turnpike, from its log. A turn of a conversation is a request of its session. */
export const ownRun: TrafficFormat = {
  title: 'a run directory',
  matches: () => false,
  blockTokens: 512,
  read: async function* (directory, { onBytes }) {
    const { logs } = await openRun(directory)
    let line = 0
    for (const file of logs.filter(hasHeader)) {
      let batch: TrafficItem[] = []
      for await (const each of readLog(file)) {
        line++
        if (each.kind === 'gap') batch.push({ line, leftOut: 'gaps of a log whose disk was too slow' })
        if (each.kind === 'observation') batch.push(...itemsOf(line, each.observation))
        if (batch.length < batchSize) continue
        yield batch
        batch = []
      }
      yield batch
      onBytes(statSync(file).size)
    }
  },
}

const batchSize = 1_000

function itemsOf(line: number, observation: Observation): readonly TrafficItem[] {
  const { request, stage, call, dueMs, response } = observation
  // What Turnpike adds, and repetitions, are no traffic of their own.
  if (stage.startsWith('(') || (!isFirstRequest(observation) && !isFirstOfTurn(request))) return []
  if (!isChat(request)) return [{ line, leftOut: 'requests of other kinds, which "run" of a recorded stage repeats' }]
  const { promptTokens, maxCompletionTokens, turn, model } = request
  const body = response?.body
  const usage = toObject(
    body?.kind === 'stream' ? body.stream.usage : body?.kind === 'json' ? toObject(body.value)?.usage : null,
  )
  const [used, written] = [usage?.prompt_tokens_details, usage?.completion_tokens]
  const cached = toObject(used)?.cached_tokens
  const row = {
    ...{ ...emptyRow, timeMs: dueMs, call },
    lengths: {
      input: Math.max(1, promptTokens),
      output: typeof written === 'number' && written > 0 ? written : Math.max(1, maxCompletionTokens),
    },
    session: turn === undefined ? null : String(turn.session),
    cached: typeof cached === 'number' ? Math.min(cached, promptTokens) : 0,
  }
  return [{ line, row, model: model === '' ? null : model }]
}

const isFirstOfTurn = (request: Observation['request']): boolean =>
  isChat(request) && request.turn !== undefined && (request.replay === undefined || request.replay.role === 'original')
