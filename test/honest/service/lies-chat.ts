import type { Lie } from './lies.ts'
import { type Json, objectIn, type Reply, withValue } from './reply.ts'

type Edit = (value: Json) => Json

/** Changes each unstreamed completion. */
const inWhole =
  (edit: Edit) =>
  (reply: Reply): Reply => {
    const value = objectIn(reply)
    return value?.object === 'chat.completion' ? withValue(reply, edit(value)) : reply
  }

/** Changes the chunks of each stream. */
const inStream =
  (edit: (chunks: readonly Json[]) => readonly Json[]) =>
  (reply: Reply): Reply =>
    reply.body.kind === 'events' ? { ...reply, body: { ...reply.body, chunks: edit(reply.body.chunks) } } : reply

const isMarker = (chunk: Json): boolean => 'raw' in chunk

const eachChoice =
  (edit: Edit): Edit =>
  value => ({ ...value, choices: ((value.choices ?? []) as readonly Json[]).map(edit) })

/** Lies in completions, whole and streamed. */
export const chatLies: readonly Lie[] = [
  {
    name: 'wrong-sum',
    section: '2.4',
    does: 'states one token too many in total',
    clauses: ['chat.usage.sum'],
    change: inWhole(value => {
      const usage = value.usage as Json
      return { ...value, usage: { ...usage, total_tokens: Number(usage.total_tokens) + 1 } }
    }),
  },
  {
    name: 'no-usage',
    section: '2.4',
    does: 'leaves the usage out',
    clauses: ['chat.usage'],
    change: inWhole(({ usage: _, ...rest }) => rest),
  },
  {
    name: 'beyond-the-bound',
    section: '2.1',
    does: 'states 200 more generated tokens than allowed',
    clauses: ['chat.max-completion-tokens'],
    change: inWhole(value => {
      const usage = value.usage as Json
      const more = (member: string) => Number(usage[member]) + 200
      return {
        ...value,
        usage: { ...usage, completion_tokens: more('completion_tokens'), total_tokens: more('total_tokens') },
      }
    }),
  },
  {
    name: 'other-finish',
    section: '2.4',
    does: 'ends completions with the reason eos',
    clauses: ['chat.choice.finish-reason'],
    change: inWhole(eachChoice(choice => ({ ...choice, finish_reason: 'eos' }))),
  },
  {
    name: 'other-object',
    section: '2.4',
    does: 'calls a completion text_completion',
    clauses: ['chat.object'],
    change: inWhole(value => ({ ...value, object: 'text_completion' })),
  },
  {
    name: 'created-in-milliseconds',
    section: '2.4',
    does: 'states the time of creation in milliseconds',
    clauses: ['chat.created'],
    change: inWhole(value => ({ ...value, created: Number(value.created) * 1000 })),
  },
  {
    name: 'cost-doubled',
    section: '2.4',
    does: 'states twice the list price',
    clauses: ['chat.cost.amount'],
    change: inWhole(value => {
      const { usd, diem } = value.cost as Json
      return { ...value, cost: { usd: 2 * Number(usd), diem: 2 * Number(diem) } }
    }),
  },
  {
    name: 'no-logprobs-key',
    section: '2.4',
    does: 'leaves the key logprobs out of choices',
    clauses: ['chat.choice'],
    change: inWhole(eachChoice(({ logprobs: _, ...choice }) => choice)),
  },
  {
    name: 'uncompressed',
    section: '4.2',
    does: 'never compresses a completion',
    clauses: ['chat.compression'],
    change: reply => ({ ...reply, encoding: null }),
  },
  {
    name: 'other-echo',
    section: '2.4',
    does: 'echoes another value of an option than was sent',
    clauses: ['parameters.echo.sent'],
    change: inWhole(value => ({
      ...value,
      service_parameters: { ...(value.service_parameters as Json), include_venice_system_prompt: true },
    })),
  },
  {
    name: 'no-done',
    section: '4.2',
    does: 'ends streams without their marker',
    clauses: ['chat.stream.done'],
    change: inStream(chunks => chunks.filter(chunk => !isMarker(chunk))),
  },
  {
    name: 'finishes-twice',
    section: '4.2',
    does: 'states the finish reason of a stream twice',
    clauses: ['chat.stream.finish'],
    change: inStream(chunks =>
      chunks.flatMap(chunk => {
        const choices = (chunk.choices ?? []) as readonly Json[]
        return choices.some(({ finish_reason: reason }) => typeof reason === 'string') ? [chunk, chunk] : [chunk]
      }),
    ),
  },
  {
    name: 'an-id-for-each-chunk',
    section: '4.2',
    does: 'gives each chunk of a stream its own id',
    clauses: ['chat.stream.chunk'],
    change: inStream(chunks =>
      chunks.map((chunk, index) => (isMarker(chunk) ? chunk : { ...chunk, id: `part-${index}` })),
    ),
  },
  {
    name: 'chunks-without-index',
    section: '4.2',
    does: 'leaves the index out of streamed choices',
    clauses: ['chat.stream.index', 'chat.stream.finish'],
    change: inStream(chunks =>
      chunks.map(chunk => (isMarker(chunk) ? chunk : eachChoice(({ index: _, ...choice }) => choice)(chunk))),
    ),
  },
  {
    name: 'stream-without-finish',
    section: '4.2',
    does: 'never states why a stream ended',
    clauses: ['chat.stream.finish', 'chat.choice.finish-reason'],
    change: inStream(chunks =>
      chunks.map(chunk =>
        isMarker(chunk) ? chunk : eachChoice(choice => ({ ...choice, finish_reason: null }))(chunk),
      ),
    ),
  },
  {
    name: 'results-at-the-end',
    section: '2.3',
    does: 'puts requested search results at the end of the stream',
    clauses: ['parameters.results-in-stream'],
    change: inStream(chunks => {
      const [first, ...rest] = chunks
      if (first === undefined || !('service_parameters' in first)) return chunks
      return [...rest.slice(0, -1), first, ...rest.slice(-1)]
    }),
  },
]
