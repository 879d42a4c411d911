import type { Usage } from '../chat/completion.ts'
import type { StreamEvent } from '../chat/stream.ts'
import { amended, type Lie, type Lies, lie } from './lie.ts'

type Members = Readonly<Record<string, unknown>>

const messaging = (name: string, text: string, members: Members): Lie =>
  lie(name, text, honest => ({
    choice: choice => amended(honest.choice(choice), { message: { ...choice.message, ...members } }),
  }))

/** A lie that adds members to the delta of the first chunk of this part. */
const adding = (name: string, text: string, part: StreamEvent['part'], members: Members): Lie =>
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

/** A lie about the cached or written tokens of a prompt, told where there are any. */
const text = (name: string, does: string, change: (details: Details, prompt: number) => unknown): Lie =>
  lie(name, does, honest => ({
    usage: usage => {
      const { prompt_tokens: prompt, prompt_tokens_details: details } = usage
      const isCached = details.cached_tokens + details.cache_creation_input_tokens > 0
      const said = honest.usage(usage)
      return isCached ? amended(said, { prompt_tokens_details: change(details, prompt) }) : said
    },
  }))

/** A lie about the cost of cached or written tokens. */
const bills = (name: string, does: string, change: (details: Details, prompt: number) => Partial<Usage>): Lie =>
  lie(name, does, honest => ({
    chatCostPico: (usage, price) =>
      honest.chatCostPico({ ...usage, ...change(usage.prompt_tokens_details, usage.prompt_tokens) }, price),
  }))

export const completionLies = {
  'chat.choice.stop-reason': [
    lie(
      'stop-reason-as-token',
      'The stop reason of an answer that ends by itself is the token that ended it.',
      honest => ({
        stopReason: reason => (reason === 'stop' ? '</s>' : honest.stopReason(reason)),
      }),
    ),
    lie('stop-reason-as-number', 'The stop reason is the number of the last token.', honest => ({
      stopReason: reason => (honest.stopReason(reason) === null ? null : 128_009),
    })),
    lie('stop-reason-always-stop', 'The stop reason is stop, even of an answer that meets its bound.', honest => ({
      stopReason: reason => (reason === 'length' ? 'stop' : honest.stopReason(reason)),
    })),
  ],
  'chat.choice.tool-calls': [
    lie(
      'tool-calls-lost',
      'An answer that ends with a tool call lacks it.',
      honest => ({
        choice: choice =>
          choice.finish_reason === 'tool_calls'
            ? amended(honest.choice(choice), { message: { ...choice.message, content: '', tool_calls: undefined } })
            : honest.choice(choice),
      }),
      ['parameters.documents'],
    ),
    lie('tool-calls-not-streamed', 'A stream that ends with a tool call lacks it.', honest => ({
      events: events => honest.events(events).filter(({ part }) => part !== 'tool-call'),
    })),
  ],
  'chat.choice.length': [
    lie('cut-one-before', 'An answer is cut one token before its bound.', honest => ({
      completionTokens: (natural, bound) => Math.min(honest.completionTokens(natural, bound), Math.max(1, bound - 1)),
    })),
    lie('always-cut', 'An answer that ends by itself is said to have met its bound.', () => ({
      finishReason: reason => (reason === 'stop' ? 'length' : reason),
      stopReason: reason => (reason === 'tool_calls' ? null : 'length'),
    })),
  ],
  'chat.message.members': [
    messaging('message-name-as-object', 'The name in a message is an object.', { name: { given: 'Ada' } }),
    messaging('reasoning-as-list', 'reasoning_content is a list of steps.', { reasoning_content: ['Hm.'] }),
    messaging('reasoning-details-as-text', 'reasoning_details is a text.', { reasoning_details: 'Hm.' }),
    messaging('reasoning-details-without-type', 'An item of reasoning_details has no type.', {
      reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }, { text: 'So.' }],
    }),
    messaging('thought-signature-as-object', 'thought_signature is an object.', { thought_signature: { key: 'k1' } }),
    lie('tool-calls-as-object', 'tool_calls is an empty object where none is called.', honest => ({
      choice: choice =>
        choice.message.tool_calls === undefined
          ? amended(honest.choice(choice), { message: { ...choice.message, tool_calls: {} } })
          : honest.choice(choice),
    })),
  ],
  'chat.usage.details': [
    lie('reasoning-tokens-as-text', 'reasoning_tokens is a text.', honest => ({
      usage: usage => amended(honest.usage(usage), { completion_tokens_details: { reasoning_tokens: '3' } }),
    })),
    lie('reasoning-tokens-over-completion', 'One token more was thought than was generated.', honest => ({
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
    lie('streamed-index-as-text', 'The index of a choice in a stream is a text.', honest => ({
      events: events => honest.events(events).map(event => reindexed(event, String)),
    })),
  ],
  'chat.stream.delta': [
    adding('delta-role-as-number', 'The role in a stream is a number.', 'role', { role: 1 }),
    adding('delta-content-as-object', 'A chunk has its content as an object.', 'content', { content: { text: 'a' } }),
    adding('delta-tool-calls-as-object', 'A chunk of text has an object of tool calls.', 'content', { tool_calls: {} }),
  ],
  'chat.usage.cached': [
    text('cached-as-text', 'Cached tokens are a string.', details => ({
      ...details,
      cached_tokens: String(details.cached_tokens),
    })),
    text('written-with-a-fraction', 'Written tokens are not whole.', details => ({
      ...details,
      cache_creation_input_tokens: details.cache_creation_input_tokens + 0.5,
    })),
    text('more-cached-than-sent', 'More tokens are cached than the prompt has.', (details, prompt) => ({
      ...details,
      cached_tokens: prompt + 1,
      cache_creation_input_tokens: 0,
    })),
    text('cached-and-written', 'Tokens that are cached are said to be written as well.', (_, prompt) => ({
      cached_tokens: prompt,
      cache_creation_input_tokens: 1,
    })),
    text('cache-details-as-list', 'The details of a prompt are a list.', details => Object.values(details)),
  ],
  'chat.cost.cached': [
    bills('cached-at-full-price', 'Cached tokens cost as much as others.', details => ({
      prompt_tokens_details: { ...details, cached_tokens: 0 },
    })),
    bills('cached-for-nothing', 'Cached tokens are not billed.', (details, prompt) => ({
      prompt_tokens: prompt - details.cached_tokens,
      prompt_tokens_details: { ...details, cached_tokens: 0 },
    })),
    bills('written-at-full-price', 'Written tokens cost as much as others.', details => ({
      prompt_tokens_details: { ...details, cache_creation_input_tokens: 0 },
    })),
    bills('written-on-top', 'Written tokens are billed on top of the prompt.', (details, prompt) => ({
      prompt_tokens: prompt + details.cache_creation_input_tokens,
    })),
  ],
} satisfies Lies
