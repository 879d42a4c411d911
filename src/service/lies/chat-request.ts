import { unknownMember } from '../../contract/chat-options.ts'
import { clauseIds } from '../../contract/clauses.ts'
import { isObject, parseJson } from '../../lib/json.ts'
import { amend, amended, type Fields, result } from './decisions.ts'
import { alsoViolating, type LieRow, type Lies } from './lie.ts'
import { dropHeaders, isAny, isOf, replies, setFields, setStatus, setText } from './replies.ts'

/** Handles a changed request instead of the one received. */
const reads = (text: string, change: (body: Fields) => Fields): LieRow =>
  result(text, 'chatBody', body => (isObject(body) ? change(body) : body))

const ignores = (text: string, field: string, isUnsuitable: (value: unknown) => boolean): LieRow =>
  reads(text, ({ [field]: value, ...others }) =>
    value === undefined || isUnsuitable(value) ? others : { ...others, [field]: value },
  )

/** Reads a number or a boolean that is written as a text. */
const readsText = (text: string, field: string): LieRow =>
  reads(text, body => {
    const value = body[field]
    const read = isText(value) && /^(true|false|-?\d+(\.\d+)?)$/.test(value) ? JSON.parse(value) : value
    return value === undefined ? body : { ...body, [field]: read }
  })

/** Rounds a number down. */
const truncates = (text: string, field: string): LieRow =>
  reads(text, body => (isNumber(body[field]) ? { ...body, [field]: Math.trunc(body[field]) } : body))

/** Clamps a number instead of rejecting it. */
const clamps = (text: string, field: string, min: number, max: number): LieRow =>
  reads(text, body => (isNumber(body[field]) ? { ...body, [field]: Math.min(max, Math.max(min, body[field])) } : body))

/** Reads a token limit, whichever field has it, as another one. */
const readsTokenLimit = (text: string, change: (limit: unknown) => unknown): LieRow =>
  reads(text, body =>
    Object.fromEntries(
      Object.entries(body).map(([name, each]) => [name, /^max_(completion_)?tokens$/.test(name) ? change(each) : each]),
    ),
  )

type Change = (member: Fields) => Fields
/** Which members of a list are changed. */
type Place = (index: number, length: number) => boolean

const changeObjects = (list: unknown, change: Change, isChanged: Place = () => true): unknown =>
  Array.isArray(list)
    ? list.map((member: unknown, index) =>
        isObject(member) && isChanged(index, list.length) ? change(member) : member,
      )
    : list

/** Changes messages that are objects. */
const readsMessages = (text: string, change: Change, isChanged?: Place): LieRow =>
  reads(text, body => ({ ...body, messages: changeObjects(body.messages, change, isChanged) }))

const inParts =
  (change: Change, isChanged?: Place): Change =>
  message => ({ ...message, content: changeObjects(message.content, change, isChanged) })

/** Changes content parts. */
const readsParts = (text: string, change: Change, isChanged?: Place): LieRow =>
  readsMessages(text, inParts(change, isChanged))

/** Changes `cache_control` where it is an object. */
const inCacheControl =
  (change: Change): Change =>
  part =>
    isObject(part.cache_control) ? { ...part, cache_control: change(part.cache_control) } : part

const readsCacheControl = (text: string, change: Change): LieRow => readsParts(text, inCacheControl(change))

const notFirst: Place = index => index > 0
const notLast: Place = (index, length) => index < length - 1
const withValidMessage: Change = message => ({
  ...message,
  role: message.role ?? 'user',
  content: isNumber(message.content) ? String(message.content) : message.content,
})
const withValidPart: Change = part => ({ ...part, type: part.type ?? 'text', text: part.text || ' ' })
const withValidCacheControl = inCacheControl(control => ({ ...control, type: 'ephemeral' }))

/** Rejects a valid request. */
const rejects = (text: string, isRejected: (body: Fields) => boolean): LieRow =>
  result(text, 'chatObjection', (objection, body) => (isRejected(body) ? 'This request is not supported' : objection))

