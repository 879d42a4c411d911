import type { Model } from '../contract/contract.ts'
import { documentedContract } from '../contract/documented.ts'
import { isObject, parseJson, toObject } from '../lib/json.ts'
import { parsePico, pico } from '../lib/money.ts'
import { is2xx } from '../lib/numbers.ts'
import { statedLimitFindings } from './ask-lists.ts'
import type { Answer, Ask } from './asker.ts'
import {
  because,
  type ChatUse,
  type Conclusion,
  cite,
  difference,
  type Fact,
  headerNumber,
  isAbsent,
  type Known,
  type Question,
  unknown,
  value,
} from './question.ts'

const { paths, chat } = documentedContract

const maxTokens = 16
/** More than the prompt of one word and the system prompts of a service. */
const promptTokens = 300n
/** For a model without a listed price, per million tokens. */
const assumedPrice = { input: '20', output: '80' }

export function chatPico({ usdPerMillion }: Pick<Model, 'usdPerMillion'>): bigint {
  const { input, output } = usdPerMillion ?? assumedPrice
  return (promptTokens * pico(input) + BigInt(maxTokens) * pico(output)) / 1_000_000n
}

/** The smallest completion, with these fields. An undefined field is left out. */
export const chatAsk = (
  { model, lengthField }: Pick<ChatUse, 'model' | 'lengthField'>,
  members: Readonly<Record<string, unknown>> = {},
  more: Partial<Ask> = {},
): Ask => ({
  method: 'POST',
  path: paths.chat,
  body: { model: model.id, messages: [{ role: 'user', content: 'hello' }], [lengthField]: maxTokens, ...members },
  scope: model.id,
  worstPico: chatPico(model),
  ...more,
})

const isCompletion = ({ status, body }: Answer): boolean =>
  is2xx(status) && isObject(body) && (Array.isArray(body.choices) || body.object === 'chat.completion')

/** At most this many models are tried. */
const maxModels = 2

/** An unstreamed completion of the cheapest model, whose client accepts compression. */
export const completion: Question = {
  name: 'completion',
  calls: 2 * maxModels,
  applies: ({ chat: use }) => use === null,
  answer: async (known, { ask }) => {
    let first: Answer | null = null
    for (const model of cheapestOf(known).slice(0, maxModels)) {
      for (const lengthField of lengthFields(known)) {
        const reply = await ask(chatAsk({ model, lengthField }, {}, { headers: { 'accept-encoding': 'gzip, br' } }))
        first ??= reply
        if (isCompletion(reply)) return concludeCompletion({ model, lengthField, whole: reply }, known)
        if (isAbsent(reply)) return { findings: [missingChat(reply)] }
        if (is2xx(reply.status) && reply.why !== '') {
          const plain = await ask(chatAsk({ model, lengthField }))
          return concludeUnreadable(reply, { model, lengthField, whole: plain }, known)
        }
        if (reply.status !== 400 && reply.status !== 422) break
      }
    }
    return { findings: first === null ? [] : [unknown('chat', because(first))] }
  },
}

/** A body that is not compressed as its header says, and the same completion without compression. */
function concludeUnreadable(broken: Answer, use: ChatUse, known: Known): Conclusion {
  const fact = difference('chat.compression.body', broken.why, broken, false)
  if (!isCompletion(use.whole)) return { findings: [fact, unknown('chat', because(use.whole))] }
  const { findings, ...more } = concludeCompletion(use, known)
  return {
    findings: [fact, ...findings.filter(each => each.kind !== 'value' || each.path[1] !== 'compression')],
    ...more,
  }
}

/** The documented name of the field first. Other servers know the older name, and may ignore the documented one. */
const lengthFields = ({ prefix, limits, networks }: Known): readonly string[] =>
  prefix !== null || limits.size > 0 || networks.length > 0
    ? ['max_completion_tokens', 'max_tokens']
    : ['max_tokens', 'max_completion_tokens']

const missingChat = (reply: Answer): Fact => ({
  kind: 'missing',
  clauses: ['chat.*', 'parameters.*', 'header.model-*', 'limit.tokens.*'],
  text: 'chat completions',
  evidence: cite(reply),
})

/** Current models with a known price first, cheapest first, and with room for a few requests. */
function cheapestOf({ models, limits }: Known): readonly Model[] {
  const rank = ({ id, usdPerMillion, lifecycle, payingOnly }: Model) => [
    (limits.get(`chat:${id}`) ?? 100) < 5 || lifecycle === 'deprecated' || payingOnly ? 1 : 0,
    usdPerMillion === null ? Number.POSITIVE_INFINITY : Number(chatPico({ usdPerMillion })),
  ]
  return models.toSorted((a, b) => {
    const [ofA, ofB] = [rank(a), rank(b)]
    const index = ofA.findIndex((each, at) => each !== ofB[at])
    return index < 0 ? 0 : (ofA[index] ?? 0) - (ofB[index] ?? 0)
  })
}

