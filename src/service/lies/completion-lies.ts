import type { StreamEvent } from '../chat/stream.ts'
import { amended } from './amended.ts'
import { type Lie, type Lies, lie } from './lie.ts'

type Members = Readonly<Record<string, unknown>>

const messaging = (name: string, says: string, members: Members): Lie =>
  lie(name, says, honest => ({
    choice: choice => amended(honest.choice(choice), { message: { ...choice.message, ...members } }),
  }))

/** Of the first chunk of a stream that is for this: its delta has other members. */
const adding = (name: string, says: string, part: StreamEvent['part'], members: Members): Lie =>
  lie(name, says, honest => ({
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
} as const satisfies Lies
