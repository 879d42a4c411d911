import { unknownMember } from '../../contract/chat-options.ts'
import { isObject, parseJson } from '../../lib/json.ts'
import { amended, type Lie, type Lies, lie, replyLie, replyText, withText } from './lie.ts'

type Members = Readonly<Record<string, unknown>>

/** A lie that handles a changed request instead of the one received. */
const reads = (name: string, text: string, change: (body: Members) => Members): Lie =>
  lie(name, text, honest => ({
    chatBody: body => {
      const taken = honest.chatBody(body)
      return isObject(taken) ? change(taken) : taken
    },
  }))

/** A lie that ignores a field with an unsuitable value. */
const drops = (name: string, text: string, member: string, unsuitable: (value: unknown) => boolean): Lie =>
  reads(name, text, ({ [member]: value, ...others }) =>
    value === undefined || unsuitable(value) ? others : { ...others, [member]: value },
  )

/** A lie that changes each message that is an object. */
const readsMessages = (name: string, text: string, change: (message: Members) => unknown): Lie =>
  reads(name, text, body => ({
    ...body,
    messages: Array.isArray(body.messages)
      ? body.messages.map((message: unknown) => (isObject(message) ? change(message) : message))
      : body.messages,
  }))

/** A lie that changes each content part. */
const readsParts = (name: string, text: string, change: (part: Members) => unknown): Lie =>
  readsMessages(name, text, message => ({
    ...message,
    content: Array.isArray(message.content)
      ? message.content.map((part: unknown) => (isObject(part) ? change(part) : part))
      : message.content,
  }))

const isText = (value: unknown): value is string => typeof value === 'string'

const isNumber = (value: unknown): value is number => typeof value === 'number'

const clamped = (value: unknown, min: number, max: number): unknown =>
  isNumber(value) ? Math.min(max, Math.max(min, value)) : value

/** A lie that clamps a number instead of rejecting it. */
const clamps = (name: string, text: string, member: string, min: number, max: number): Lie =>
  reads(name, text, body => (member in body ? { ...body, [member]: clamped(body[member], min, max) } : body))

/** A lie that rejects a valid request. */
const rejects = (name: string, text: string, isRejected: (body: Members) => boolean): Lie =>
  lie(name, text, honest => ({
    chatObjection: body => (isRejected(body) ? text : honest.chatObjection(body)),
  }))

const messagesOf = ({ messages }: Members): readonly Members[] =>
  Array.isArray(messages) ? messages.filter(isObject) : []

const partsOf = (body: Members): readonly Members[] =>
  messagesOf(body).flatMap(({ content }) => (Array.isArray(content) ? content.filter(isObject) : []))

