import { namesModelInPath } from '../chat-terms.ts'
import type { ClausesOf } from '../clauses.ts'
import {
  type CraftedRequest,
  chatRequest,
  chatStreamRequest,
  embeddingRequest,
  expect400,
  type Probe,
  type Probes,
} from '../probe.ts'
import { promisesAny } from '../promises.ts'

type ProbeClause = ClausesOf<'probe'>
type Members = Readonly<Record<string, unknown>>

/** A valid request except for these fields. */
const wrong = (clause: ProbeClause, members: Members, request = chatRequest): Probe => ({
  clause,
  as: 'caller',
  draws: 'chat',
  promised: expect400,
  names: [],
  request: request(() => members),
})

/** A chat request with this text as its body. */
const written = (body: string): Probe => ({
  ...wrong('chat.request', {}),
  draws: 'control',
  request: contract => ({ ...chatRequest(() => ({}))(contract), body }),
})

/** A valid stream except for these fields. */
const wrongStream = (clause: ProbeClause, members: Members): Probe => wrong(clause, members, chatStreamRequest)

/** A valid request except for its model. Where the path names the model, a service need not read it in the body. */
const wrongModel = (model: unknown, request = chatRequest): Probe => ({
  ...wrong('chat.request', { model }, request),
  draws: 'control',
  promised: ({ paths }) => (namesModelInPath(paths.chat) ? [] : [400]),
})

/** A valid request except for its only message. */
const wrongMessage = (clause: ProbeClause, message: Members, request = chatRequest): Probe =>
  wrong(clause, { messages: [message] }, request)

/** A valid request except for its only content part. */
const wrongPart = (clause: ProbeClause, part: Members, request = chatRequest): Probe =>
  wrongMessage(clause, { role: 'user', content: [part] }, request)

const part = { type: 'text', text: 'hello' } as const
const message = { role: 'user', content: 'hello' } as const

/** A valid request except for the second of its three messages. */
const wrongSecondMessage = (clause: ProbeClause, second: Members): Probe =>
  wrong(clause, { messages: [message, second, message] })

/** A valid request except for the second of its three content parts. */
const wrongSecondPart = (clause: ProbeClause, second: Members): Probe =>
  wrongMessage(clause, { role: 'user', content: [part, second, part] })

const persistent = { ...part, cache_control: { type: 'persistent' } } as const

const wrongCacheControl = (control: Members): Probe =>
  wrongPart('chat.request.cache-control', { ...part, cache_control: control })

const typed = (request: CraftedRequest, type: string | null): CraftedRequest => {
  const { 'content-type': _, ...others } = request.headers
  return { ...request, headers: type === null ? others : { ...others, 'content-type': type } }
}

const mediaType = (type: string | null, request = chatRequest): Probe => ({
  clause: 'chat.media-type',
  as: 'caller',
  draws: 'chat',
  promised: ({ chat }) => [chat.wrongMediaTypeStatus],
  names: [],
  request: contract => typed(request(() => ({}))(contract), type),
})

/** An input that is neither a text nor a list of texts. */
const wrongInput = (input: unknown): Probe => ({
  clause: 'embeddings.token-ids',
  as: 'caller',
  draws: 'embedding',
  promised: expect400,
  names: [],
  request: embeddingRequest(input),
})

/** A request whose only token limit, in the field that the target reads, is none. */
const wrongTokenLimit = (clause: ProbeClause, limit: unknown): Probe => ({
  ...wrong(clause, {}),
  promised: contract => (promisesAny(contract, [clause]) ? [400, 422] : []),
  request: chatRequest(({ chat }) => ({ max_completion_tokens: undefined, [chat.lengthField]: limit })),
})

const wrongOption = (members: Parameters<typeof chatRequest>[0], request = chatRequest): Probe => ({
  clause: 'parameters.invalid',
  as: 'caller',
  draws: 'chat',
  promised: expect400,
  names: [],
  request: request(members),
})

