import type { ChatOptions } from '../contract/chat-options.ts'
import type { ClauseId } from '../contract/clauses.ts'
import type { Contract, Model } from '../contract/contract.ts'
import { documentedContract } from '../contract/documented.ts'
import { isObject, toObject } from '../lib/json.ts'
import { pico } from '../lib/money.ts'
import { is2xx, numberIn } from '../lib/numbers.ts'
import { type StreamRecord, streamOf } from '../observation/observation.ts'
import type { ReplayStep } from '../plan/plan.ts'
import type { Answer, Ask } from './asker.ts'
import { brokenClauses } from './judge-answers.ts'
import {
  because,
  type ChatUse,
  type Conclusion,
  cite,
  type Fact,
  isAbsent,
  isService,
  type Known,
  type LengthField,
  type Question,
  refusalStatus,
  unknown,
  value,
} from './question.ts'

const { chat } = documentedContract

const maxTokens = 16
/** More than the prompt of one word and the system prompts of a service. */
const promptTokens = 300n
/** For a model without a listed price, per million tokens. */
const assumedPrice = { input: '20', output: '80' }

export function chatPico({ usdPerMillion }: Pick<Model, 'usdPerMillion'>, tokens = maxTokens): bigint {
  const { input, output } = usdPerMillion ?? assumedPrice
  return (promptTokens * pico(input) + BigInt(tokens) * pico(output)) / 1_000_000n
}

/** Omits the option that a run always sends, because another server may refuse it. */
const noParameters = chat.systemPromptOption === null ? {} : { [chat.systemPromptOption]: null }

/** The smallest completion, whole or streamed. */
export const chatAsk = (model: Model, options: Partial<ChatOptions> = {}, stream = false): Ask => ({
  call: {
    ...{ kind: 'chat', model: model.id, modelTier: model.tier, stream },
    ...{ promptTokens: 1, maxCompletionTokens: maxTokens, isBounded: true },
    options: { body: {}, parameters: noParameters, suffix: null, encoding: null, samePrompt: false, ...options },
  },
  worstPico: chatPico(model),
})

/** The encodings of usual clients. */
const compressed = { encoding: 'gzip, br' } as const

const withChat = (changes: Partial<Contract['chat']>) => (contract: Contract) => ({
  ...contract,
  chat: { ...contract.chat, ...changes },
})

const isCompletion = ({ status, body }: Answer): boolean =>
  is2xx(status) && isObject(body) && (Array.isArray(body.choices) || body.object === 'chat.completion')

/** At most this many models are tried. */
const maxModels = 2

/** An unstreamed completion of the cheapest model, whose client accepts compression. */
export const completion: Question = {
  name: 'completion',
  calls: 2 * maxModels + 1,
  applies: ({ chat: use }) => use === null,
  answer: async (known, { ask }) => {
    const tried: Answer[] = []
    for (const model of cheapestOf(known).slice(0, maxModels)) {
      for (const lengthField of lengthFields(known)) {
        const whole = await ask(chatAsk(model, compressed), withChat({ lengthField }))
        if (isCompletion(whole)) return concludeCompletion({ model, lengthField, whole }, tried, known)
        tried.push(whole)
        if (isAbsent(whole)) return { findings: [missingChat(whole)], unjudged: tried }
        if (is2xx(whole.status) && whole.why !== '') {
          // Its encoding is judged, and the same completion is asked for without compression.
          const unjudged = tried.slice(0, -1)
          const plain = await ask(chatAsk(model), withChat({ lengthField }))
          if (isCompletion(plain)) return concludeCompletion({ model, lengthField, whole: plain }, unjudged, known)
          return { findings: [unknown('chat', because(plain))], unjudged }
        }
        if (whole.status !== 400 && whole.status !== 422) break
      }
    }
    const [first] = tried
    return { findings: first === undefined ? [] : [unknown('chat', because(first))], unjudged: tried }
  },
}

/** The documented name of the field first. Other servers know the older name, and may ignore the documented one. */
const lengthFields = (known: Known): readonly LengthField[] =>
  isService(known) ? ['max_completion_tokens', 'max_tokens'] : ['max_tokens', 'max_completion_tokens']

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

function concludeCompletion(use: ChatUse, unjudged: readonly Answer[], known: Known): Conclusion {
  const { whole } = use
  const findings: Fact[] = [...compressionFacts(whole), ...choiceFacts(whole, isService(known))]
  if (use.lengthField !== lengthFields(known)[0])
    findings.push(value(['chat', 'lengthField'], use.lengthField, whole, 'the other field is refused'))
  return { known: { chat: use }, findings, unjudged }
}

