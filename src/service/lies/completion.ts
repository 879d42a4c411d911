import type { Usage } from '../chat/completion.ts'
import type { StreamEvent } from '../chat/stream.ts'
import { amended, type Lie, type Lies, lie } from './lie.ts'

type Members = Readonly<Record<string, unknown>>

const messageLie = (name: string, text: string, members: Members): Lie =>
  lie(name, text, honest => ({
    choice: choice => amended(honest.choice(choice), { message: { ...choice.message, ...members } }),
  }))

/** A lie that adds fields to the delta of the first chunk of this part. */
const deltaLie = (name: string, text: string, part: StreamEvent['part'], members: Members): Lie =>
  lie(name, text, honest => ({
    events: events => {
      const first = events.find(event => event.part === part)
      return honest.events(events).map(event => (event === first ? withDelta(event, members) : event))
    },
  }))

function withDelta(event: StreamEvent, members: Members): StreamEvent {
  const chunk = JSON.parse(event.data)
  const [choice, ...others] = chunk.choices
  const choices = [{ ...choice, delta: { ...choice.delta, ...members } }, ...others]
  return { ...event, data: JSON.stringify({ ...chunk, choices }) }
}

function reindexed(event: StreamEvent, change: (index: number) => unknown): StreamEvent {
  if (!event.data.includes('"choices":[{')) return event
  const chunk = JSON.parse(event.data)
  const choices = chunk.choices.map((choice: { readonly index: number }) => ({
    ...choice,
    index: change(choice.index),
  }))
  return { ...event, data: JSON.stringify({ ...chunk, choices }) }
}

type Details = Usage['prompt_tokens_details']

/** A lie that changes the cached and written tokens of a prompt, if there are any. */
const cacheUsageLie = (name: string, text: string, change: (details: Details, prompt: number) => unknown): Lie =>
  lie(name, text, honest => ({
    usage: usage => {
      const { prompt_tokens: prompt, prompt_tokens_details: details } = usage
      const isCached = details.cached_tokens + details.cache_creation_input_tokens > 0
      const original = honest.usage(usage)
      return isCached ? amended(original, { prompt_tokens_details: change(details, prompt) }) : original
    },
  }))

/** A lie that changes the cost of cached or written tokens. */
const cacheCostLie = (name: string, text: string, change: (details: Details, prompt: number) => Partial<Usage>): Lie =>
  lie(name, text, honest => ({
    chatCostPico: (usage, price) =>
      honest.chatCostPico({ ...usage, ...change(usage.prompt_tokens_details, usage.prompt_tokens) }, price),
  }))

