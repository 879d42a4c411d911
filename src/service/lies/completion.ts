import { isObject } from '../../lib/json.ts'
import type { Choice, Usage } from '../chat/completion.ts'
import { minCachedTokens } from '../chat/prompt-cache.ts'
import type { StreamEvent } from '../chat/stream.ts'
import { always, amend, type Fields, input, result } from './decisions.ts'
import { alsoViolating, type LieRow, type Lies, row } from './lie.ts'
import { changeData, events, inCrowd, withHalfArguments, withoutLastText, withoutPart } from './streams.ts'

/** Replaces fields of a message. */
const amendMessage = (text: string, fields: Fields): LieRow =>
  amend(text, 'choice', ({ message }) => ({ message: { ...message, ...fields } }))

/** Replaces fields of the messages that fit. */
const amendMessageIf = (text: string, fits: (choice: Choice) => boolean, fields: Fields): LieRow =>
  amend(text, 'choice', choice => (fits(choice) ? { message: { ...choice.message, ...fields } } : {}))

/** Adds fields to the delta of the first chunk of this part. */
const amendDelta = (text: string, part: StreamEvent['part'], fields: Fields): LieRow =>
  events(text, (events, honest) => {
    const first = honest.find(event => event.part === part)
    return events.map(event =>
      event === first ? changeChoices(event, ({ delta }) => ({ delta: { ...delta, ...fields } })) : event,
    )
  })

type StreamedChoice = { readonly index: number; readonly delta: Fields }

/** Replaces fields of each choice of a chunk that has choices. */
function changeChoices(event: StreamEvent, fields: (choice: StreamedChoice) => Fields): StreamEvent {
  if (!event.data.includes('"choices":[{')) return event
  const chunk = JSON.parse(event.data)
  const choices = chunk.choices.map((choice: StreamedChoice) => ({ ...choice, ...fields(choice) }))
  return { ...event, data: JSON.stringify({ ...chunk, choices }) }
}

const amendIndex = (text: string, change: (index: number) => unknown): LieRow =>
  events(text, events => events.map(event => changeChoices(event, ({ index }) => ({ index: change(index) }))))

type Details = Usage['prompt_tokens_details']

/** Changes the cached and written tokens of a prompt, if there are any. */
const changeCacheUse = (text: string, change: (details: Details, prompt: number) => unknown): LieRow =>
  amend(text, 'usage', ({ prompt_tokens: prompt, prompt_tokens_details: details }) => {
    const isCached = details.cached_tokens + details.cache_creation_input_tokens > 0
    return isCached ? { prompt_tokens_details: change(details, prompt) } : {}
  })

/** Changes the usage from which the cost of cached or written tokens follows. */
const changeBilledUsage = (text: string, change: (details: Details, prompt: number) => Partial<Usage>): LieRow =>
  input(text, 'chatCostPico', (usage, price) => [
    { ...usage, ...change(usage.prompt_tokens_details, usage.prompt_tokens) },
    price,
  ])

/** Changes a member, if there is one. */
const at =
  (name: string, change: (member: unknown) => unknown) =>
  (value: unknown): unknown =>
    isObject(value) && Object.hasOwn(value, name) ? { ...value, [name]: change(value[name]) } : value

/** A schema whose first required property may be missing. */
const withoutOneRequired = at('required', required => (Array.isArray(required) ? required.slice(1) : required))