function compressionFacts(whole: Answer): readonly Fact[] {
  const { observation, headers } = whole
  if (observation?.request.kind !== 'chat' || observation.request.options?.encoding === null) return []
  const encoding = headers['content-encoding']?.trim().toLowerCase()
  return encoding === 'gzip' || encoding === 'br'
    ? [unknown('chat.compression', `${cite(whole)} was compressed; one response does not prove that all are`)]
    : [value(['chat', 'compression'], 'optional', whole, `content-encoding is ${encoding ?? 'missing'}`)]
}

function choiceFacts(whole: Answer, isOwn: boolean): readonly Fact[] {
  const stated = toObject(whole.body)?.choices
  const choices = Array.isArray(stated) ? stated.map(toObject) : []
  const findings: Fact[] = []
  if (choices.some(choice => choice !== null && !('logprobs' in choice)))
    findings.push(value(['chat', 'logprobsKey'], 'optional', whole, 'a choice has no key logprobs'))
  if (!isOwn && choices.some(choice => choice !== null && !('index' in choice))) {
    const text = 'a choice has no index, which clients of OpenAI read'
    findings.push(value(['chat', 'choiceIndex'], 'optional', whole, text), {
      kind: 'difference',
      clause: 'chat.choice',
      text,
      evidence: cite(whole),
      always: false,
    })
  }
  const ends = choices.map(choice => choice?.finish_reason).filter(end => typeof end === 'string')
  if (ends.some(end => !chat.finishReasons.includes(end)))
    findings.push(
      value(
        ['chat', 'finishReasons'],
        [...new Set([...chat.finishReasons, ...ends])],
        whole,
        'a finish reason that is not documented',
      ),
    )
  return findings
}

/**
 * A stream that asks for usage, and one that does not. A stream with another done marker is only read right if the marker
 * is known.
 */
export const stream: Question = {
  name: 'stream',
  calls: 3,
  applies: ({ chat: use }) => use !== null,
  answer: async ({ chat: use }, { ask }) => {
    if (use === null) return { findings: [] }
    let doneMarker = chat.stream.doneMarker
    const send = (asksForUsage: boolean) =>
      ask(chatAsk(use.model, compressed, true), withChat({ stream: { ...chat.stream, doneMarker, asksForUsage } }))
    const first = await send(true)
    doneMarker = markerOf(first) ?? doneMarker
    const plain = await send(false)
    const isAsked = recordOf(first) !== null
    const read = isAsked ? first : plain
    const marker = markerOf(read)
    const isMisread = marker !== null && marker !== chat.stream.doneMarker
    doneMarker = marker ?? doneMarker
    const judged = !isMisread ? read : isAsked && hasUsage(plain) ? plain : await send(isAsked)
    const record = recordOf(judged)
    if (record === null) {
      // One that is only labeled otherwise is judged.
      const unjudged = isStreamAnswer(first) ? [plain] : [first, plain]
      return { findings: isStreamAnswer(first) ? [] : [noStream(first, plain)], unjudged }
    }
    return {
      findings: [...streamFacts(record, marker, judged), ...usageFacts(first, plain)],
      // A run asks for usage, unless that is refused.
      unjudged: [first, plain].filter(each => each !== judged || (!isAsked && !isRefused(first))),
    }
  },
}

const recordOf = ({ observation }: Answer): StreamRecord | null => {
  const record = observation === null ? null : streamOf(observation)
  return record === null || record.grammar.length === 0 ? null : record
}

/** Whether a completion came as a stream, with whatever content type. */
export const isStreamAnswer = (answer: Answer): boolean => {
  const body = answer.observation?.response?.body
  return recordOf(answer) !== null || (is2xx(answer.status) && body?.kind === 'text' && body.head.startsWith('data:'))
}

const hasUsage = (reply: Answer): boolean => isObject(recordOf(reply)?.usage)

const isRefused = ({ status }: Answer): boolean => status === 400 || status === 422

const noStream = (first: Answer, plain: Answer): Fact =>
  is2xx(first.status) && first.body !== undefined
    ? {
        kind: 'missing',
        clauses: ['chat.stream.*'],
        text: 'streams: stream true gets an ordinary completion',
        evidence: cite(first),
      }
    : unknown('chat.stream', `${because(first)}; ${because(plain)}`)

