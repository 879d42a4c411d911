import { unknownMember } from '../../contract/chat-options.ts'
import { isObject, parseJson } from '../../lib/json.ts'
import { amended, type Lie, type Lies, lie, replyLie, textOf, withText } from './lie.ts'

type Members = Readonly<Record<string, unknown>>

/** A lie that treats a request as another one. */
const takes = (name: string, text: string, change: (body: Members) => Members): Lie =>
  lie(name, text, honest => ({
    chatBody: body => {
      const taken = honest.chatBody(body)
      return isObject(taken) ? change(taken) : taken
    },
  }))

/** A lie that leaves out a member whose value does not suit it. */
const drops = (name: string, text: string, member: string, unsuitable: (value: unknown) => boolean): Lie =>
  takes(name, text, ({ [member]: value, ...others }) =>
    value === undefined || unsuitable(value) ? others : { ...others, [member]: value },
  )

/** A lie that changes each message that is an object. */
const takesMessages = (name: string, text: string, change: (message: Members) => unknown): Lie =>
  takes(name, text, body => ({
    ...body,
    messages: Array.isArray(body.messages)
      ? body.messages.map((message: unknown) => (isObject(message) ? change(message) : message))
      : body.messages,
  }))

/** A lie that changes each content part. */
const takesParts = (name: string, text: string, change: (part: Members) => unknown): Lie =>
  takesMessages(name, text, message => ({
    ...message,
    content: Array.isArray(message.content)
      ? message.content.map((part: unknown) => (isObject(part) ? change(part) : part))
      : message.content,
  }))

const isText = (value: unknown): value is string => typeof value === 'string'

const isNumber = (value: unknown): value is number => typeof value === 'number'

const clamped = (value: unknown, least: number, most: number): unknown =>
  isNumber(value) ? Math.min(most, Math.max(least, value)) : value

/** A lie that clamps a number instead of rejecting it. */
const clamps = (name: string, text: string, member: string, least: number, most: number): Lie =>
  takes(name, text, body => (member in body ? { ...body, [member]: clamped(body[member], least, most) } : body))

/** A lie that rejects a valid request. */
const objects = (name: string, text: string, isAgainst: (body: Members) => boolean): Lie =>
  lie(name, text, honest => ({
    chatObjection: body => (isAgainst(body) ? text : honest.chatObjection(body)),
  }))

const messagesOf = ({ messages }: Members): readonly Members[] =>
  Array.isArray(messages) ? messages.filter(isObject) : []

