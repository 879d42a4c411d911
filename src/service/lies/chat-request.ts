import { unknownMember } from '../../contract/chat-options.ts'
import { isObject } from '../../lib/json.ts'
import { amend, amended, changeResult, type Fields } from './decisions.ts'
import type { Lies, Overrides } from './lie.ts'
import { changeReply, setFields } from './replies.ts'

/** Handles a changed request instead of the one received. */
const reads = (change: (body: Fields) => Fields): Overrides =>
  changeResult('chatBody', body => (isObject(body) ? change(body) : body))

/** Ignores a field with an unsuitable value. */
const ignores = (field: string, isUnsuitable: (value: unknown) => boolean): Overrides =>
  reads(({ [field]: value, ...others }) =>
    value === undefined || isUnsuitable(value) ? others : { ...others, [field]: value },
  )

/** Clamps a number instead of rejecting it. */
const clamps = (field: string, min: number, max: number): Overrides =>
  reads(body => (isNumber(body[field]) ? { ...body, [field]: Math.min(max, Math.max(min, body[field])) } : body))

const changeObjects = (list: unknown, change: (member: Fields) => Fields): unknown =>
  Array.isArray(list) ? list.map((member: unknown) => (isObject(member) ? change(member) : member)) : list

/** Changes each message that is an object. */
const readsMessages = (change: (message: Fields) => Fields): Overrides =>
  reads(body => ({ ...body, messages: changeObjects(body.messages, change) }))

/** Changes each content part. */
const readsParts = (change: (part: Fields) => Fields): Overrides =>
  readsMessages(message => ({ ...message, content: changeObjects(message.content, change) }))

/** Changes `cache_control` where it is an object. */
const readsCacheControl = (change: (control: Fields) => Fields): Overrides =>
  readsParts(part => (isObject(part.cache_control) ? { ...part, cache_control: change(part.cache_control) } : part))

/** Rejects a valid request. */
const rejects = (isRejected: (body: Fields) => boolean): Overrides =>
  changeResult('chatObjection', (objection, body) => (isRejected(body) ? 'This request is not supported' : objection))

const isText = (value: unknown): value is string => typeof value === 'string'
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