/** The data of the last event, if it ends the stream; null: no such event, or one with a chunk. */
function markerOf(reply: Answer): string | null {
  const { grammar, malformed } = recordOf(reply) ?? { grammar: [], malformed: [] }
  const [last] = grammar.at(-1) ?? []
  if (last === 'done') return chat.stream.doneMarker
  const count = grammar.reduce((sum, [part, times]) => sum + (part === 'malformed' ? times : 0), 0)
  // Of many such events, only the first ones are recorded.
  const text = last === 'malformed' && count === malformed.length ? malformed.at(-1) : undefined
  return text !== undefined && text !== '' && text.length <= maxWord ? text : null
}

const maxWord = 100

function streamFacts({ objects, chunks }: StreamRecord, marker: string | null, reply: Answer): readonly Fact[] {
  const [object, another] = objects
  const findings: Fact[] = []
  if (object !== undefined && object !== '' && another === undefined && object.length <= maxWord)
    findings.push(value(['chat', 'stream', 'chunkObject'], object, reply, `the object of ${chunks} chunks`))
  if (marker !== null)
    findings.push(value(['chat', 'stream', 'doneMarker'], marker, reply, 'the data of the last event'))
  return findings
}

/** Whether streams state their usage only if they are asked, or refuse to be asked. */
function usageFacts(first: Answer, plain: Answer): readonly Fact[] {
  if (recordOf(first) === null) {
    const path = ['chat', 'stream', 'asksForUsage'] as const
    return [
      isRefused(first)
        ? value(path, false, first, 'a stream with stream_options is refused')
        : unknown(path.join('.'), because(first)),
    ]
  }
  if (!hasUsage(first) || recordOf(plain) === null || hasUsage(plain)) return []
  return [
    unknown(
      'chat.stream usage without stream_options',
      `${cite(plain)} states none; with stream_options, usage comes (${cite(first)})`,
    ),
  ]
}

/**
 * Whether an idempotency key repeats a completion, and what marks a replay. The same body with another key tells whether
 * equal bytes, or a header, say anything about the key.
 */
export const chatReplays: Question = {
  name: 'replays of completions',
  calls: 6,
  // Otherwise the replays of RPC are asked, or the rules of nodes.
  applies: known => known.chat !== null && !isService(known) && known.rpc === null,
  answer: async ({ chat: use, contract }, { ask, replies }) => {
    if (use === null) return { findings: [] }
    const { call: of, worstPico } = chatAsk(use.model, { samePrompt: true })
    if (of.kind !== 'chat') return { findings: [] }
    const terms = { duplicates: 1, conflictRatio: 1, otherCallerRatio: 0, otherKeyRatio: 0 }
    const send = (first: number, step: ReplayStep, concurrent = false) =>
      ask({ call: { kind: 'replay', of, ...terms, concurrent, repeatAfterMs: null }, step, first, worstPico })
    const key = replies().length + 1
    const original = await send(key, 'original')
    const repeated = await send(key, 'duplicate')
    const other = await send(replies().length + 1, 'original')
    const failed = [original, repeated, other].find(answer => !isCompletion(answer))
    if (failed !== undefined) return { findings: [unknown('idempotency.calls', because(failed))] }
    const mark = replayMarkIn(original, repeated, other)
    if (typeof mark === 'string') {
      // A profile with the name of the header says that it has an effect.
      if (contract.sources['idempotency.header'] !== 'profile' || mark !== newResponse)
        return { findings: [unknown('idempotency.calls', `${cite(repeated)}: ${mark}`)] }
      const calls = value(['idempotency', 'calls'], ['chat'], 'the given profile names the header of their keys')
      return { findings: [calls], known: { replayClauses: ofReplays } }
    }
    const conflict = await send(key, 'conflict')
    const race = replies().length + 1
    const racing = await Promise.all([send(race, 'original', true), send(race, 'duplicate', true)])
    const status = refusalStatus(conflict)
    return {
      findings: [
        value(['idempotency', 'calls'], ['chat'], repeated, mark.evidence),
        ...mark.values.map(([name, what]) => value(['idempotency', name], what, repeated, mark.evidence)),
        ...(status === null
          ? [unknown('idempotency.conflict', conflictText(conflict, original))]
          : [value(['idempotency', 'conflict'], [status], conflict, 'a used key with another body')]),
        ...raceFacts(racing),
        unknown('idempotency.ttlMs', 'would take as long as the target keeps a response for its key'),
      ],
      known: { replayClauses: [...ofReplays, ...(status === null ? [] : (['rpc.replay.conflict'] as const))] },
    }
  },
}

