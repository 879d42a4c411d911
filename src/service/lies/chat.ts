import { type Logprobs, logprobsOf, type TokenLogprob } from '../chat/completion.ts'
import type { StreamEvent } from '../chat/stream.ts'
import { amended, isStream, type Lie, type Lies, lie, replyLie, withHeader, withText } from './lie.ts'

/** A lie that changes the log probabilities of a choice. */
const logprobsLie = (
  name: string,
  text: string,
  change: (logprobs: Logprobs | null, content: string) => unknown,
): Lie =>
  lie(name, text, honest => ({
    choice: choice =>
      amended(honest.choice(choice), { logprobs: change(choice.logprobs, choice.message.content ?? '') }),
  }))

/** A lie that changes every position, including the first. */
const eachLogprobLie = (name: string, text: string, change: (position: TokenLogprob) => object): Lie =>
  logprobsLie(name, text, logprobs => logprobs && { ...change(logprobs), content: logprobs.content.map(change) })

const rewrite = (event: StreamEvent, from: string, to: string): StreamEvent => ({
  ...event,
  data: event.data.replace(from, to),
})

/** The JSON of a completion with a cost beyond the numbers of a double. */
const withoutBound = (text: string): string => text.replace(/"usd":[^,}]+/, '"usd":1e400')

/** A stream with a chunk without choices after each token: more runs than a record keeps in full. */
const restless = (events: readonly StreamEvent[]): readonly StreamEvent[] =>
  events.flatMap(event =>
    event.part === 'content'
      ? [event, { ...event, part: 'role', data: event.data.replace(/"choices":\[.*\]/, '"choices":[]') }]
      : [event],
  )

/** A stream with an error after its first token (1), or after its last one (-1). */
function withError(events: readonly StreamEvent[], side: 1 | -1): readonly StreamEvent[] {
  const isToken = ({ part }: StreamEvent) => part === 'content' || part === 'tool-call'
  const at = side === 1 ? events.findIndex(isToken) : events.findLastIndex(isToken)
  const event = events[at]
  if (event === undefined) return events
  return events.toSpliced(at + 1, 0, { ...event, data: '{"error":{"type":"server_error","message":"No backend"}}' })
}

