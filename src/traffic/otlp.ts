import { isObject, type JsonObject, parseObject, toObject } from '../lib/json.ts'
import { describeValue } from '../lib/usage-error.ts'
import { createBlockNumbers, textBlockTokens } from './prompt-blocks.ts'
import { chunksOf, elementsOf } from './text-source.ts'
import { elementIn, emptyRow, lengthsOf, type TrafficFormat, type TrafficItem } from './trace-row.ts'

/** Operations that are one request to a model. An agent adds up those of its own. */
const operations: readonly unknown[] = ['chat', 'text_completion', 'generate_content']

/**
 * Spans with the attributes of OpenTelemetry for generative AI, as OTLP JSON: one document, one per line, or a list of them.
 * Some programs export the `resourceSpans` alone, or by another name.
 */
export const otlp: TrafficFormat = {
  title: 'OpenTelemetry spans (OTLP JSON)',
  matches: head => /^\s*[[{].*"(?:resourceSpans|scopeSpans)"\s*:/s.test(head),
  blockTokens: textBlockTokens,
  read: async function* (file, { keepsText, onBytes }) {
    const blocksOf = createBlockNumbers()
    for await (const batch of elementsOf(file, chunksOf(file, onBytes), spanLists))
      yield batch.map(({ line, text }) => spanItem(line, text, keepsText, blocksOf))
  },
}

/** Before 2022, scopes were instrumentation libraries. */
const spanLists = /(?:^|\/)(?:scopeSpans|instrumentationLibrarySpans)\/spans$/

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
  const lengths = lengthsOf(numberOf(input), numberOf(output), [
    'gen_ai.usage.input_tokens',
    'gen_ai.usage.output_tokens',
  ])
  if ('mistake' in lengths) return { line, mistake: lengths.mistake }
  const session = attributes.get('gen_ai.conversation.id')
  const cached =
    attributes.get('gen_ai.usage.cache_read.input_tokens') ?? attributes.get('gen_ai.usage.cached_tokens') ?? 0
  const text = textOf(attributes.get('gen_ai.system_instructions'), attributes.get('gen_ai.input.messages'))
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

/** Some programs write each attribute as a text. */
const numberOf = (value: unknown): unknown => (typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value)

/** The attributes of a span by name. */
const attributesOf = (span: JsonObject): ReadonlyMap<string, unknown> =>
  new Map(listOf(span.attributes).map(({ key, value }) => [String(key), plain(value)]))

/** A value without the names of its types. A whole number may be a text. */
function plain(value: unknown): unknown {
  const { stringValue, intValue, doubleValue, arrayValue, kvlistValue } = toObject(value) ?? {}
  if (isObject(arrayValue)) return listOf(arrayValue.values).map(plain)
  if (isObject(kvlistValue))
    return Object.fromEntries(listOf(kvlistValue.values).map(({ key, value: of }) => [String(key), plain(of)]))
  return stringValue ?? (intValue === undefined ? undefined : Number(intValue)) ?? doubleValue
}

/** The objects of a list; of a text, the list that it is in JSON. */
function listOf(value: unknown): readonly JsonObject[] {
  const list = typeof value === 'string' ? parseObject(`{"list":${value}}`)?.list : value
  return (Array.isArray(list) ? list : []).filter(isObject)
}

/** The text of the instructions and messages, if a span has them: parts with a content, role by role. */
function textOf(instructions: unknown, messages: unknown): string | null {
  const said = listOf(messages)
  if (said.length === 0) return null
  const first = listOf(instructions)
  return [...(first.length === 0 ? [] : [{ role: 'system', parts: first }]), ...said]
    .map(({ role, parts }) => {
      const texts = listOf(parts).map(({ content }) => content)
      return `${role}: ${texts.filter(content => typeof content === 'string').join('\n')}`
    })
    .join('\n')
}