function concludeCompletion(use: ChatUse, known: Known): Conclusion {
  const { limits } = known
  const { whole, model } = use
  const encoding = whole.headers['content-encoding']?.trim().toLowerCase()
  const body = toObject(whole.body)
  return {
    known: { chat: use },
    findings: [
      encoding === 'gzip' || encoding === 'br'
        ? unknown('chat.compression', `${cite(whole)} was compressed; one response does not prove that all are`)
        : value(['chat', 'compression'], 'optional', whole, `content-encoding is ${encoding ?? 'missing'}`),
      ...(use.lengthField === lengthFields(known)[0]
        ? []
        : [value(['chat', 'lengthField'], use.lengthField, whole, 'the other field is refused')]),
      ...bodyFindings(body, whole, model),
      ...statedLimitFindings(whole, model.id, limits),
    ],
  }
}

function bodyFindings(body: ReturnType<typeof toObject>, reply: Answer, { usdPerMillion, id }: Model): readonly Fact[] {
  const findings: Fact[] = []
  if (reply.status !== 200)
    findings.push(difference('chat.status', `a completion has status ${reply.status}, and not 200`, reply))
  if (body?.object !== 'chat.completion')
    findings.push(difference('chat.object', 'object is not chat.completion', reply))
  if (typeof body?.id !== 'string') findings.push(difference('chat.id', 'a completion has no id', reply))
  if (body?.model !== id)
    findings.push(difference('chat.model', 'a completion does not name the requested model', reply))
  const usage = usageIn(body?.usage)
  if (usage === null)
    findings.push(difference('chat.usage', 'a completion has no usage with three token counts', reply))
  else if (usage.total !== usage.prompt + usage.completion)
    findings.push(
      difference(
        'chat.usage.sum',
        `total_tokens is ${usage.total}, for ${usage.prompt} + ${usage.completion}`,
        reply,
        false,
      ),
    )
  if (usage !== null && usage.completion > maxTokens)
    findings.push(
      difference(
        'chat.max-completion-tokens',
        `${usage.completion} tokens were generated, of at most ${maxTokens}`,
        reply,
        false,
      ),
    )
  const choices = Array.isArray(body?.choices) ? body.choices.map(toObject) : []
  if (choices.some(choice => choice !== null && !('logprobs' in choice)))
    findings.push(value(['chat', 'logprobsKey'], 'optional', reply, 'a choice has no key logprobs'))
  const ends = choices.map(choice => choice?.finish_reason).filter(end => typeof end === 'string')
  if (ends.some(end => !chat.finishReasons.includes(end)))
    findings.push(
      value(
        ['chat', 'finishReasons'],
        [...new Set([...chat.finishReasons, ...ends])],
        reply,
        'a finish reason that is not documented',
      ),
    )
  const cost = toObject(body?.cost)
  if (usage !== null && usdPerMillion !== null && cost !== null && !usage.isCached) {
    const expected =
      BigInt(usage.prompt) * pico(usdPerMillion.input) + BigInt(usage.completion) * pico(usdPerMillion.output)
    const stated = parsePico(((Number(cost.usd) || 0) + (Number(cost.diem) || 0)).toFixed(12))
    const off = stated === null ? null : stated * 1_000_000n - expected
    // Twice the tolerance of the contract.
    const bound = expected / 500_000n + 20_000n * 1_000_000n
    if (off === null || off > bound || off < -bound)
      findings.push(
        difference(
          'chat.cost.amount',
          `cost is ${cost.usd} USD and ${cost.diem} DIEM for ${usage.prompt} + ${usage.completion} tokens, which is not the listed price`,
          reply,
          false,
        ),
      )
  }
  return findings
}

type Usage = {
  readonly prompt: number
  readonly completion: number
  readonly total: number
  readonly isCached: boolean
}

function usageIn(usage: unknown): Usage | null {
  const counts = toObject(usage)
  const [prompt, completion, total] = [counts?.prompt_tokens, counts?.completion_tokens, counts?.total_tokens]
  if (!isCount(prompt) || !isCount(completion) || !isCount(total)) return null
  const details = toObject(counts?.prompt_tokens_details)
  const isCached = Boolean(details?.cached_tokens) || Boolean(details?.cache_creation_input_tokens)
  return { prompt, completion, total, isCached }
}

const isCount = (count: unknown): count is number =>
  typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 && count < 1e9

/** A stream that asks for usage, and one that does not. */
export const stream: Question = {
  name: 'stream',
  calls: 2,
  applies: ({ chat: use }) => use !== null,
  answer: async ({ chat: use }, { ask }) => {
    if (use === null) return { findings: [] }
    const accepts = { headers: { accept: 'text/event-stream', 'accept-encoding': 'gzip, br' } }
    const asking = await ask(chatAsk(use, { stream: true, stream_options: { include_usage: true } }, accepts))
    const plain = await ask(chatAsk(use, { stream: true }, accepts))
    return { findings: concludeStream(asking, plain) }
  },
}