/** The same for streams alone. */
const inStreams = (lie: LieRow): LieRow => ({
  ...lie,
  text: `In streams: ${lie.text}`,
  overrides: (honest, contract) => {
    const { chatBody = honest.chatBody, chatObjection = honest.chatObjection } = lie.overrides(honest, contract)
    const isStream = (body: unknown) => isObject(body) && body.stream === true
    return {
      chatBody: body => (isStream(body) ? chatBody : honest.chatBody)(body),
      chatObjection: body => (isStream(body) ? chatObjection : honest.chatObjection)(body),
    }
  },
})

const refusedInStreams = (field: string): LieRow =>
  inStreams(rejects(`${field} is rejected.`, body => body[field] !== undefined))

const isText = (value: unknown): value is string => typeof value === 'string'
const isFraction = (value: unknown): boolean => isNumber(value) && !Number.isInteger(value)
const isNumber = (value: unknown): value is number => typeof value === 'number'

const messagesOf = ({ messages }: Fields): readonly Fields[] =>
  Array.isArray(messages) ? messages.filter(isObject) : []

const partsOf = (body: Fields): readonly Fields[] =>
  messagesOf(body).flatMap(({ content }) => (Array.isArray(content) ? content.filter(isObject) : []))

function isShortPrompt(body: Fields): boolean {
  const [message, ...others] = messagesOf(body)
  const words = isText(message?.content) ? message.content.split(' ').length : 0
  return others.length === 0 && (words === 2 || words === 3)
}

/** The clauses about invalid fields of a chat request. */
const ofFields = clauseIds.filter(id => /^chat\.request\.|^parameters\.(invalid|suffix)$/.test(id))

