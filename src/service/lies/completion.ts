import type { Choice, Usage } from '../chat/completion.ts'
import type { StreamEvent } from '../chat/stream.ts'
import { amend, changeInput, changeResult, type Fields } from './decisions.ts'
import type { Lies, Overrides } from './lie.ts'
import { changeEvents, withoutPart } from './streams.ts'

/** Replaces fields of a message. */
const amendMessage = (fields: Fields): Overrides =>
  amend('choice', ({ message }) => ({ message: { ...message, ...fields } }))

/** Replaces fields of the messages that fit. */
const amendMessageIf = (fits: (choice: Choice) => boolean, fields: Fields): Overrides =>
  amend('choice', choice => (fits(choice) ? { message: { ...choice.message, ...fields } } : {}))

/** Adds fields to the delta of the first chunk of this part. */
const amendDelta = (part: StreamEvent['part'], fields: Fields): Overrides =>
  changeEvents((events, honest) => {
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

const amendIndex = (change: (index: number) => unknown): Overrides =>
  changeEvents(events => events.map(event => changeChoices(event, ({ index }) => ({ index: change(index) }))))

type Details = Usage['prompt_tokens_details']

/** Changes the cached and written tokens of a prompt, if there are any. */
const changeCacheUse = (change: (details: Details, prompt: number) => unknown): Overrides =>
  amend('usage', ({ prompt_tokens: prompt, prompt_tokens_details: details }) => {
    const isCached = details.cached_tokens + details.cache_creation_input_tokens > 0
    return isCached ? { prompt_tokens_details: change(details, prompt) } : {}
  })

/** Changes the usage from which the cost of cached or written tokens follows. */
const changeBilledUsage = (change: (details: Details, prompt: number) => Partial<Usage>): Overrides =>
  changeInput('chatCostPico', (usage, price) => [
    { ...usage, ...change(usage.prompt_tokens_details, usage.prompt_tokens) },
    price,
  ])

export const completionLies = {
  'chat.choice.stop-reason': {
    'stop-reason-as-token': [
      'The stop reason of a natural end is the final token.',
      changeResult('stopReason', (shown, reason) => (reason === 'stop' ? '</s>' : shown)),
    ],
    'stop-reason-as-number': [
      'The stop reason is the number of the last token.',
      changeResult('stopReason', shown => (shown === null ? null : 128_009)),
    ],
    'stop-reason-always-stop': [
      'The stop reason is always stop, even at the bound.',
      changeResult('stopReason', (shown, reason) => (reason === 'length' ? 'stop' : shown)),
    ],
  },
  'chat.choice.tool-calls': {
    'tool-calls-lost': [
      'A completion that ends with a tool call lacks the call.',
      amendMessageIf(choice => choice.finish_reason === 'tool_calls', { content: '', tool_calls: undefined }),
      ['parameters.documents'],
    ],
    'tool-calls-not-streamed': [
      'A stream that ends with a tool call lacks the call.',
      changeEvents(withoutPart('tool-call')),
    ],
  },
  'chat.choice.length': {
    'cut-one-before': [
      'A completion is cut one token before its bound.',
      changeResult('completionTokens', (tokens, _, bound) => Math.min(tokens, Math.max(1, bound - 1))),
    ],
    'always-cut': [
      'A completion that ends naturally has the finish reason length.',
      () => ({
        finishReason: reason => (reason === 'stop' ? 'length' : reason),
        stopReason: reason => (reason === 'tool_calls' ? null : 'length'),
      }),
    ],
  },
  'chat.message.members': {
    'message-name-as-object': ['The name in a message is an object.', amendMessage({ name: { given: 'Ada' } })],
    'reasoning-as-list': ['reasoning_content is a list of steps.', amendMessage({ reasoning_content: ['Hm.'] })],
    'reasoning-details-as-text': ['reasoning_details is a string.', amendMessage({ reasoning_details: 'Hm.' })],
    'reasoning-details-without-type': [
      'An item of reasoning_details has no type.',
      amendMessage({ reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }, { text: 'So.' }] }),
    ],
    'thought-signature-as-object': [
      'thought_signature is an object.',
      amendMessage({ thought_signature: { key: 'k1' } }),
    ],
    'tool-calls-as-object': [
      'Without a tool call, tool_calls is an empty object.',
      amendMessageIf(({ message }) => message.tool_calls === undefined, { tool_calls: {} }),
    ],
  },
  'chat.usage.details': {
    'reasoning-tokens-as-text': [
      'reasoning_tokens is a string.',
      amend('usage', { completion_tokens_details: { reasoning_tokens: '3' } }),
    ],
    'reasoning-tokens-over-completion': [
      'The reasoning tokens exceed the completion tokens by one.',
      amend('usage', ({ completion_tokens: completion }) => ({
        completion_tokens_details: { reasoning_tokens: completion + 1 },
      })),
    ],
    'details-as-number': [
      'completion_tokens_details is the number of reasoning tokens.',
      amend('usage', ({ completion_tokens_details: details }) => ({
        completion_tokens_details: details?.reasoning_tokens ?? 0,
      })),
    ],
  },
  'chat.stream.index': {
    'streamed-choices-from-one': ['Choices in a stream are counted from 1.', amendIndex(index => index + 1)],
    'streamed-index-as-text': ['The index of a choice in a stream is a string.', amendIndex(String)],
  },
  'chat.stream.delta': {
    'delta-role-as-number': ['The role in a stream is a number.', amendDelta('role', { role: 1 })],
    'delta-content-as-object': [
      'The content of a chunk is an object.',
      amendDelta('content', { content: { text: 'a' } }),
    ],
    'delta-tool-calls-as-object': [
      'A text chunk has an object as tool_calls.',
      amendDelta('content', { tool_calls: {} }),
    ],
  },
  'chat.usage.cached': {
    'cached-as-text': [
      'The number of cached tokens is a string.',
      changeCacheUse(details => ({ ...details, cached_tokens: String(details.cached_tokens) })),
    ],
    'written-with-a-fraction': [
      'The number of written tokens has a fraction.',
      changeCacheUse(details => ({
        ...details,
        cache_creation_input_tokens: details.cache_creation_input_tokens + 0.5,
      })),
    ],
    'more-cached-than-sent': [
      'The cached tokens exceed the prompt tokens.',
      changeCacheUse((_, prompt) => ({ cached_tokens: prompt + 1, cache_creation_input_tokens: 0 })),
    ],
    'cached-and-written': [
      'Cached tokens are also reported as written.',
      changeCacheUse((_, prompt) => ({ cached_tokens: prompt, cache_creation_input_tokens: 1 })),
    ],
    'cache-details-as-list': ['The prompt token details are a list.', changeCacheUse(Object.values)],
  },
  'chat.cost.cached': {
    'cached-at-full-price': [
      'Cached tokens have the normal input price.',
      changeBilledUsage(details => ({ prompt_tokens_details: { ...details, cached_tokens: 0 } })),
    ],
    'cached-for-nothing': [
      'Cached tokens are not billed.',
      changeBilledUsage((details, prompt) => ({
        prompt_tokens: prompt - details.cached_tokens,
        prompt_tokens_details: { ...details, cached_tokens: 0 },
      })),
    ],
    'written-at-full-price': [
      'Written tokens have the normal input price.',
      changeBilledUsage(details => ({ prompt_tokens_details: { ...details, cache_creation_input_tokens: 0 } })),
    ],
    'written-on-top': [
      'Written tokens are billed in addition to the prompt.',
      changeBilledUsage((details, prompt) => ({ prompt_tokens: prompt + details.cache_creation_input_tokens })),
    ],
  },
} satisfies Lies