export const chatRequestLies = {
  'chat.request': {
    'model-by-default': [
      'A request without a model runs on the smallest model.',
      reads(body => ({ ...body, model: isText(body.model) ? body.model : 'ref-nano-3b' })),
    ],
    'conversation-by-default': [
      'A request without messages is accepted.',
      reads(body => ({
        ...body,
        messages: Array.isArray(body.messages) ? body.messages : [{ role: 'user', content: 'hello' }],
      })),
    ],
    'short-prompts-refused': ['A prompt of two or three words is rejected.', rejects(isShortPrompt)],
  },
  'chat.request.message': {
    'user-by-default': [
      'A message without a role is accepted as one of the user.',
      readsMessages(message => ({ ...message, role: message.role ?? 'user' })),
    ],
    'any-content': [
      'A number is accepted as content.',
      readsMessages(message =>
        isNumber(message.content) ? { ...message, content: String(message.content) } : message,
      ),
    ],
    'system-message-refused': [
      'A system message is rejected.',
      rejects(body => messagesOf(body).some(({ role }) => role === 'system')),
    ],
  },
  'chat.request.text-part': {
    'empty-text': ['A text part may be empty.', readsParts(part => (part.text === '' ? { ...part, text: ' ' } : part))],
    'part-without-text': [
      'A text part without text is accepted.',
      readsParts(part => (part.type === 'text' && part.text === undefined ? { ...part, text: ' ' } : part)),
    ],
    'part-without-type': [
      'A part without a type is accepted as text.',
      readsParts(part => (part.type === undefined ? { ...part, type: 'text' } : part)),
    ],
    'single-letter-refused': [
      'A text part of one character is rejected.',
      rejects(body => partsOf(body).some(({ text }) => isText(text) && text.length === 1)),
    ],
    'parts-refused': ['Content that is a list is rejected.', rejects(body => partsOf(body).length > 1)],
  },
  'chat.request.cache-control': {
    'any-cache-control': [
      'cache_control may have any type.',
      readsCacheControl(control => ({ ...control, type: control.type && 'ephemeral' })),
    ],
    'cache-control-by-default': [
      'cache_control without a type is accepted as ephemeral.',
      readsCacheControl(control => ({ type: 'ephemeral', ...control })),
    ],
    'any-ttl': [
      'The ttl of cache_control may be anything.',
      readsCacheControl(control => ({ ...control, ttl: undefined })),
    ],
    'cache-control-refused': [
      'cache_control is rejected.',
      rejects(body => partsOf(body).some(({ cache_control: control }) => control !== undefined)),
    ],
  },
  'chat.request.stream': {
    'stream-if-true': [
      'A stream that is not a boolean is accepted as false.',
      ignores('stream', value => typeof value !== 'boolean'),
    ],
  },
  'chat.request.frequency-penalty': {
    'penalty-to-three': ['frequency_penalty above 2 is accepted.', clamps('frequency_penalty', -Infinity, 2)],
    'penalty-from-minus-three': ['frequency_penalty below -2 is accepted.', clamps('frequency_penalty', -2, Infinity)],
    'penalty-in-words': ['A frequency_penalty that is not a number is ignored.', ignores('frequency_penalty', isText)],
    'penalty-below-two': [
      'A frequency_penalty of 2 is rejected.',
      rejects(({ frequency_penalty: penalty }) => penalty === 2),
    ],
    'penalty-from-zero': [
      'A frequency_penalty below 0 is rejected.',
      rejects(({ frequency_penalty: penalty }) => Number(penalty) < 0),
    ],
  },
  'chat.request.max-temp': {
    'temperature-unbounded': ['max_temp above 2 is accepted.', clamps('max_temp', -Infinity, 2)],
    'temperature-below-zero': ['max_temp below 0 is accepted.', clamps('max_temp', 0, Infinity)],
    'temperature-in-words': ['A max_temp that is not a number is ignored.', ignores('max_temp', isText)],
    'temperature-to-one': ['A max_temp above 1 is rejected.', rejects(body => Number(body.max_temp) > 1)],
    'temperature-above-zero': ['A max_temp of 0 is rejected.', rejects(body => body.max_temp === 0)],
  },
  'chat.request.logprobs': {
    'logprobs-if-true': ['Text as logprobs is accepted as false.', ignores('logprobs', isText)],
    'logprobs-refused': [
      'A request for log probabilities is rejected.',
      rejects(body => body.logprobs === true && !('top_logprobs' in body)),
    ],
    'logprobs-off-refused': [
      'A request with logprobs false is rejected.',
      rejects(({ logprobs }) => logprobs === false),
    ],
  },
  'chat.request.top-logprobs': {
    'top-logprobs-below-zero': ['top_logprobs below 0 is accepted as 0.', clamps('top_logprobs', 0, Infinity)],
    'top-logprobs-in-words': ['A top_logprobs that is not a number is ignored.', ignores('top_logprobs', isText)],
    'top-logprobs-from-one': ['A top_logprobs of 0 is rejected.', rejects(body => body.top_logprobs === 0)],
  },
  'chat.request.max-completion-tokens': {
    'bound-in-words': [
      'A max_completion_tokens that is not a number is ignored.',
      ignores('max_completion_tokens', isText),
    ],
  },
  'chat.request.max-tokens': {
    'old-bound-in-words': ['A max_tokens that is not a number is ignored.', ignores('max_tokens', isText)],
    'old-bound-of-zero-refused': ['A max_tokens of 0 is rejected.', rejects(body => body.max_tokens === 0)],
    'old-bound-below-zero-refused': ['A max_tokens below 0 is rejected.', rejects(body => Number(body.max_tokens) < 0)],
    'old-bound-of-zero-heeded': [
      'A max_tokens of 0 or less ends a completion immediately.',
      reads(body => (Number(body.max_tokens) <= 0 ? { ...body, max_completion_tokens: 1 } : body)),
    ],
    'old-bound-refused': ['max_tokens is rejected as deprecated.', rejects(body => Number(body.max_tokens) > 0)],
  },
  'chat.request.n': {
    'n-in-words': ['An n that is not a number is accepted as 1.', ignores('n', isText)],
    'one-choice-only': ['An n above 1 is rejected.', rejects(body => Number(body.n) > 1)],
    'one-choice-too-many': [
      'A request for several choices gets one too many.',
      changeReply(
        setFields(({ choices }) => {
          if (!Array.isArray(choices) || choices.length < 2) return {}
          return { choices: [...choices, amended(choices[0], { index: choices.length })] }
        }),
      ),
    ],
    'indices-all-zero': ['Every choice has the index 0.', amend('choice', { index: 0 })],
  },
  'chat.request.prompt-cache-key': {
    'any-cache-key': ['A prompt_cache_key that is not a string is ignored.', ignores('prompt_cache_key', isNumber)],
    'cache-key-refused': ['A prompt_cache_key is rejected.', rejects(body => isText(body.prompt_cache_key))],
  },
  'chat.request.unknown-member': {
    'unknown-member-refused': ['An unknown field is rejected.', rejects(body => unknownMember in body)],
  },
} satisfies Lies