export const chatRequestLies = {
  'chat.request': {
    'model-by-default': reads('A request without a model runs on the smallest model.', body => ({
      ...body,
      model: isText(body.model) ? body.model : 'ref-nano-3b',
    })),
    'conversation-by-default': reads('A request without messages is accepted.', body => ({
      ...body,
      messages: Array.isArray(body.messages) ? body.messages : [{ role: 'user', content: 'hello' }],
    })),
    'half-a-chat-is-500': replies(
      'A chat request that is not JSON returns 500.',
      isOf('chat', 400),
      (reply, { request }) => (parseJson(request.body) === undefined ? { ...reply, status: 500 } : reply),
    ),
    'null-chat-is-500': replies('A chat request that is null returns 500.', isOf('chat', 400), (reply, { request }) =>
      parseJson(request.body) === null ? { ...reply, status: 500 } : reply,
    ),
    'invalid-chats-crash-it': alsoViolating(
      ofFields,
      replies(
        'An invalid chat request returns a 500 without the version of the service, as after a crash.',
        isOf('chat', 400),
        dropHeaders('{prefix}version'),
        setStatus(500),
        setText('Internal Server Error'),
      ),
    ),
    'conversation-by-default-in-streams': inStreams(
      reads('A request without messages is accepted.', body => ({
        messages: [{ role: 'user', content: 'hello' }],
        ...body,
      })),
    ),
    'model-by-default-in-streams': inStreams(
      reads('A request without a model runs on the smallest model.', body => ({ model: 'ref-nano-3b', ...body })),
    ),
    'short-prompts-refused': rejects('A prompt of two or three words is rejected.', isShortPrompt),
  },
  'chat.request.message': {
    'user-by-default': readsMessages('A message without a role is accepted as one of the user.', message => ({
      ...message,
      role: message.role ?? 'user',
    })),
    'any-content': readsMessages('A number is accepted as content.', message =>
      isNumber(message.content) ? { ...message, content: String(message.content) } : message,
    ),
    'first-message-checked': readsMessages('Only the first message is checked.', withValidMessage, notFirst),
    'last-message-checked': readsMessages('Only the last message is checked.', withValidMessage, notLast),
    'user-by-default-in-streams': inStreams(
      readsMessages('A message without a role is accepted as one of the user.', message => ({
        role: 'user',
        ...message,
      })),
    ),
    'system-message-refused-in-streams': inStreams(
      rejects('A system message is rejected.', body => messagesOf(body).some(({ role }) => role === 'system')),
    ),
    'system-message-refused': rejects('A system message is rejected.', body =>
      messagesOf(body).some(({ role }) => role === 'system'),
    ),
  },
  'chat.request.text-part': {
    'empty-text': readsParts('A text part may be empty.', part => (part.text === '' ? { ...part, text: ' ' } : part)),
    'part-without-text': readsParts('A text part without text is accepted.', part =>
      part.type === 'text' && part.text === undefined ? { ...part, text: ' ' } : part,
    ),
    'part-without-type': readsParts('A part without a type is accepted as text.', part =>
      part.type === undefined ? { ...part, type: 'text' } : part,
    ),
    'first-part-checked': readsParts('Only the first part of a message is checked.', withValidPart, notFirst),
    'last-part-checked': readsParts('Only the last part of a message is checked.', withValidPart, notLast),
    'empty-text-in-streams': inStreams(
      readsParts('A text part may be empty.', part => (part.text === '' ? { ...part, text: ' ' } : part)),
    ),
    'parts-refused-in-streams': inStreams(
      rejects('Content that is a list is rejected.', body => partsOf(body).length > 1),
    ),
    'single-letter-refused': rejects('A text part of one character is rejected.', body =>
      partsOf(body).some(({ text }) => isText(text) && text.length === 1),
    ),
    'parts-refused': rejects('Content that is a list is rejected.', body => partsOf(body).length > 1),
  },
  'chat.request.cache-control': {
    'any-cache-control': readsCacheControl('cache_control may have any type.', control => ({
      ...control,
      type: control.type && 'ephemeral',
    })),
    'cache-control-by-default': readsCacheControl(
      'cache_control without a type is accepted as ephemeral.',
      control => ({ type: 'ephemeral', ...control }),
    ),
    'any-ttl': readsCacheControl('The ttl of cache_control may be anything.', control => ({
      ...control,
      ttl: undefined,
    })),
    'cache-control-of-first-message-checked': readsMessages(
      'cache_control is checked only in the first message.',
      inParts(withValidCacheControl),
      notFirst,
    ),
    'cache-control-of-first-part-checked': readsParts(
      'cache_control is checked only in the first part of a message.',
      withValidCacheControl,
      notFirst,
    ),
    'cache-control-of-last-part-checked': readsParts(
      'cache_control is checked only in the last part of a message.',
      withValidCacheControl,
      notLast,
    ),
    'any-cache-control-in-streams': inStreams(readsParts('cache_control may have any type.', withValidCacheControl)),
    'cache-control-refused-in-streams': inStreams(
      rejects('cache_control of the type ephemeral is rejected.', body =>
        partsOf(body).some(({ cache_control: control }) => isObject(control) && control.type === 'ephemeral'),
      ),
    ),
    'cache-control-refused': rejects('cache_control is rejected.', body =>
      partsOf(body).some(({ cache_control: control }) => control !== undefined),
    ),
  },
  'chat.request.stream': {
    'stream-if-true': ignores(
      'A stream that is not a boolean is accepted as false.',
      'stream',
      value => typeof value !== 'boolean',
    ),
    'stream-from-text': readsText('A stream of "true" is accepted as true.', 'stream'),
  },
  'chat.request.frequency-penalty': {
    'penalty-to-three': clamps('frequency_penalty above 2 is accepted.', 'frequency_penalty', -Infinity, 2),
    'penalty-unbounded-in-streams': inStreams(
      clamps('frequency_penalty may be any number.', 'frequency_penalty', -2, 2),
    ),
    'penalty-refused-in-streams': refusedInStreams('frequency_penalty'),
    'penalty-from-minus-three': clamps('frequency_penalty below -2 is accepted.', 'frequency_penalty', -2, Infinity),
    'penalty-in-words': ignores('A frequency_penalty that is not a number is ignored.', 'frequency_penalty', isText),
    'penalty-from-text': readsText('A frequency_penalty of "1" is accepted as 1.', 'frequency_penalty'),
    'penalty-below-two': rejects(
      'A frequency_penalty of 2 is rejected.',
      ({ frequency_penalty: penalty }) => penalty === 2,
    ),
    'penalty-fraction-refused': rejects('A fraction of a frequency_penalty is rejected.', body =>
      isFraction(body.frequency_penalty),
    ),
    'penalty-from-zero': rejects(
      'A frequency_penalty below 0 is rejected.',
      ({ frequency_penalty: penalty }) => Number(penalty) < 0,
    ),
  },
  'chat.request.max-temp': {
    'temperature-unbounded': clamps('max_temp above 2 is accepted.', 'max_temp', -Infinity, 2),
    'temperature-unbounded-in-streams': inStreams(clamps('max_temp may be any number.', 'max_temp', 0, 2)),
    'temperature-refused-in-streams': refusedInStreams('max_temp'),
    'temperature-below-zero': clamps('max_temp below 0 is accepted.', 'max_temp', 0, Infinity),
    'temperature-in-words': ignores('A max_temp that is not a number is ignored.', 'max_temp', isText),
    'temperature-from-text': readsText('A max_temp of "1" is accepted as 1.', 'max_temp'),
    'temperature-fraction-refused': rejects('A fraction of a max_temp is rejected.', body => isFraction(body.max_temp)),
    'temperature-to-one': rejects('A max_temp above 1 is rejected.', body => Number(body.max_temp) > 1),
    'temperature-above-zero': rejects('A max_temp of 0 is rejected.', body => body.max_temp === 0),
  },
  'chat.request.logprobs': {
    'logprobs-if-true': ignores('Text as logprobs is accepted as false.', 'logprobs', isText),
    'logprobs-from-text': readsText('logprobs of "true" is accepted as true.', 'logprobs'),
    'logprobs-refused': rejects(
      'A request for log probabilities is rejected.',
      body => body.logprobs === true && !('top_logprobs' in body),
    ),
    'logprobs-if-true-in-streams': inStreams(ignores('Text as logprobs is accepted as false.', 'logprobs', isText)),
    'logprobs-refused-in-streams': inStreams(
      rejects(
        'A request for log probabilities is rejected.',
        body => body.logprobs === true && !('top_logprobs' in body),
      ),
    ),
    'logprobs-off-refused': rejects('A request with logprobs false is rejected.', ({ logprobs }) => logprobs === false),
  },
  'chat.request.top-logprobs': {
    'top-logprobs-below-zero': clamps('top_logprobs below 0 is accepted as 0.', 'top_logprobs', 0, Infinity),
    'top-logprobs-below-zero-in-streams': inStreams(
      clamps('top_logprobs below 0 is accepted as 0.', 'top_logprobs', 0, Infinity),
    ),
    'top-logprobs-refused-in-streams': refusedInStreams('top_logprobs'),
    'top-logprobs-in-words': ignores('A top_logprobs that is not a number is ignored.', 'top_logprobs', isText),
    'top-logprobs-truncated': truncates('A top_logprobs of 1.5 is accepted as 1.', 'top_logprobs'),
    'top-logprobs-from-one': rejects('A top_logprobs of 0 is rejected.', body => body.top_logprobs === 0),
  },
  'chat.request.max-completion-tokens': {
    'bound-in-words': ignores(
      'A max_completion_tokens that is not a number is ignored.',
      'max_completion_tokens',
      isText,
    ),
    'bound-in-words-in-streams': inStreams(
      ignores('A max_completion_tokens that is not a number is ignored.', 'max_completion_tokens', isText),
    ),
    'bound-from-text': readsText('A max_completion_tokens of "1" is accepted as 1.', 'max_completion_tokens'),
    'bound-truncated': truncates('A max_completion_tokens of 1.5 is accepted as 1.', 'max_completion_tokens'),
  },
  'chat.request.max-tokens': {
    'old-bound-in-words': alsoViolating(
      ['chat.token-limit.whole-number'],
      ignores('A max_tokens that is not a number is ignored.', 'max_tokens', isText),
    ),
    'old-bound-in-words-in-streams': inStreams(
      ignores('A max_tokens that is not a number is ignored.', 'max_tokens', isText),
    ),
    'old-bound-refused-in-streams': inStreams(
      rejects('max_tokens is rejected as deprecated.', body => Number(body.max_tokens) > 0),
    ),
    'old-bound-of-zero-heeded-in-streams': inStreams(
      reads('A max_tokens of 0 or less ends a completion immediately.', body =>
        Number(body.max_tokens) <= 0 ? { ...body, max_completion_tokens: 1 } : body,
      ),
    ),
    'old-bound-from-text': readsText('A max_tokens of "1" is accepted as 1.', 'max_tokens'),
    'old-bound-of-zero-refused': rejects('A max_tokens of 0 is rejected.', body => body.max_tokens === 0),
    'old-bound-below-zero-refused': rejects('A max_tokens below 0 is rejected.', body => Number(body.max_tokens) < 0),
    'old-bound-of-zero-heeded': reads('A max_tokens of 0 or less ends a completion immediately.', body =>
      Number(body.max_tokens) <= 0 ? { ...body, max_completion_tokens: 1 } : body,
    ),
    'old-bound-refused': rejects('max_tokens is rejected as deprecated.', body => Number(body.max_tokens) > 0),
  },
  'chat.token-limit.below-zero': {
    'token-limit-below-zero-ignored': readsTokenLimit('A token limit below 0 is ignored.', limit =>
      Number(limit) < 0 ? undefined : limit,
    ),
  },
  'chat.token-limit.whole-number': {
    'token-limit-rounded': alsoViolating(
      ['chat.request.max-completion-tokens'],
      readsTokenLimit('A token limit of 1.5 is read as 1.', limit => (isNumber(limit) ? Math.trunc(limit) : limit)),
    ),
    'token-limit-in-words-ignored': alsoViolating(
      ['chat.request.max-completion-tokens', 'chat.request.max-tokens'],
      readsTokenLimit('A token limit that is a text is ignored.', limit => (isText(limit) ? undefined : limit)),
    ),
  },
  'chat.request.n': {
    'n-in-words': ignores('An n that is not a number is accepted as 1.', 'n', isText),
    'n-in-words-in-streams': inStreams(ignores('An n that is not a number is accepted as 1.', 'n', isText)),
    'n-from-text': readsText('An n of "1" is accepted as 1.', 'n'),
    'n-truncated': truncates('An n of 1.5 is accepted as 1.', 'n'),
    'one-choice-only': rejects('An n above 1 is rejected.', body => Number(body.n) > 1),
    'one-choice-too-many': replies(
      'A request for several choices gets one too many.',
      isAny,
      setFields(({ choices }) => {
        if (!Array.isArray(choices) || choices.length < 2) return {}
        return { choices: [...choices, amended(choices[0], { index: choices.length })] }
      }),
    ),
    'indices-all-zero': amend('Every choice has the index 0.', 'choice', { index: 0 }),
  },
  'chat.request.prompt-cache-key': {
    'any-cache-key': ignores('A prompt_cache_key that is not a string is ignored.', 'prompt_cache_key', isNumber),
    'any-cache-key-in-streams': inStreams(
      ignores('A prompt_cache_key that is not a string is ignored.', 'prompt_cache_key', isNumber),
    ),
    'cache-key-refused-in-streams': refusedInStreams('prompt_cache_key'),
    'cache-key-refused': rejects('A prompt_cache_key is rejected.', body => isText(body.prompt_cache_key)),
  },
  'chat.request.unknown-member': {
    'unknown-member-refused-in-streams': refusedInStreams(unknownMember),
    'unknown-member-refused': rejects('An unknown field is rejected.', body => unknownMember in body),
  },
} satisfies Lies