const partsOf = (body: Members): readonly Members[] =>
  messagesOf(body).flatMap(({ content }) => (Array.isArray(content) ? content.filter(isObject) : []))

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
    objects('short-prompts-refused', 'A prompt of two or three words is held to be a slip, and refused.', body => {
      const [message, ...others] = messagesOf(body)
      const words = isText(message?.content) ? message.content.split(' ').length : 0
      return others.length === 0 && (words === 2 || words === 3)
    }),
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
    objects('system-message-refused', 'A message of the system is refused.', body =>
      messagesOf(body).some(({ role }) => role === 'system'),
    ),
  ],
  'chat.request.text-part': [
    takesParts('empty-text', 'A text part may be empty.', part => (part.text === '' ? { ...part, text: ' ' } : part)),
    takesParts('part-without-text', 'A text part without text is an empty one.', part =>
      part.type === 'text' && part.text === undefined ? { ...part, text: ' ' } : part,
    ),
    takesParts('part-without-type', 'A part without a type is a text.', part =>
      part.type === undefined ? { ...part, type: 'text' } : part,
    ),
    objects('single-letter-refused', 'A text part of one character is refused.', body =>
      partsOf(body).some(({ text }) => isText(text) && text.length === 1),
    ),
    objects('parts-refused', 'Content that is a list is refused.', body => partsOf(body).length > 1),
  ],
  'chat.request.cache-control': [
    takesParts('any-cache-control', 'cache_control may have any type.', part =>
      isObject(part.cache_control)
        ? { ...part, cache_control: { ...part.cache_control, type: part.cache_control.type && 'ephemeral' } }
        : part,
    ),
    takesParts('cache-control-by-default', 'cache_control without a type is ephemeral.', part =>
      isObject(part.cache_control) ? { ...part, cache_control: { type: 'ephemeral', ...part.cache_control } } : part,
    ),
    takesParts('any-ttl', 'The ttl of cache_control may be anything.', part =>
      isObject(part.cache_control) ? { ...part, cache_control: { ...part.cache_control, ttl: undefined } } : part,
    ),
    objects('cache-control-refused', 'cache_control is refused.', body =>
      partsOf(body).some(({ cache_control: control }) => control !== undefined),
    ),
  ],
  'chat.request.stream': [
    drops('stream-if-true', 'Whatever is not true as stream is false.', 'stream', value => typeof value !== 'boolean'),
  ],
  'chat.request.frequency-penalty': [
    clamps('penalty-to-three', 'frequency_penalty may be as high as 3.', 'frequency_penalty', -Infinity, 2),
    clamps('penalty-from-minus-three', 'frequency_penalty may be as low as -3.', 'frequency_penalty', -2, Infinity),
    drops('penalty-in-words', 'A frequency_penalty that is no number is ignored.', 'frequency_penalty', isText),
    objects('penalty-below-two', 'A frequency_penalty of 2 is refused.', body => body.frequency_penalty === 2),
    objects('penalty-from-zero', 'A frequency_penalty below 0 is refused.', body => Number(body.frequency_penalty) < 0),
  ],
  'chat.request.max-temp': [
    clamps('temperature-unbounded', 'max_temp may be as high as one likes.', 'max_temp', -Infinity, 2),
    clamps('temperature-below-zero', 'max_temp may be below 0.', 'max_temp', 0, Infinity),
    drops('temperature-in-words', 'A max_temp that is no number is ignored.', 'max_temp', isText),
    objects('temperature-to-one', 'A max_temp above 1 is refused.', body => Number(body.max_temp) > 1),
    objects('temperature-above-zero', 'A max_temp of 0 is refused.', body => body.max_temp === 0),
  ],
  'chat.request.logprobs': [
    drops('logprobs-if-true', 'Whatever is not true as logprobs is false.', 'logprobs', isText),
    objects(
      'logprobs-refused',
      'Log probabilities are refused.',
      body => body.logprobs === true && !('top_logprobs' in body),
    ),
    objects('logprobs-off-refused', 'To ask for no log probabilities is refused.', body => body.logprobs === false),
  ],
  'chat.request.top-logprobs': [
    clamps('top-logprobs-below-zero', 'top_logprobs below 0 are none.', 'top_logprobs', 0, Infinity),
    drops('top-logprobs-in-words', 'top_logprobs that are no number are ignored.', 'top_logprobs', isText),
    objects('top-logprobs-from-one', 'top_logprobs of 0 are refused.', body => body.top_logprobs === 0),
  ],
  'chat.request.max-completion-tokens': [
    drops('bound-in-words', 'A max_completion_tokens that is no number is ignored.', 'max_completion_tokens', isText),
  ],
  'chat.request.max-tokens': [
    drops('old-bound-in-words', 'max_tokens that are no number are ignored.', 'max_tokens', isText),
    objects('old-bound-of-zero-refused', 'max_tokens of 0 are refused.', body => body.max_tokens === 0),
    objects('old-bound-below-zero-refused', 'max_tokens below 0 are refused.', body => Number(body.max_tokens) < 0),
    takes('old-bound-of-zero-heeded', 'max_tokens of 0 or less end a completion at once.', body =>
      Number(body.max_tokens) <= 0 ? { ...body, max_completion_tokens: 1 } : body,
    ),
    objects(
      'old-bound-refused',
      'max_tokens are refused, since there is a newer member.',
      body => Number(body.max_tokens) > 0,
    ),
  ],
  'chat.request.n': [
    drops('n-in-words', 'An n that is no number is 1.', 'n', isText),
    objects('one-choice-only', 'More than one choice is refused.', body => Number(body.n) > 1),
    replyLie('one-choice-too-many', 'Who asks for more than one choice gets one more than that.', reply => {
      const body = parseJson(textOf(reply))
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
    drops('any-cache-key', 'A prompt_cache_key that is no text is ignored.', 'prompt_cache_key', isNumber),
    objects('cache-key-refused', 'A prompt_cache_key is refused.', body => isText(body.prompt_cache_key)),
  ],
  'chat.request.unknown-member': [
    objects('unknown-member-refused', 'A member that is not known is refused.', body => unknownMember in body),
  ],
} satisfies Lies