export const completionLies = {
  'chat.choice.stop-reason': [
    lie('stop-reason-as-token', 'The stop reason of a natural end is the final token.', honest => ({
      stopReason: reason => (reason === 'stop' ? '</s>' : honest.stopReason(reason)),
    })),
    lie('stop-reason-as-number', 'The stop reason is the number of the last token.', honest => ({
      stopReason: reason => (honest.stopReason(reason) === null ? null : 128_009),
    })),
    lie('stop-reason-always-stop', 'The stop reason is always stop, even at the bound.', honest => ({
      stopReason: reason => (reason === 'length' ? 'stop' : honest.stopReason(reason)),
    })),
  ],
  'chat.choice.tool-calls': [
    lie(
      'tool-calls-lost',
      'A completion that ends with a tool call lacks the call.',
      honest => ({
        choice: choice =>
          choice.finish_reason === 'tool_calls'
            ? amended(honest.choice(choice), { message: { ...choice.message, content: '', tool_calls: undefined } })
            : honest.choice(choice),
      }),
      ['parameters.documents'],
    ),
    lie('tool-calls-not-streamed', 'A stream that ends with a tool call lacks the call.', honest => ({
      events: events => honest.events(events).filter(({ part }) => part !== 'tool-call'),
    })),
  ],
  'chat.choice.length': [
    lie('cut-one-before', 'A completion is cut one token before its bound.', honest => ({
      completionTokens: (natural, bound) => Math.min(honest.completionTokens(natural, bound), Math.max(1, bound - 1)),
    })),
    lie('always-cut', 'A completion that ends naturally has the finish reason length.', () => ({
      finishReason: reason => (reason === 'stop' ? 'length' : reason),
      stopReason: reason => (reason === 'tool_calls' ? null : 'length'),
    })),
  ],
  'chat.message.members': [
    messageLie('message-name-as-object', 'The name in a message is an object.', { name: { given: 'Ada' } }),
    messageLie('reasoning-as-list', 'reasoning_content is a list of steps.', { reasoning_content: ['Hm.'] }),
    messageLie('reasoning-details-as-text', 'reasoning_details is a string.', { reasoning_details: 'Hm.' }),
    messageLie('reasoning-details-without-type', 'An item of reasoning_details has no type.', {
      reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }, { text: 'So.' }],
    }),
    messageLie('thought-signature-as-object', 'thought_signature is an object.', { thought_signature: { key: 'k1' } }),
    lie('tool-calls-as-object', 'Without a tool call, tool_calls is an empty object.', honest => ({
      choice: choice =>
        choice.message.tool_calls === undefined
          ? amended(honest.choice(choice), { message: { ...choice.message, tool_calls: {} } })
          : honest.choice(choice),
    })),
  ],
  'chat.usage.details': [
    lie('reasoning-tokens-as-text', 'reasoning_tokens is a string.', honest => ({
      usage: usage => amended(honest.usage(usage), { completion_tokens_details: { reasoning_tokens: '3' } }),
    })),
    lie('reasoning-tokens-over-completion', 'The reasoning tokens exceed the completion tokens by one.', honest => ({
      usage: usage =>
        amended(honest.usage(usage), {
          completion_tokens_details: { reasoning_tokens: usage.completion_tokens + 1 },
        }),
    })),
    lie('details-as-number', 'completion_tokens_details is the number of reasoning tokens.', honest => ({
      usage: usage =>
        amended(honest.usage(usage), {
          completion_tokens_details: usage.completion_tokens_details?.reasoning_tokens ?? 0,
        }),
    })),
  ],
  'chat.stream.index': [
    lie('streamed-choices-from-one', 'Choices in a stream are counted from 1.', honest => ({
      events: events => honest.events(events).map(event => reindexed(event, index => index + 1)),
    })),
    lie('streamed-index-as-text', 'The index of a choice in a stream is a string.', honest => ({
      events: events => honest.events(events).map(event => reindexed(event, String)),
    })),
  ],
  'chat.stream.delta': [
    deltaLie('delta-role-as-number', 'The role in a stream is a number.', 'role', { role: 1 }),
    deltaLie('delta-content-as-object', 'The content of a chunk is an object.', 'content', { content: { text: 'a' } }),
    deltaLie('delta-tool-calls-as-object', 'A text chunk has an object as tool_calls.', 'content', { tool_calls: {} }),
  ],
  'chat.usage.cached': [
    cacheUsageLie('cached-as-text', 'The number of cached tokens is a string.', details => ({
      ...details,
      cached_tokens: String(details.cached_tokens),
    })),
    cacheUsageLie('written-with-a-fraction', 'The number of written tokens has a fraction.', details => ({
      ...details,
      cache_creation_input_tokens: details.cache_creation_input_tokens + 0.5,
    })),
    cacheUsageLie('more-cached-than-sent', 'The cached tokens exceed the prompt tokens.', (details, prompt) => ({
      ...details,
      cached_tokens: prompt + 1,
      cache_creation_input_tokens: 0,
    })),
    cacheUsageLie('cached-and-written', 'Cached tokens are also reported as written.', (_, prompt) => ({
      cached_tokens: prompt,
      cache_creation_input_tokens: 1,
    })),
    cacheUsageLie('cache-details-as-list', 'The prompt token details are a list.', details => Object.values(details)),
  ],
  'chat.cost.cached': [
    cacheCostLie('cached-at-full-price', 'Cached tokens have the normal input price.', details => ({
      prompt_tokens_details: { ...details, cached_tokens: 0 },
    })),
    cacheCostLie('cached-for-nothing', 'Cached tokens are not billed.', (details, prompt) => ({
      prompt_tokens: prompt - details.cached_tokens,
      prompt_tokens_details: { ...details, cached_tokens: 0 },
    })),
    cacheCostLie('written-at-full-price', 'Written tokens have the normal input price.', details => ({
      prompt_tokens_details: { ...details, cache_creation_input_tokens: 0 },
    })),
    cacheCostLie('written-on-top', 'Written tokens are billed in addition to the prompt.', (details, prompt) => ({
      prompt_tokens: prompt + details.cache_creation_input_tokens,
    })),
  ],
} satisfies Lies