export const chatLies = {
  'chat.status': [
    replyLie('completion-created', 'Completions have the status 201.', (reply, { route }) =>
      route.kind === 'chat' && reply.status === 200 ? { ...reply, status: 201 } : reply,
    ),
    replyLie('stream-accepted', 'Streams have the status 202.', (reply, { route }) =>
      route.kind === 'chat' && reply.status === 200 && isStream(reply) ? { ...reply, status: 202 } : reply,
    ),
  ],
  'chat.content-type': [
    replyLie('completion-as-text', 'Unstreamed completions are text/plain.', (reply, { route }) =>
      route.kind === 'chat' && reply.status === 200 && !isStream(reply)
        ? withHeader(reply, 'content-type', 'text/plain')
        : reply,
    ),
  ],
  'chat.media-type': [
    replyLie('wrong-media-type-is-400', 'Another content type returns 400.', (reply, { route }) =>
      route.kind === 'chat' && reply.status === 415 ? { ...reply, status: 400 } : reply,
    ),
    lie('any-media-type', 'The content type of a chat request is ignored.', () => ({
      acceptsChatType: () => true,
    })),
    lie('media-type-without-parameters', 'A content type with a charset is rejected.', honest => ({
      acceptsChatType: type => honest.acceptsChatType(type) && type?.includes(';') !== true,
    })),
  ],
  'chat.id': [
    lie('completion-without-id', 'Completions have no id.', honest => ({
      completionHead: head => ({ ...honest.completionHead(head), id: undefined }),
    })),
    lie('completion-id-as-number', 'The id of a completion is a number.', honest => ({
      completionHead: head => ({ ...honest.completionHead(head), id: Number.parseInt(head.id.slice(-9), 36) }),
    })),
  ],
  'chat.object': [
    lie('object-of-old', 'The object of a completion is text_completion.', honest => ({
      completionHead: head => ({
        ...honest.completionHead(head),
        ...(head.object === 'chat.completion' ? { object: 'text_completion' } : {}),
      }),
    })),
  ],
  'chat.created': [
    lie('created-in-milliseconds', 'created is in milliseconds.', honest => ({
      completionHead: head => ({ ...honest.completionHead(head), created: head.created * 1000 }),
    })),
    lie('created-as-text', 'created is an ISO date.', honest => ({
      completionHead: head => ({
        ...honest.completionHead(head),
        created: new Date(head.created * 1000).toISOString(),
      }),
    })),
    lie('created-long-ago', 'created is a day old, as in a cached response.', honest => ({
      completionHead: head => ({ ...honest.completionHead(head), created: head.created - 86_400 }),
    })),
  ],
  'chat.model': [
    lie('completion-without-model', 'Completions do not name the model.', honest => ({
      completionHead: head => ({ ...honest.completionHead(head), model: undefined }),
    })),
    lie('model-of-the-backend', "Completions have the backend's name of the model.", honest => ({
      completionHead: head => ({ ...honest.completionHead(head), model: `backend/${head.model}` }),
    })),
  ],
  'chat.choice': [
    lie('choice-without-logprobs', 'Choices lack the key logprobs.', honest => ({
      choice: choice => amended(honest.choice(choice), { logprobs: undefined }),
    })),
    lie('choice-index-as-text', 'The index of a choice is a string.', honest => ({
      choice: choice => amended(honest.choice(choice), { index: String(choice.index) }),
    })),
  ],
  'chat.choice.finish-reason': [
    lie('finish-reason-eos', 'A completion that ends naturally has the finish reason eos.', honest => ({
      finishReason: reason => (reason === 'stop' ? 'eos' : honest.finishReason(reason)),
    })),
    lie(
      'finish-reason-max-tokens',
      'A completion that reaches its bound has the finish reason max_tokens.',
      honest => ({
        finishReason: reason => (reason === 'length' ? 'max_tokens' : honest.finishReason(reason)),
      }),
    ),
  ],
  'chat.message': [
    lie('message-without-content', 'Messages have neither content nor tool calls.', honest => ({
      choice: choice => amended(honest.choice(choice), { message: { ...choice.message, content: null } }),
    })),
    lie('content-of-untyped-parts', 'Content is a list of parts without a type.', honest => ({
      choice: choice =>
        amended(honest.choice(choice), { message: { ...choice.message, content: [{ text: choice.message.content }] } }),
    })),
    lie('tool-message-without-call', 'Messages have the role tool and no tool_call_id.', honest => ({
      choice: choice =>
        choice.message.content === null
          ? honest.choice(choice)
          : amended(honest.choice(choice), { message: { role: 'tool', content: choice.message.content } }),
    })),
    lie('message-of-the-user', 'Messages have the role user.', honest => ({
      choice: choice => amended(honest.choice(choice), { message: { ...choice.message, role: 'user' } }),
    })),
  ],
  'chat.usage': [
    lie('usage-as-text', 'The numbers of usage are strings.', honest => ({
      usage: usage =>
        amended(honest.usage(usage), {
          prompt_tokens: String(usage.prompt_tokens),
          completion_tokens: String(usage.completion_tokens),
          total_tokens: String(usage.total_tokens),
        }),
    })),
    lie('usage-without-prompt', 'usage has no prompt_tokens.', honest => ({
      usage: usage => amended(honest.usage(usage), { prompt_tokens: undefined }),
    })),
  ],
  'chat.usage.sum': [
    lie('total-one-too-many', 'The total is one token too high.', honest => ({
      usage: usage => honest.usage({ ...usage, total_tokens: usage.total_tokens + 1 }),
    })),
    lie('total-without-prompt', 'The total has the completion tokens only.', honest => ({
      usage: usage => honest.usage({ ...usage, total_tokens: usage.completion_tokens }),
    })),
  ],
  'chat.max-completion-tokens': [
    lie('one-token-over', 'A completion that reaches its bound has one more token.', () => ({
      completionTokens: (natural, bound) => (natural < bound ? natural : bound + 1),
    })),
    lie('reasoning-on-top', 'Reasoning tokens do not count toward the bound.', () => ({
      completionTokens: (natural, bound) => Math.min(natural, Math.ceil(bound * 1.5)),
    })),
    lie('bound-not-heeded', 'The bound of a completion is ignored.', () => ({
      completionTokens: natural => natural,
    })),
  ],
  'chat.cost': [
    lie('negative-cost', 'The cost is negative, as in a ledger.', honest => ({
      cost: ({ usd, diem }) => honest.cost({ usd: -usd, diem: -diem }),
    })),
    lie('cost-as-text', 'The amounts of the cost are strings.', honest => ({
      cost: cost => amended(honest.cost(cost), { usd: String(cost.usd), diem: String(cost.diem) }),
    })),
    lie('cost-without-bound', 'The cost in USD is 1e400.', honest => ({
      finish: (reply, state) => {
        const finished = honest.finish(reply, state)
        return finished.body.kind === 'whole' ? withText(finished, withoutBound(finished.body.text)) : finished
      },
      events: events => honest.events(events).map(event => ({ ...event, data: withoutBound(event.data) })),
    })),
    lie('cost-as-nan', 'The cost in USD is the text NaN.', honest => ({
      cost: cost => amended(honest.cost(cost), { usd: 'NaN' }),
    })),
    lie('cost-without-diem', 'The cost has no diem.', honest => ({
      cost: cost => amended(honest.cost(cost), { diem: undefined }),
    })),
  ],
  // A fault in every price is also a fault in the price of cached tokens.
  'chat.cost.amount': [
    lie(
      'cost-ten-fold',
      'A completion costs ten times its list price.',
      honest => ({ chatCostPico: (usage, price) => honest.chatCostPico(usage, price) * 10n }),
      ['chat.cost.cached', 'parameters.price'],
    ),
    lie(
      'cost-rounded-to-thousandths',
      'The cost of a completion is rounded up to thousandths of a dollar.',
      honest => ({
        chatCostPico: (usage, price) =>
          ((honest.chatCostPico(usage, price) + 999_999_999n) / 1_000_000_000n) * 1_000_000_000n,
      }),
      ['chat.cost.cached', 'parameters.price'],
    ),
    lie(
      'prices-swapped',
      'Prompts are billed as completions, and completions as prompts.',
      honest => ({
        chatCostPico: (usage, price) =>
          honest.chatCostPico(usage, { ...price, input: price.output, output: price.input }),
      }),
      ['chat.cost.cached', 'parameters.price'],
    ),
    lie(
      'free-prompts',
      'Prompts are not billed.',
      honest => ({
        chatCostPico: (usage, price) => honest.chatCostPico(usage, { ...price, input: '0' }),
      }),
      ['chat.cost.cached', 'parameters.price'],
    ),
    lie(
      'one-token-unbilled',
      'The last token of a completion is not billed.',
      honest => ({
        chatCostPico: (usage, price) =>
          honest.chatCostPico({ ...usage, completion_tokens: usage.completion_tokens - 1 }, price),
      }),
      ['chat.cost.cached', 'parameters.price'],
    ),
  ],
  'chat.logprobs': [
    eachLogprobLie('bytes-in-base64', 'The bytes of a token are a base64 string.', position => ({
      ...position,
      bytes: Buffer.from(position.bytes).toString('base64'),
    })),
    eachLogprobLie('logprob-as-text', 'Log probabilities are strings.', position => ({
      ...position,
      logprob: String(position.logprob),
    })),
  ],
  'chat.logprobs.asked': [
    logprobsLie('logprobs-unasked', 'Every response has log probabilities.', (logprobs, word) => {
      return logprobs ?? logprobsOf([word], 0)
    }),
    logprobsLie('logprobs-never', 'No response has log probabilities.', () => null),
  ],
  'chat.logprobs.top': [
    eachLogprobLie('one-candidate-too-many', 'Each position has one candidate more than requested.', position => ({
      ...position,
      top_logprobs: [...position.top_logprobs, { token: '', logprob: -9, bytes: [] }],
    })),
  ],
  'chat.prompt-logprobs': [
    lie('prompt-logprobs-as-list', 'prompt_logprobs is a list.', honest => ({
      completionHead: head => ({ ...honest.completionHead(head), prompt_logprobs: [] }),
    })),
  ],
  'chat.stream.content-type': [
    replyLie('stream-as-json', 'Streams are application/json.', reply =>
      isStream(reply) ? withHeader(reply, 'content-type', 'application/json') : reply,
    ),
  ],
  'chat.stream.chunk': [
    lie('id-changes', 'The id changes with the first content token.', honest => ({
      events: events => {
        const from = events.findIndex(({ part }) => part === 'content')
        return honest
          .events(events)
          .map((event, index) => (index >= from ? rewrite(event, '"id":"chatcmpl-', '"id":"chatcmpl-B') : event))
      },
    })),
    lie('model-changes', 'The last chunks name another model.', honest => ({
      events: events =>
        honest
          .events(events)
          .map(event =>
            event.part === 'finish' || event.part === 'usage' ? rewrite(event, '"model":"', '"model":"other-') : event,
          ),
    })),
    lie('chunk-cut-off', 'A chunk is cut off.', honest => ({
      events: events => {
        const last = events.findLastIndex(({ part }) => part === 'content')
        return honest
          .events(events)
          .map((event, index) => (index === last ? { ...event, data: event.data.slice(0, -20) } : event))
      },
    })),
  ],
  'chat.stream.finish': [
    lie('goes-on-after-an-error', 'A stream goes on after an error in its middle.', honest => ({
      events: events => withError(honest.events(events), 1),
    })),
    lie('finishes-after-an-error', 'A stream with an error after its last token has a finish reason.', honest => ({
      events: events => withError(honest.events(events), -1),
    })),
    lie('finish-twice', 'The finish chunk is sent twice.', honest => ({
      events: events => honest.events(events).flatMap(event => (event.part === 'finish' ? [event, event] : [event])),
    })),
    lie(
      'restless-finish-twice',
      'A chunk without a token follows each token, and the finish chunk is sent twice.',
      honest => ({
        events: events =>
          restless(honest.events(events)).flatMap(event => (event.part === 'finish' ? [event, event] : [event])),
      }),
    ),
    lie('no-finish', 'The finish chunk is left out.', honest => ({
      events: events => honest.events(events).filter(({ part }) => part !== 'finish'),
    })),
    lie('token-after-finish', 'A token follows the finish chunk.', honest => ({
      events: events => {
        const token = events.findLast(({ part }) => part === 'content')
        return honest
          .events(events)
          .flatMap(event => (event.part === 'finish' && token !== undefined ? [event, token] : [event]))
          .filter((event, index, all) => event !== token || index > all.findIndex(({ part }) => part === 'finish'))
      },
    })),
  ],
  'chat.stream.usage': [
    lie('usage-twice', 'The usage chunk is sent twice.', honest => ({
      events: events => honest.events(events).flatMap(event => (event.part === 'usage' ? [event, event] : [event])),
    })),
    lie('no-usage', 'The usage chunk is left out.', honest => ({
      events: events => honest.events(events).filter(({ part }) => part !== 'usage'),
    })),
  ],
  'chat.stream.done': [
    lie('no-done', 'The done marker is left out.', honest => ({
      events: events => honest.events(events).filter(({ part }) => part !== 'done'),
    })),
    lie('restless-no-done', 'A chunk without a token follows each token, and the done marker is left out.', honest => ({
      events: events => restless(honest.events(events)).filter(({ part }) => part !== 'done'),
    })),
    lie(
      'restless-done-early',
      'A chunk without a token follows each token, and the done marker precedes the last chunk.',
      honest => ({
        events: events =>
          restless(honest.events(events)).toSorted((a, b) => Number(a.part === 'usage') - Number(b.part === 'usage')),
      }),
    ),
    lie('usage-after-done', 'The usage chunk follows the done marker.', honest => ({
      events: events =>
        [...honest.events(events)].sort((a, b) => Number(a.part === 'usage') - Number(b.part === 'usage')),
    })),
    lie('done-twice', 'The done marker is sent twice.', honest => ({
      events: events => honest.events(events).flatMap(event => (event.part === 'done' ? [event, event] : [event])),
    })),
  ],
} satisfies Lies