export const completionLies = {
  'chat.choice.stop-reason': {
    'stop-reason-as-token': result(
      'The stop reason of a natural end is the final token.',
      'stopReason',
      (shown, reason) => (reason === 'stop' ? '</s>' : shown),
    ),
    'stop-reason-as-number': result('The stop reason is the number of the last token.', 'stopReason', shown =>
      shown === null ? null : 128_009,
    ),
    'stop-reason-always-stop': result(
      'The stop reason is always stop, even at the bound.',
      'stopReason',
      (shown, reason) => (reason === 'length' ? 'stop' : shown),
    ),
  },
  'chat.choice.tool-calls': {
    'tool-calls-lost': alsoViolating(
      ['parameters.documents'],
      amendMessageIf(
        'A completion that ends with a tool call lacks the call.',
        choice => choice.finish_reason === 'tool_calls',
        { content: '', tool_calls: undefined },
      ),
    ),
    'tool-calls-not-streamed': alsoViolating(
      ['parameters.documents'],
      events('A stream that ends with a tool call lacks the call.', withoutPart('tool-call')),
    ),
  },
  'chat.json.arguments': {
    'arguments-cut-in-a-crowd': inCrowd(
      'With 16 streams in flight, half of the arguments of a tool call are lost.',
      withHalfArguments,
    ),
    'arguments-miss-a-property': result(
      'The arguments of a tool call lack a required property.',
      'chatBody',
      at('tools', tools =>
        Array.isArray(tools) ? tools.map(at('function', at('parameters', withoutOneRequired))) : tools,
      ),
    ),
    'required-call-is-a-text': result(
      'An answer is a text although the request requires a call of a tool.',
      'chatBody',
      at('tool_choice', choice => (choice === 'required' ? 'none' : choice)),
    ),
  },
  'chat.json.content': {
    'json-cut-in-a-crowd': alsoViolating(
      ['twin.answer'],
      inCrowd('With 16 streams in flight, the end of the content is lost.', withoutLastText),
    ),
    'json-misses-a-property': result(
      'The content lacks a required property of the schema.',
      'chatBody',
      at('response_format', at('json_schema', at('schema', withoutOneRequired))),
    ),
  },
  'chat.usage.text': {
    'each-token-streamed-sixty-times': alsoViolating(
      ['twin.text', 'twin.sampled', 'twin.answer'],
      events(
        'Each token of a stream comes sixty times.',
        changeData(
          ({ part }) => part === 'content',
          data => data.replace(/"content":"([^"]*)"/, (_, word: string) => `"content":"${word.repeat(60)}"`),
        ),
      ),
    ),
    'text-lost-in-a-stream': row('One stream in five brings no text, and counts its tokens.', honest => {
      let streams = 0
      return {
        events: sent => (++streams % 5 === 0 ? withoutPart('content')(honest.events(sent)) : honest.events(sent)),
      }
    }),
  },
  'chat.choice.length': {
    'cut-one-before': result(
      'A completion is cut one token before its bound.',
      'completionTokens',
      (tokens, _, bound) => Math.min(tokens, Math.max(1, bound - 1)),
    ),
    'always-cut': always('A completion that ends naturally has the finish reason length.', {
      finishReason: reason => (reason === 'stop' ? 'length' : reason),
      stopReason: reason => (reason === 'tool_calls' ? null : 'length'),
    }),
  },
  'chat.message.members': {
    'message-name-as-object': amendMessage('The name in a message is an object.', { name: { given: 'Ada' } }),
    'reasoning-as-list': amendMessage('reasoning_content is a list of steps.', { reasoning_content: ['Hm.'] }),
    'reasoning-details-as-text': amendMessage('reasoning_details is a string.', { reasoning_details: 'Hm.' }),
    'reasoning-details-without-type': amendMessage('An item of reasoning_details has no type.', {
      reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }, { text: 'So.' }],
    }),
    'thought-signature-as-object': amendMessage('thought_signature is an object.', {
      thought_signature: { key: 'k1' },
    }),
    'tool-calls-as-object': amendMessageIf(
      'Without a tool call, tool_calls is an empty object.',
      ({ message }) => message.tool_calls === undefined,
      { tool_calls: {} },
    ),
  },
  'chat.usage.details': {
    'reasoning-tokens-as-text': amend('reasoning_tokens is a string.', 'usage', {
      completion_tokens_details: { reasoning_tokens: '3' },
    }),
    'reasoning-tokens-over-completion': amend(
      'The reasoning tokens exceed the completion tokens by one.',
      'usage',
      ({ completion_tokens: completion }) => ({
        completion_tokens_details: { reasoning_tokens: completion + 1 },
      }),
    ),
    'details-as-number': amend(
      'completion_tokens_details is the number of reasoning tokens.',
      'usage',
      ({ completion_tokens_details: details }) => ({
        completion_tokens_details: details?.reasoning_tokens ?? 0,
      }),
    ),
  },
  'chat.stream.index': {
    'streamed-choices-from-one': amendIndex('Choices in a stream are counted from 1.', index => index + 1),
    'streamed-index-as-text': amendIndex('The index of a choice in a stream is a string.', String),
  },
  'chat.stream.delta': {
    'delta-role-as-number': amendDelta('The role in a stream is a number.', 'role', { role: 1 }),
    'delta-role-of-user': amendDelta('The role in a stream is that of the user.', 'role', { role: 'user' }),
    'delta-content-as-object': amendDelta('The content of a chunk is an object.', 'content', {
      content: { text: 'a' },
    }),
    'delta-tool-calls-as-object': amendDelta('A text chunk has an object as tool_calls.', 'content', {
      tool_calls: {},
    }),
  },
  'chat.usage.cached': {
    'cached-as-text': changeCacheUse('The number of cached tokens is a string.', details => ({
      ...details,
      cached_tokens: String(details.cached_tokens),
    })),
    'written-with-a-fraction': changeCacheUse('The number of written tokens has a fraction.', details => ({
      ...details,
      cache_creation_input_tokens: details.cache_creation_input_tokens + 0.5,
    })),
    'more-cached-than-sent': changeCacheUse('The cached tokens exceed the prompt tokens.', (_, prompt) => ({
      cached_tokens: prompt + 1,
      cache_creation_input_tokens: 0,
    })),
    'cached-and-written': changeCacheUse('Cached tokens are also reported as written.', (_, prompt) => ({
      cached_tokens: prompt,
      cache_creation_input_tokens: 1,
    })),
    'cache-details-as-list': changeCacheUse('The prompt token details are a list.', Object.values),
  },
  'chat.usage.cached.new': {
    'whole-prompt-cached': result(
      'A prompt with cached tokens counts as cached to its end.',
      'cacheUse',
      (use, _, prompt) => (use.read === 0 ? use : { read: prompt, written: 0 }),
    ),
    'cached-at-first-sight': result(
      'A long prompt counts as cached, although it was never sent before.',
      'cacheUse',
      (use, _, prompt) => (prompt < minCachedTokens ? use : { read: prompt, written: 0 }),
    ),
  },
  'chat.cost.cached': {
    'cached-at-full-price': changeBilledUsage('Cached tokens have the normal input price.', details => ({
      prompt_tokens_details: { ...details, cached_tokens: 0 },
    })),
    'cached-for-nothing': changeBilledUsage('Cached tokens are not billed.', (details, prompt) => ({
      prompt_tokens: prompt - details.cached_tokens,
      prompt_tokens_details: { ...details, cached_tokens: 0 },
    })),
    'written-at-full-price': changeBilledUsage('Written tokens have the normal input price.', details => ({
      prompt_tokens_details: { ...details, cache_creation_input_tokens: 0 },
    })),
    'written-on-top': changeBilledUsage('Written tokens are billed in addition to the prompt.', (details, prompt) => ({
      prompt_tokens: prompt + details.cache_creation_input_tokens,
    })),
  },
  'chat.compression': {
    'never-compressed': always('Nothing is ever compressed.', { encoding: () => null }),
    'deflate-for-gzip': result(
      'A client that accepts gzip gets deflate.',
      'encoding',
      encoding => encoding && 'deflate',
    ),
    'br-for-gzip': result('A client that accepts only gzip gets br.', 'encoding', encoding => encoding && 'br'),
  },
  'chat.compression.stream': {
    'streams-compressed-with-br': result(
      'Streams are compressed for a client that accepts br.',
      'encoding',
      (encoding, accepted, { body }) => (body.kind === 'stream' && accepted?.includes('br') ? 'br' : encoding),
    ),
    'streams-compressed': result(
      'Streams are compressed, and so they arrive in one piece at the end.',
      'encoding',
      (encoding, accepted, { body }) => (body.kind === 'stream' && accepted !== undefined ? 'gzip' : encoding),
    ),
  },
  'chat.compression.body': {
    'compressed-in-name': always('Content-Encoding names an encoding, but the body is not compressed.', {
      compress: text => Buffer.from(text),
    }),
    'compressed-and-cut': result('The last bytes of a compressed body are missing.', 'compress', compressed =>
      compressed.subarray(0, -8),
    ),
  },
  'header.content-encoding': {
    'gzip-for-everyone': input(
      'Completions are compressed whatever the client accepts.',
      'encoding',
      (accepted, reply, state) => [accepted ?? 'gzip', reply, state],
    ),
  },
} satisfies Lies