const wrongSearchMode = (request = chatRequest): Probe =>
  wrongOption(({ chat }) => ({ [chat.parametersField]: { enable_web_search: 'maybe' } }), request)

const wrongFlag = (request = chatRequest): Probe => ({
  ...wrongOption(({ chat }) => ({ [chat.parametersField]: { strip_thinking_response: 'sometimes' } }), request),
  promised: ({ chat }) => (Object.hasOwn(chat.options, 'strip_thinking_response') ? [400] : []),
})

/** Malformed requests for completions, embeddings, and the options of completions. */
export const chatProbes = {
  'wrong-media-type': mediaType('text/plain'),
  'wrong-media-type-of-stream': mediaType('text/plain', chatStreamRequest),
  'no-media-type': mediaType(null),
  'media-type-with-known-start': mediaType('application/json-patch+json'),
  'media-type-with-known-end': mediaType('text/json'),
  // Without messages, the target should reject it and charge nothing. Any status except that of a wrong media type is
  // valid.
  'media-type-with-charset': {
    ...mediaType(null),
    promised: () => [400, 200],
    request: contract =>
      typed(chatRequest(() => ({ messages: undefined }))(contract), 'application/json; charset=utf-8'),
  },

  'chat-no-json': { ...written('{"model":'), isUnreadable: true },
  'chat-of-null': written('null'),

  'model-missing': wrongModel(undefined),
  'model-no-text': wrongModel(42),
  'messages-missing': wrong('chat.request', { messages: undefined }),
  'messages-missing-in-stream': wrongStream('chat.request', { messages: undefined }),
  'messages-no-list': wrong('chat.request', { messages: 'hello' }),
  'message-without-role': wrongMessage('chat.request.message', { content: 'hello' }),
  'message-content-no-text': wrongMessage('chat.request.message', { role: 'user', content: 42 }),
  'text-part-empty': wrongPart('chat.request.text-part', { type: 'text', text: '' }),
  'text-part-without-text': wrongPart('chat.request.text-part', { type: 'text' }),
  'text-part-without-type': wrongPart('chat.request.text-part', { text: 'hello' }),
  'second-message-without-role': wrongSecondMessage('chat.request.message', { content: 'hello' }),
  'second-message-content-no-text': wrongSecondMessage('chat.request.message', { role: 'user', content: 42 }),
  'second-part-empty': wrongSecondPart('chat.request.text-part', { type: 'text', text: '' }),
  'second-part-without-type': wrongSecondPart('chat.request.text-part', { text: 'hello' }),
  'cache-control-of-second-message': wrongSecondMessage('chat.request.cache-control', {
    role: 'user',
    content: [persistent],
  }),
  'cache-control-of-second-part': wrongSecondPart('chat.request.cache-control', persistent),
  'cache-control-of-other-type': wrongCacheControl({ type: 'persistent' }),
  'cache-control-without-type': wrongCacheControl({}),
  'cache-control-ttl-no-text': wrongCacheControl({ type: 'ephemeral', ttl: 300 }),
  'stream-as-text': wrong('chat.request.stream', { stream: 'true' }),
  'logprobs-as-text': wrong('chat.request.logprobs', { logprobs: 'true' }),
  'frequency-penalty-as-text': wrong('chat.request.frequency-penalty', { frequency_penalty: '1' }),
  'max-temp-as-text': wrong('chat.request.max-temp', { max_temp: '1' }),
  'max-completion-tokens-as-text': wrong('chat.request.max-completion-tokens', { max_completion_tokens: '1' }),
  'max-completion-tokens-fraction': wrong('chat.request.max-completion-tokens', { max_completion_tokens: 1.5 }),
  'max-tokens-as-text': wrong('chat.request.max-tokens', { max_tokens: '1' }),
  'top-logprobs-fraction': wrong('chat.request.top-logprobs', { logprobs: true, top_logprobs: 1.5 }),
  'n-as-text': wrong('chat.request.n', { n: '1' }),
  'n-fraction': wrong('chat.request.n', { n: 1.5 }),
  'stream-no-boolean': wrong('chat.request.stream', { stream: 'sometimes' }),
  'frequency-penalty-too-high': wrong('chat.request.frequency-penalty', { frequency_penalty: 2.01 }),
  'frequency-penalty-too-high-in-stream': wrongStream('chat.request.frequency-penalty', { frequency_penalty: 2.01 }),
  'frequency-penalty-too-low': wrong('chat.request.frequency-penalty', { frequency_penalty: -2.01 }),
  'frequency-penalty-no-number': wrong('chat.request.frequency-penalty', { frequency_penalty: 'high' }),
  'max-temp-too-high': wrong('chat.request.max-temp', { max_temp: 2.01 }),
  'max-temp-too-low': wrong('chat.request.max-temp', { max_temp: -0.01 }),
  'max-temp-no-number': wrong('chat.request.max-temp', { max_temp: 'hot' }),
  'logprobs-no-boolean': wrong('chat.request.logprobs', { logprobs: 'some' }),
  'top-logprobs-too-low': wrong('chat.request.top-logprobs', { logprobs: true, top_logprobs: -1 }),
  'top-logprobs-no-number': wrong('chat.request.top-logprobs', { logprobs: true, top_logprobs: 'all' }),
  'max-completion-tokens-no-number': wrong('chat.request.max-completion-tokens', { max_completion_tokens: 'few' }),
  'max-tokens-no-number': wrong('chat.request.max-tokens', { max_tokens: 'few' }),
  'n-no-number': wrong('chat.request.n', { n: 'two' }),
  'prompt-cache-key-no-text': wrong('chat.request.prompt-cache-key', { prompt_cache_key: 42 }),

  'token-limit-below-zero': wrongTokenLimit('chat.token-limit.below-zero', -1),
  'token-limit-fraction': wrongTokenLimit('chat.token-limit.whole-number', 1.5),
  'token-limit-in-words': wrongTokenLimit('chat.token-limit.whole-number', 'ten'),
  'model-missing-in-stream': wrongModel(undefined, chatStreamRequest),
  'message-without-role-in-stream': wrongMessage('chat.request.message', { content: 'hello' }, chatStreamRequest),
  'text-part-empty-in-stream': wrongPart('chat.request.text-part', { type: 'text', text: '' }, chatStreamRequest),
  'cache-control-of-other-type-in-stream': wrongPart('chat.request.cache-control', persistent, chatStreamRequest),
  'max-temp-too-high-in-stream': wrongStream('chat.request.max-temp', { max_temp: 2.01 }),
  'logprobs-no-boolean-in-stream': wrongStream('chat.request.logprobs', { logprobs: 'some' }),
  'top-logprobs-too-low-in-stream': wrongStream('chat.request.top-logprobs', { logprobs: true, top_logprobs: -1 }),
  'max-completion-tokens-no-number-in-stream': wrongStream('chat.request.max-completion-tokens', {
    max_completion_tokens: 'few',
  }),
  'max-tokens-no-number-in-stream': wrongStream('chat.request.max-tokens', { max_tokens: 'few' }),
  'n-no-number-in-stream': wrongStream('chat.request.n', { n: 'two' }),
  'prompt-cache-key-no-text-in-stream': wrongStream('chat.request.prompt-cache-key', { prompt_cache_key: 42 }),

  'token-ids': wrongInput([15339, 1917]),
  'lists-of-token-ids': wrongInput([[15339, 1917], [15339]]),
  'token-ids-among-texts': wrongInput(['hello', 15339]),

  'unknown-search-mode': wrongSearchMode(),
  'unknown-search-mode-in-stream': wrongSearchMode(chatStreamRequest),
  'flag-as-text': wrongFlag(),
  'flag-as-text-in-stream': wrongFlag(chatStreamRequest),
  // No such option, or no such model: the status of the latter is open.
  'unknown-search-mode-in-suffix': {
    ...wrongOption(({ models: [model] }) => ({ model: `${model?.id}:enable_web_search=maybe` })),
    promised: () => [400, 404, 422],
  },
} as const satisfies Probes
