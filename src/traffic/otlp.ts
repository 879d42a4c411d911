import { isObject, type JsonObject, parseObject, toObject } from '../lib/json.ts'
import { describeValue } from '../lib/usage-error.ts'
import { createBlockNumbers, textBlockTokens } from './prompt-blocks.ts'
import { chunksOf, elementsOf } from './text-source.ts'
import { elementIn, emptyRow, lengthsOf, type TrafficFormat, type TrafficItem } from './trace-row.ts'

/** Operations that are one request to a model. An agent adds up those of its own. */
const operations: readonly unknown[] = ['chat', 'text_completion', 'generate_content']

/** Spans with the attributes of OpenTelemetry for generative AI, as OTLP JSON: one document, or one per line. */
export const otlp: TrafficFormat = {
  title: 'OpenTelemetry spans (OTLP JSON)',
  matches: head => /^\s*\{\s*"resourceSpans"\s*:/.test(head),
  blockTokens: textBlockTokens,
  read: async function* (file, { keepsText, onBytes }) {
    const blocksOf = createBlockNumbers()
    const path = ['resourceSpans', 'scopeSpans', 'spans']
    for await (const batch of elementsOf(file, chunksOf(file, onBytes), path))
      yield batch.map(({ line, text }) => spanItem(line, text, keepsText, blocksOf))
  },
}

function spanItem(
  line: number,
  json: string | null,
  keepsText: boolean,
  blocksOf: ReturnType<typeof createBlockNumbers>,
): TrafficItem {
  const read = elementIn(json, 'a span')
  if ('mistake' in read) return { line, mistake: read.mistake }
  const span = read.element
  const attributes = attributesOf(span)
  const operation = attributes.get('gen_ai.operation.name')
  const input = attributes.get('gen_ai.usage.input_tokens') ?? attributes.get('gen_ai.usage.prompt_tokens')
  const output = attributes.get('gen_ai.usage.output_tokens') ?? attributes.get('gen_ai.usage.completion_tokens')
  if (operation === undefined ? input === undefined : !operations.includes(operation))
    return { line, leftOut: 'spans that are no request to a chat model' }
  const timeMs = Number(span.startTimeUnixNano) / 1e6
  if (!(timeMs > 0))
    return {
      line,
      mistake: {
        got: `startTimeUnixNano ${describeValue(span.startTimeUnixNano)}`,
        expected: 'nanoseconds since 1970',
      },
    }
  const lengths = lengthsOf(input, output, ['gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens'])
  if ('mistake' in lengths) return { line, mistake: lengths.mistake }
  const session = attributes.get('gen_ai.conversation.id')
  const cached =
    attributes.get('gen_ai.usage.cache_read.input_tokens') ?? attributes.get('gen_ai.usage.cached_tokens') ?? 0
  const text = textOf(attributes.get('gen_ai.input.messages'))
  const model = attributes.get('gen_ai.request.model') ?? attributes.get('gen_ai.response.model')
  const row = {
    ...{ ...emptyRow, timeMs, lengths },
    hashIds: text === null ? [] : blocksOf(text, lengths.input),
    session: session === undefined ? null : String(session),
    cached: typeof cached === 'number' && cached > 0 ? Math.min(Math.floor(cached), lengths.input) : 0,
    text: keepsText ? text : null,
  }
  return { line, row, model: typeof model === 'string' ? model : null }
}

/** The attributes of a span by name. A whole number may be a text. */
function attributesOf(span: JsonObject): ReadonlyMap<string, unknown> {
  const list: readonly unknown[] = Array.isArray(span.attributes) ? span.attributes : []
  return new Map(
    list.filter(isObject).map(({ key, value }) => {
      const { stringValue, intValue, doubleValue } = toObject(value) ?? {}
      const whole = intValue === undefined ? undefined : Number(intValue)
      return [String(key), stringValue ?? whole ?? doubleValue]
    }),
  )
}

/** The text of the messages, if a span has them: parts with a content, role by role. */
function textOf(written: unknown): string | null {
  if (typeof written !== 'string') return null
  const messages = parseObject(`{"messages":${written}}`)?.messages
  if (!Array.isArray(messages)) return null
  return messages
    .filter(isObject)
    .map(({ role, parts }) => {
      const texts = (Array.isArray(parts) ? parts : []).filter(isObject).map(({ content }) => content)
      return `${role}: ${texts.filter(content => typeof content === 'string').join('\n')}`
    })
    .join('\n')
}
