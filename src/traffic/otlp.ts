import { isObject, type JsonObject, parseObject, toObject } from '../lib/json.ts'
import { createBlockNumbers, textBlockTokens } from './prompt-blocks.ts'
import { chunksOf, elementsOf } from './text-source.ts'
import {
  type BadRow,
  bad,
  elementIn,
  emptyRow,
  lengthsOf,
  parseDate,
  type TrafficFormat,
  type TrafficItem,
} from './trace-row.ts'

/**
 * Kinds of spans that are one request to a model: operations of OpenTelemetry, and the kind of OpenInference. An agent
 * adds up those of its own.
 */
const modelRequests: readonly unknown[] = ['chat', 'text_completion', 'generate_content', 'LLM']

/** The attributes of a request, the current name of OpenTelemetry first; then older ones, and those of OpenInference. */
const attributeNames = {
  kind: ['gen_ai.operation.name', 'openinference.span.kind'],
  input: ['gen_ai.usage.input_tokens', 'gen_ai.usage.prompt_tokens', 'llm.token_count.prompt'],
  output: ['gen_ai.usage.output_tokens', 'gen_ai.usage.completion_tokens', 'llm.token_count.completion'],
  cached: [
    'gen_ai.usage.cache_read.input_tokens',
    'gen_ai.usage.cached_tokens',
    'llm.token_count.prompt_details.cache_read',
  ],
  session: ['gen_ai.conversation.id', 'session.id'],
  model: ['gen_ai.request.model', 'gen_ai.response.model', 'llm.model_name'],
} as const

/**
 * Spans with the attributes of OpenTelemetry for generative AI, as OTLP JSON: one document, one per line, or a list of them.
 * Some programs export the `resourceSpans` alone, or by another name, or with the names of Protobuf.
 */