function concludeStream(asking: Answer, plain: Answer): readonly Fact[] {
  const reply = asking.events.length > 0 ? asking : plain
  if (reply.events.length === 0) {
    const isWhole = is2xx(asking.status) && asking.body !== undefined
    return isWhole
      ? [
          {
            kind: 'missing',
            clauses: ['chat.stream.*'],
            text: 'streams: stream true gets an ordinary completion',
            evidence: cite(asking),
          },
        ]
      : [unknown('chat.stream', `${because(asking)}; ${because(plain)}`)]
  }
  const chunks = reply.events.map(data => toObject(parseJson(data)))
  const marker = chunks.at(-1) === null ? reply.events.at(-1) : undefined
  const objects = [...new Set(chunks.flatMap(chunk => (typeof chunk?.object === 'string' ? chunk.object : [])))]
  const [object] = objects
  const hasUsage = ({ events }: Answer) => events.some(data => usageIn(toObject(parseJson(data))?.usage) !== null)
  const findings: Fact[] = []
  if (objects.length === 1 && object !== undefined && object.length <= maxWord)
    findings.push(value(['chat', 'stream', 'chunkObject'], object, reply, `the object of ${chunks.length} chunks`))
  else findings.push(difference('chat.stream.chunk', `chunks have ${objects.length} different objects`, reply))
  if (marker !== undefined && marker.length > 0 && marker.length <= maxWord)
    findings.push(value(['chat', 'stream', 'doneMarker'], marker, reply, 'the data of the last event'))
  else findings.push(difference('chat.stream.done', 'the last event of a stream is no done marker', reply))
  if (chunks.slice(0, -1).includes(null))
    findings.push(difference('chat.stream.chunk', 'an event before the last one is not a JSON object', reply, false))
  if (reply.headers['content-encoding'] !== undefined)
    findings.push(
      difference(
        'chat.compression.stream',
        `a stream has content-encoding ${reply.headers['content-encoding']}`,
        reply,
      ),
    )
  if (asking.events.length === 0)
    findings.push(difference('chat.stream.usage', 'a stream with stream_options is refused', asking, !hasUsage(plain)))
  else if (!hasUsage(asking))
    findings.push(
      difference(
        'chat.stream.usage',
        'a stream states no usage, although it was asked for with stream_options',
        asking,
      ),
    )
  else if (plain.events.length > 0 && !hasUsage(plain))
    findings.push(
      unknown(
        'chat.stream usage without stream_options',
        `${cite(plain)} states none; with stream_options, usage comes (${cite(asking)})`,
      ),
    )
  return findings
}

const maxWord = 100

/** Requests that a service may refuse: an unknown field, and another media type. */
export const strictness: Question = {
  name: 'strictness',
  calls: 2,
  applies: ({ chat: use }) => use !== null,
  answer: async ({ chat: use, prefix, limits }, { ask }) => {
    if (use === null) return { findings: [] }
    const extra = await ask(chatAsk(use, { turnpike_unknown_field: true }))
    const path = ['chat', 'unknownMembers'] as const
    const members = is2xx(extra.status)
      ? value(path, 'tolerated', extra)
      : extra.status === 400 || extra.status === 422
        ? value(path, 'refused', extra, 'a request with an unknown field')
        : unknown(path.join('.'), because(extra))
    if (prefix === null && limits.size === 0) return { findings: [members] }
    const typed = await ask(chatAsk(use, {}, { headers: { 'content-type': 'text/plain' } }))
    return { findings: [members, mediaType(typed)] }
  },
}

function mediaType(reply: Answer): Fact {
  const { status } = reply
  if (status !== null && status >= 400 && status < 500 && status !== 429)
    return value(['chat', 'wrongMediaTypeStatus'], status, reply, 'a chat request of text/plain')
  return is2xx(status)
    ? difference('chat.media-type', 'a chat request of text/plain is accepted', reply)
    : unknown('chat.wrongMediaTypeStatus', because(reply))
}

/** Units and presence of the limit headers of completions. */
export const tokenLimits: Question = {
  name: 'limit headers of completions',
  calls: 0,
  applies: ({ chat: use, prefix, limits }) => use !== null && (prefix !== null || limits.size > 0),
  answer: async ({ chat: use }) => {
    if (use === null) return { findings: [] }
    const { whole } = use
    const names = ['limit', 'remaining', 'reset'].map(name => `x-ratelimit-${name}-tokens`)
    const absent = names.filter(name => headerNumber(whole, name) === null)
    const has = value(
      ['limits', 'tokenHeaders'],
      absent.length === 0,
      whole,
      absent.length === 0 ? 'it has them' : `without ${absent.join(', ')}`,
    )
    const reset = headerNumber(whole, 'x-ratelimit-reset-tokens')
    if (reset === null) return { findings: [has, unknown('limits.tokensReset', `${cite(whole)} has no token reset`)] }
    const evidence = `x-ratelimit-reset-tokens is ${reset}`
    if (reset > 1e11) return { findings: [has, value(['limits', 'tokensReset'], 'unix-milliseconds', whole, evidence)] }
    if (reset > 1e9) return { findings: [has, difference('limit.tokens.reset', `${evidence}, Unix seconds`, whole)] }
    return { findings: [has, value(['limits', 'tokensReset'], 'seconds', whole, evidence)] }
  },
}
