import { isObject, type JsonObject, parseObject, toObject } from '../lib/json.ts'
import { describeValue } from '../lib/usage-error.ts'
import { charactersPerToken, createBlockNumbers, textBlockTokens } from './prompt-blocks.ts'
import { chunksOf, elementsOf } from './text-source.ts'
import { elementIn, emptyRow, lengthsOf, type TrafficFormat, type TrafficItem } from './trace-row.ts'

/**
 * What a browser or a proxy recorded. Only the time, the request body and the usage are read: no address, no header and no
 * cookie reaches the trace.
 */
export const har: TrafficFormat = {
  title: 'a HAR file',
  matches: head => /^\s*\{\s*"log"\s*:\s*\{/.test(head),
  blockTokens: textBlockTokens,
  read: async function* (file, { keepsText, onBytes }) {
    const blocksOf = createBlockNumbers()
    for await (const batch of elementsOf(file, chunksOf(file, onBytes), /^log\/entries$/))
      yield batch.map(({ line, text }) => entryItem(line, text, keepsText, blocksOf))
  },
}

function entryItem(
  line: number,
  json: string | null,
  keepsText: boolean,
  blocksOf: ReturnType<typeof createBlockNumbers>,
): TrafficItem {
  const read = elementIn(json, 'an entry')
  if ('mistake' in read) return { line, mistake: read.mistake }
  const entry = read.element
  const request = toObject(entry.request) ?? {}
  const body = parseObject(String(toObject(request.postData)?.text ?? ''))
  const prompt = body === null ? null : promptOf(body)
  if (request.method !== 'POST' || body === null || prompt === null)
    return { line, leftOut: 'entries that are no request to a chat model' }
  const timeMs = Date.parse(String(entry.startedDateTime))
  if (Number.isNaN(timeMs)) {
    const got = `startedDateTime ${describeValue(entry.startedDateTime)}`
    return { line, mistake: { got, expected: 'a date such as 2026-01-31T12:00:00.000Z' } }
  }
  const { input, output, cached, text: answer } = answerOf(toObject(toObject(entry.response)?.content) ?? {})
  const most = body.max_completion_tokens ?? body.max_tokens ?? body.max_output_tokens
  const lengths = lengthsOf(
    input ?? Math.ceil(prompt.length / charactersPerToken),
    output ?? (answer === '' ? most : Math.ceil(answer.length / charactersPerToken)),
    ['prompt tokens', 'the tokens of an answer without usage, text and maximum'],
  )
  if ('mistake' in lengths) return { line, mistake: lengths.mistake }
  const hashIds = blocksOf(prompt, lengths.input)
  const text = keepsText ? withoutSecrets(prompt, secretsOf(request)) : null
  const row = { ...emptyRow, timeMs, lengths, hashIds, cached: Math.min(cached, lengths.input), text }
  return { line, row, model: typeof body.model === 'string' ? body.model : null }
}

/** The text of a request to a chat model; null: it is another request. */
function promptOf({ messages, prompt, input, system, instructions }: JsonObject): string | null {
  const first = textIn(system ?? instructions)
  const written = messages ?? input ?? prompt
  if (!Array.isArray(written) && typeof written !== 'string') return null
  if (typeof written === 'string' && messages === undefined && input === undefined && prompt === undefined) return null
  return [...(first === '' ? [] : [`system: ${first}`]), textIn(written)].join('\n')
}

/** All texts of a message, of a list of messages, or of parts of one. */
function textIn(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.map(textIn).join('\n')
  const part = toObject(value)
  if (part === null) return ''
  const text = textIn(part.content ?? part.text)
  return typeof part.role === 'string' ? `${part.role}: ${text}` : text
}

type Answer = {
  readonly input: number | null
  readonly output: number | null
  readonly cached: number
  readonly text: string
}

/** What an answer says about its tokens, and its text: a JSON document, or a stream of events. */
function answerOf({ text: written, encoding }: JsonObject): Answer {
  const text = typeof written !== 'string' ? '' : encoding === 'base64' ? fromBase64(written) : written
  const whole = parseObject(text)
  const events = whole === null ? text.split('\n').filter(line => line.startsWith('data:')) : []
  const parts = whole === null ? events.map(line => parseObject(line.slice(5))).filter(isObject) : [whole]
  const usage: Record<string, unknown> = {}
  let said = ''
  for (const part of parts) {
    for (const holder of [part, part.message, part.response]) Object.assign(usage, toObject(toObject(holder)?.usage))
    said += saidIn(part)
  }
  const details = toObject(usage.prompt_tokens_details ?? usage.input_tokens_details)
  const read = tokens(usage.cache_read_input_tokens) ?? 0
  const stored = tokens(usage.cache_creation_input_tokens) ?? 0
  const own = tokens(usage.prompt_tokens ?? usage.input_tokens)
  return {
    // Anthropic counts cached tokens beside the others.
    input: own === null ? null : own + read + stored,
    output: tokens(usage.completion_tokens ?? usage.output_tokens),
    cached: tokens(details?.cached_tokens) ?? read,
    text: said,
  }
}

const fromBase64 = (text: string): string => Buffer.from(text, 'base64').toString()

const tokens = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : null

/** The text that a completion, or an event of one, has for the reader. */
function saidIn(part: JsonObject): string {
  const choices: readonly unknown[] = Array.isArray(part.choices) ? part.choices : []
  const ofChoices = choices.filter(isObject).map(({ message, delta, text }) => {
    const content = toObject(message ?? delta)?.content
    return typeof content === 'string' ? content : typeof text === 'string' ? text : ''
  })
  const delta = toObject(part.delta)?.text ?? part.delta
  return ofChoices.join('') + (typeof delta === 'string' ? delta : '') + textIn(part.role ? part.content : '')
}

/** Names of headers and parameters whose values are secrets. */
const secretNames = /authorization|cookie|key|token|secret|session|signature|password/i
const minSecretLength = 6

/** What the request used to say who it is: headers, cookies and parameters. People paste them into prompts. */
function secretsOf(request: JsonObject): readonly string[] {
  const pairs = ['headers', 'cookies', 'queryString'].flatMap(list => {
    const entries = request[list]
    const all = Array.isArray(entries) ? entries.filter(isObject) : []
    return list === 'cookies' ? all : all.filter(({ name }) => secretNames.test(String(name)))
  })
  return pairs
    .flatMap(({ value }) => [String(value), ...String(value).split(/[\s;=,]+/)])
    .filter(value => value.length >= minSecretLength)
    .toSorted((a, b) => b.length - a.length)
}

const withoutSecrets = (text: string, secrets: readonly string[]): string =>
  secrets.reduce((left, secret) => left.replaceAll(secret, '***'), text)