export const otlp: TrafficFormat = {
  title: 'OpenTelemetry spans (OTLP JSON)',
  matches: head => /^\s*[[{].*"(?:resourceSpans|scopeSpans|resource_spans|scope_spans)"\s*:/s.test(head),
  blockTokens: textBlockTokens,
  // Before 2022, scopes were instrumentation libraries.
  read: spansIn(/(?:^|\/)(?:scopeSpans|scope_spans|instrumentationLibrarySpans)\/spans$/),
}

/** Spans without a document around them: in a list, or one after another, as exporters print them to a console. */
export const spans: TrafficFormat = {
  title: 'OpenTelemetry spans in a list or one after another',
  matches: head =>
    /^\s*(?:\[\s*)?\{/.test(head) &&
    /"(?:startTimeUnixNano|start_time_unix_nano|start_?[tT]ime)"\s*:/.test(head) &&
    /"attributes"\s*:/.test(head),
  blockTokens: textBlockTokens,
  read: spansIn(/^$/),
}

/** Reads the spans in the lists at these paths. */
function spansIn(lists: RegExp): TrafficFormat['read'] {
  return async function* (file, { keepsText, onBytes }) {
    const blocksOf = createBlockNumbers()
    for await (const batch of elementsOf(file, chunksOf(file, onBytes), lists))
      yield batch.map(({ line, text }) => spanItem(line, text, keepsText, blocksOf))
  }
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
  const attributes = attributesOf(span.attributes)
  const attributeOf = (name: keyof typeof attributeNames): unknown =>
    attributeNames[name].map(key => attributes.get(key)).find(value => value !== undefined && value !== null)
  const kind = attributeOf('kind')
  if (kind === undefined ? attributeOf('input') === undefined : !modelRequests.includes(kind))
    return { line, leftOut: 'spans that are no request to a chat model' }
  const timeMs = startMs(span)
  if (typeof timeMs !== 'number') return { line, mistake: timeMs.mistake }
  const lengths = lengthsOf(numberOf(attributeOf('input')), numberOf(attributeOf('output')), [
    attributeNames.input[0],
    attributeNames.output[0],
  ])
  if ('mistake' in lengths) return { line, mistake: lengths.mistake }
  const session = attributeOf('session')
  const cached = numberOf(attributeOf('cached'))
  const text = textOf(attributes)
  const row = {
    ...{ ...emptyRow, timeMs, lengths },
    hashIds: text === null ? [] : blocksOf(text, lengths.input),
    session: session === undefined ? null : String(session),
    cached: typeof cached === 'number' && cached > 0 ? Math.min(Math.floor(cached), lengths.input) : 0,
    text: keepsText ? text : null,
  }
  const model = attributeOf('model')
  return { line, row, model: typeof model === 'string' ? model : null }
}

/** When a span began: OTLP counts nanoseconds, consoles print a date, and that of JavaScript seconds and nanoseconds. */
function startMs(span: JsonObject): number | BadRow {
  const nanoseconds = span.startTimeUnixNano ?? span.start_time_unix_nano
  const printed = span.start_time ?? span.startTime
  if (nanoseconds === undefined && typeof printed === 'string')
    return parseDate(printed) ?? bad('start_time', printed, 'a date')
  const timeMs =
    nanoseconds === undefined && Array.isArray(printed)
      ? Number(printed[0]) * 1_000 + Number(printed[1]) / 1e6
      : Number(nanoseconds) / 1e6
  return timeMs > 0 ? timeMs : bad('startTimeUnixNano', nanoseconds ?? printed, 'nanoseconds since 1970')
}

/** Some programs write each attribute as a text. */
const numberOf = (value: unknown): unknown => (typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value)

/** The attributes of a span by name. Consoles print them as one object. */
const attributesOf = (attributes: unknown): ReadonlyMap<string, unknown> =>
  new Map(
    isObject(attributes)
      ? Object.entries(attributes)
      : listOf(attributes).map(({ key, value }) => [String(key), plain(value)]),
  )

/** A value without the names of its types. A whole number may be a text. */
function plain(value: unknown): unknown {
  const of = toObject(value) ?? {}
  const list = of.arrayValue ?? of.array_value
  if (isObject(list)) return listOf(list.values).map(plain)
  const members = of.kvlistValue ?? of.kvlist_value
  if (isObject(members)) return Object.fromEntries(attributesOf(members.values))
  const whole = of.intValue ?? of.int_value
  return (
    of.stringValue ?? of.string_value ?? (whole === undefined ? (of.doubleValue ?? of.double_value) : Number(whole))
  )
}

/** The objects of a list; of a text, the list that it is in JSON. */
function listOf(value: unknown): readonly JsonObject[] {
  const list = typeof value === 'string' ? parseObject(`{"list":${value}}`)?.list : value
  return (Array.isArray(list) ? list : []).filter(isObject)
}

type Message = { readonly role: unknown; readonly texts: readonly unknown[] }

/** The text of the instructions and messages, if a span has them, role by role. */
function textOf(attributes: ReadonlyMap<string, unknown>): string | null {
  const written = listOf(attributes.get('gen_ai.input.messages')).map(({ role, parts }) => messageOf(role, parts))
  const messages = written.length > 0 ? written : numberedMessages(attributes)
  if (messages.length === 0) return null
  const instructions = listOf(attributes.get('gen_ai.system_instructions'))
  return [...(instructions.length === 0 ? [] : [messageOf('system', instructions)]), ...messages]
    .map(({ role, texts }) => `${role}: ${texts.filter(text => typeof text === 'string').join('\n')}`)
    .join('\n')
}

const messageOf = (role: unknown, parts: unknown): Message => ({
  role,
  texts: listOf(parts).map(({ content }) => content),
})

const numberedName =
  /^(?:gen_ai\.prompt|llm\.input_messages)\.(\d+)\.(?:message\.)?(?:(role)|content|contents\.\d+\.message_content\.text)$/

/** Messages with an attribute for each role and each text, as OpenInference and older programs write them. */
function numberedMessages(attributes: ReadonlyMap<string, unknown>): readonly Message[] {
  const found = new Map<number, { role: unknown; texts: unknown[] }>()
  for (const [name, value] of attributes) {
    const [, number, role] = numberedName.exec(name) ?? []
    if (number === undefined) continue
    const message = found.get(Number(number)) ?? { role: 'user', texts: [] }
    found.set(Number(number), message)
    if (role === undefined) message.texts.push(value)
    else message.role = value
  }
  return [...found].sort(([a], [b]) => a - b).map(([, message]) => message)
}