/** What two requests at once with one key show: whether a key is claimed before its request runs. */
function raceFacts(racing: readonly Answer[]): readonly Fact[] {
  const path = (name: string) => ['idempotency', name] as const
  const evidence = racing.map(cite).join('; ')
  const refused = racing.find(({ status }) => status === 409 || status === 425)
  const isClaimed = refused !== undefined && racing.some(isCompletion)
  if (isClaimed)
    return [
      value(path('inProgress'), [refused.status], refused, 'a repeated key while its first request is in progress'),
      value(path('concurrent'), 'one-charge', refused, 'a key is claimed before its request runs'),
    ]
  if (!racing.every(isCompletion) || new Set(racing.map(digestOf)).size === 1)
    return [unknown('idempotency.concurrent', `${evidence}: a single race does not prove a promise`)]
  const text = 'each of two requests at once with one key got a response of its own, so a repeated one may pay twice'
  return [
    value(path('concurrent'), 'best-effort', evidence, text),
    { kind: 'difference', clause: 'rpc.replay.charge', text, evidence, always: false },
  ]
}

const conflictText = (conflict: Answer, original: Answer): string =>
  isCompletion(conflict)
    ? `${cite(conflict)}: a used key with another body gets ${digestOf(conflict) === digestOf(original) ? 'the stored response to the first body' : 'a new response'}`
    : because(conflict)

const ofReplays: readonly ClauseId[] = ['rpc.replay.header', 'rpc.replay.body', 'rpc.replay.charge']

const newResponse = 'a repeated key and body gets a new response'

type ReplayMark = {
  readonly values: readonly (readonly ['replayHeader' | 'replayValue' | 'replayStatus', string | number | null])[]
  readonly evidence: string
}

/** Names of headers that tell about a replay or a cache. */
const aboutReplays = /replay|idempot|cache|duplicate/
/** A value that other replays have, too: no time, age or identifier. */
const isWord = (text: string): boolean => /^([a-z][a-z_-]{0,30}|1)$/i.test(text)

/** What a repeated completion has that neither the first one nor one with another key has; or why it is not a replay. */
function replayMarkIn(original: Answer, repeated: Answer, other: Answer): ReplayMark | string {
  const isRepeated = digestOf(repeated) === digestOf(original)
  if (isRepeated && digestOf(other) === digestOf(original))
    return 'another key gets the same bytes, so they do not tell whether it is a replay'
  const [name, text = ''] =
    Object.entries(repeated.headers).find(
      ([each, value]) =>
        aboutReplays.test(each) && value !== original.headers[each] && original.headers[each] === other.headers[each],
    ) ?? []
  if (name !== undefined) {
    const value = isWord(text) ? text : null
    return {
      values: [['replayHeader', name] as const, ['replayValue', value] as const],
      evidence: `a repeated key and body gets ${name}: ${text}`,
    }
  }
  if (!isRepeated) return newResponse
  const hasStatus = repeated.status !== original.status && repeated.status !== other.status
  return {
    values: [['replayHeader', null] as const, ...(hasStatus ? [['replayStatus', repeated.status] as const] : [])],
    evidence: `a repeated key and body gets the same bytes${hasStatus ? ` with status ${repeated.status}` : ''}, another key does not`,
  }
}

const digestOf = ({ observation }: Answer): string | null =>
  observation?.response?.body.kind === 'json' ? observation.response.body.digest : null

/** Units and presence of the limit headers of completions. */
export const tokenLimits: Question = {
  name: 'limit headers of completions',
  calls: 0,
  applies: known => known.chat !== null && isService(known) && known.contract.limits.dialect === null,
  answer: async ({ chat: use, contract }) => {
    if (use === null) return { findings: [] }
    const { whole } = use
    const broken = brokenClauses([whole], contract).find(({ clause }) => clause === 'limit.tokens.headers')
    const has = value(['limits', 'tokenHeaders'], broken === undefined, whole, broken?.text ?? 'it has them')
    const reset = numberIn(whole.headers['x-ratelimit-reset-tokens'])
    if (reset === null) return { findings: [has, unknown('limits.tokensReset', `${cite(whole)} has no token reset`)] }
    const unit = reset > 1e11 ? 'unix-milliseconds' : 'seconds'
    return { findings: [has, value(['limits', 'tokensReset'], unit, whole, `x-ratelimit-reset-tokens is ${reset}`)] }
  },
}
