import { isRecord } from '../json.ts'
import { type Lie, type Lies, lie } from './lie.ts'

type Members = Readonly<Record<string, unknown>>

/** A lie that takes a request for another. */
const takes = (name: string, says: string, change: (body: Members) => Members): Lie =>
  lie(name, says, honest => ({
    chatBody: body => {
      const taken = honest.chatBody(body)
      return isRecord(taken) ? change(taken) : taken
    },
  }))

/** A lie that leaves out a member whose value does not suit it. */
const drops = (name: string, says: string, member: string, unsuitable: (value: unknown) => boolean): Lie =>
  takes(name, says, ({ [member]: value, ...others }) =>
    value === undefined || unsuitable(value) ? others : { ...others, [member]: value },
  )

/** A lie that changes each message, if it is one at all. */
const takesMessages = (name: string, says: string, change: (message: Members) => unknown): Lie =>
  takes(name, says, body => ({
    ...body,
    messages: Array.isArray(body.messages)
      ? body.messages.map((message: unknown) => (isRecord(message) ? change(message) : message))
      : body.messages,
  }))

/** A lie that changes each content part. */
const takesParts = (name: string, says: string, change: (part: Members) => unknown): Lie =>
  takesMessages(name, says, message => ({
    ...message,
    content: Array.isArray(message.content)
      ? message.content.map((part: unknown) => (isRecord(part) ? change(part) : part))
      : message.content,
  }))

const isText = (value: unknown): value is string => typeof value === 'string'
const isNumber = (value: unknown): value is number => typeof value === 'number'
const clamped = (value: unknown, least: number, most: number): unknown =>
  isNumber(value) ? Math.min(most, Math.max(least, value)) : value

/** A lie that moves a number into its range in place of refusing it. */
const clamps = (name: string, says: string, member: string, least: number, most: number): Lie =>
  takes(name, says, body => (member in body ? { ...body, [member]: clamped(body[member], least, most) } : body))

export const chatRequestLies = {
  'chat.request': [
    takes('model-by-default', 'A request without a model is answered by the smallest.', body => ({
      ...body,
      model: isText(body.model) ? body.model : 'ref-nano-3b',
    })),
    takes('conversation-by-default', 'A request without messages is answered all the same.', body => ({
      ...body,
      messages: Array.isArray(body.messages) ? body.messages : [{ role: 'user', content: 'hello' }],
    })),
  ],
  'chat.request.message': [
    takesMessages('user-by-default', 'A message without a role is one of the user.', message => ({
      ...message,
      role: message.role ?? 'user',
    })),
    takesMessages('any-content', 'Content that is neither text nor list is made one.', message => ({
      ...message,
      content: isNumber(message.content) ? String(message.content) : message.content,
    })),
  ],
  'chat.request.text-part': [
    takesParts('empty-text', 'A text part may be empty.', part => (part.text === '' ? { ...part, text: ' ' } : part)),
    takesParts('part-without-text', 'A text part without text is an empty one.', part =>
      part.type === 'text' && part.text === undefined ? { ...part, text: ' ' } : part,
    ),
    takesParts('part-without-type', 'A part without a type is a text.', part =>
      part.type === undefined ? { ...part, type: 'text' } : part,
    ),
  ],
  'chat.request.cache-control': [
    takesParts('any-cache-control', 'cache_control may have any type.', part =>
      isRecord(part.cache_control)
        ? { ...part, cache_control: { ...part.cache_control, type: part.cache_control.type && 'ephemeral' } }
        : part,
    ),
    takesParts('cache-control-by-default', 'cache_control without a type is ephemeral.', part =>
      isRecord(part.cache_control) ? { ...part, cache_control: { type: 'ephemeral', ...part.cache_control } } : part,
    ),
    takesParts('any-ttl', 'The ttl of cache_control may be anything.', part =>
      isRecord(part.cache_control) ? { ...part, cache_control: { ...part.cache_control, ttl: undefined } } : part,
    ),
  ],
  'chat.request.stream': [
    drops('stream-if-true', 'Whatever is not true as stream is false.', 'stream', value => typeof value !== 'boolean'),
  ],
  'chat.request.frequency-penalty': [
    clamps('penalty-to-three', 'frequency_penalty may be as high as 3.', 'frequency_penalty', -Infinity, 2),
    clamps('penalty-from-minus-three', 'frequency_penalty may be as low as -3.', 'frequency_penalty', -2, Infinity),
    drops('penalty-in-words', 'A frequency_penalty that is no number is ignored.', 'frequency_penalty', isText),
  ],
  'chat.request.max-temp': [
    clamps('temperature-unbounded', 'max_temp may be as high as one likes.', 'max_temp', -Infinity, 2),
    clamps('temperature-below-zero', 'max_temp may be below 0.', 'max_temp', 0, Infinity),
    drops('temperature-in-words', 'A max_temp that is no number is ignored.', 'max_temp', isText),
  ],
  'chat.request.logprobs': [
    drops('logprobs-if-true', 'Whatever is not true as logprobs is false.', 'logprobs', isText),
  ],
  'chat.request.top-logprobs': [
    clamps('top-logprobs-below-zero', 'top_logprobs below 0 are none.', 'top_logprobs', 0, Infinity),
    drops('top-logprobs-in-words', 'top_logprobs that are no number are ignored.', 'top_logprobs', isText),
  ],
  'chat.request.max-completion-tokens': [
    drops('bound-in-words', 'A max_completion_tokens that is no number is ignored.', 'max_completion_tokens', isText),
  ],
  'chat.request.max-tokens': [
    drops('old-bound-in-words', 'max_tokens that are no number are ignored.', 'max_tokens', isText),
  ],
  'chat.request.n': [drops('n-in-words', 'An n that is no number is 1.', 'n', isText)],
  'chat.request.prompt-cache-key': [
    drops('any-cache-key', 'A prompt_cache_key that is no text is ignored.', 'prompt_cache_key', isNumber),
  ],
} as const satisfies Lies