export const chatRequestLies = {
  'chat.request': [
    reads('model-by-default', 'A request without a model runs on the smallest model.', body => ({
      ...body,
      model: isText(body.model) ? body.model : 'ref-nano-3b',
    })),
    reads('conversation-by-default', 'A request without messages is accepted.', body => ({
      ...body,
      messages: Array.isArray(body.messages) ? body.messages : [{ role: 'user', content: 'hello' }],
    })),
    rejects('short-prompts-refused', 'A prompt of two or three words is rejected.', body => {
      const [message, ...others] = messagesOf(body)
      const words = isText(message?.content) ? message.content.split(' ').length : 0
      return others.length === 0 && (words === 2 || words === 3)
    }),
  ],
  'chat.request.message': [
    readsMessages('user-by-default', 'A message without a role is accepted as one of the user.', message => ({
      ...message,
      role: message.role ?? 'user',
    })),
    readsMessages('any-content', 'A number is accepted as content.', message => ({
      ...message,
      content: isNumber(message.content) ? String(message.content) : message.content,
    })),
    rejects('system-message-refused', 'A system message is rejected.', body =>
      messagesOf(body).some(({ role }) => role === 'system'),
    ),
  ],
  'chat.request.text-part': [
    readsParts('empty-text', 'A text part may be empty.', part => (part.text === '' ? { ...part, text: ' ' } : part)),
    readsParts('part-without-text', 'A text part without text is accepted.', part =>
      part.type === 'text' && part.text === undefined ? { ...part, text: ' ' } : part,
    ),
    readsParts('part-without-type', 'A part without a type is accepted as text.', part =>
      part.type === undefined ? { ...part, type: 'text' } : part,
    ),
    rejects('single-letter-refused', 'A text part of one character is rejected.', body =>
      partsOf(body).some(({ text }) => isText(text) && text.length === 1),
    ),
    rejects('parts-refused', 'Content that is a list is rejected.', body => partsOf(body).length > 1),
  ],
  'chat.request.cache-control': [
    readsParts('any-cache-control', 'cache_control may have any type.', part =>
      isObject(part.cache_control)
        ? { ...part, cache_control: { ...part.cache_control, type: part.cache_control.type && 'ephemeral' } }
        : part,
    ),
    readsParts('cache-control-by-default', 'cache_control without a type is accepted as ephemeral.', part =>
      isObject(part.cache_control) ? { ...part, cache_control: { type: 'ephemeral', ...part.cache_control } } : part,
    ),
    readsParts('any-ttl', 'The ttl of cache_control may be anything.', part =>
      isObject(part.cache_control) ? { ...part, cache_control: { ...part.cache_control, ttl: undefined } } : part,
    ),
    rejects('cache-control-refused', 'cache_control is rejected.', body =>
      partsOf(body).some(({ cache_control: control }) => control !== undefined),
    ),
  ],
  'chat.request.stream': [
    drops(
      'stream-if-true',
      'A stream that is not a boolean is accepted as false.',
      'stream',
      value => typeof value !== 'boolean',
    ),
  ],
  'chat.request.frequency-penalty': [
    clamps('penalty-to-three', 'frequency_penalty above 2 is accepted.', 'frequency_penalty', -Infinity, 2),
    clamps('penalty-from-minus-three', 'frequency_penalty below -2 is accepted.', 'frequency_penalty', -2, Infinity),
    drops('penalty-in-words', 'A frequency_penalty that is not a number is ignored.', 'frequency_penalty', isText),
    rejects('penalty-below-two', 'A frequency_penalty of 2 is rejected.', body => body.frequency_penalty === 2),
    rejects(
      'penalty-from-zero',
      'A frequency_penalty below 0 is rejected.',
      body => Number(body.frequency_penalty) < 0,
    ),
  ],
  'chat.request.max-temp': [
    clamps('temperature-unbounded', 'max_temp above 2 is accepted.', 'max_temp', -Infinity, 2),
    clamps('temperature-below-zero', 'max_temp below 0 is accepted.', 'max_temp', 0, Infinity),
    drops('temperature-in-words', 'A max_temp that is not a number is ignored.', 'max_temp', isText),
    rejects('temperature-to-one', 'A max_temp above 1 is rejected.', body => Number(body.max_temp) > 1),
    rejects('temperature-above-zero', 'A max_temp of 0 is rejected.', body => body.max_temp === 0),
  ],
  'chat.request.logprobs': [
    drops('logprobs-if-true', 'Text as logprobs is accepted as false.', 'logprobs', isText),
    rejects(
      'logprobs-refused',
      'A request for log probabilities is rejected.',
      body => body.logprobs === true && !('top_logprobs' in body),
    ),
    rejects('logprobs-off-refused', 'A request with logprobs false is rejected.', body => body.logprobs === false),
  ],
  'chat.request.top-logprobs': [
    clamps('top-logprobs-below-zero', 'top_logprobs below 0 is accepted as 0.', 'top_logprobs', 0, Infinity),
    drops('top-logprobs-in-words', 'A top_logprobs that is not a number is ignored.', 'top_logprobs', isText),
    rejects('top-logprobs-from-one', 'A top_logprobs of 0 is rejected.', body => body.top_logprobs === 0),
  ],
  'chat.request.max-completion-tokens': [
    drops(
      'bound-in-words',
      'A max_completion_tokens that is not a number is ignored.',
      'max_completion_tokens',
      isText,
    ),
  ],
  'chat.request.max-tokens': [
    drops('old-bound-in-words', 'A max_tokens that is not a number is ignored.', 'max_tokens', isText),
    rejects('old-bound-of-zero-refused', 'A max_tokens of 0 is rejected.', body => body.max_tokens === 0),
    rejects('old-bound-below-zero-refused', 'A max_tokens below 0 is rejected.', body => Number(body.max_tokens) < 0),
    reads('old-bound-of-zero-heeded', 'A max_tokens of 0 or less ends a completion immediately.', body =>
      Number(body.max_tokens) <= 0 ? { ...body, max_completion_tokens: 1 } : body,
    ),
    rejects('old-bound-refused', 'max_tokens is rejected as deprecated.', body => Number(body.max_tokens) > 0),
  ],
  'chat.request.n': [
    drops('n-in-words', 'An n that is not a number is accepted as 1.', 'n', isText),
    rejects('one-choice-only', 'An n above 1 is rejected.', body => Number(body.n) > 1),
    replyLie('one-choice-too-many', 'A request for several choices gets one too many.', reply => {
      const body = parseJson(replyText(reply))
      const choices: readonly unknown[] = isObject(body) && Array.isArray(body.choices) ? body.choices : []
      if (choices.length < 2) return reply
      const further = amended(choices[0], { index: choices.length })
      return withText(reply, JSON.stringify(amended(body, { choices: [...choices, further] })))
    }),
    lie('indices-all-zero', 'Every choice has the index 0.', honest => ({
      choice: choice => amended(honest.choice(choice), { index: 0 }),
    })),
  ],
  'chat.request.prompt-cache-key': [
    drops('any-cache-key', 'A prompt_cache_key that is not a string is ignored.', 'prompt_cache_key', isNumber),
    rejects('cache-key-refused', 'A prompt_cache_key is rejected.', body => isText(body.prompt_cache_key)),
  ],
  'chat.request.unknown-member': [
    rejects('unknown-member-refused', 'An unknown field is rejected.', body => unknownMember in body),
  ],
} satisfies Lies
