import { type Logprobs, logprobsOf, type TokenLogprob } from '../chat/completion.ts'
import { amend, changeInput, changeResult, type Fields } from './decisions.ts'
import type { LieRow, Lies, Overrides } from './lie.ts'
import {
  all,
  changeReplyIf,
  isOf,
  isStream,
  not,
  type ReplyTest,
  replyText,
  setHeader,
  setStatus,
  withText,
} from './replies.ts'
import { changeData, changeEvents, partLast, restless, twicePart, withError, withoutPart } from './streams.ts'

const isWhole: ReplyTest = ({ body }) => body.kind === 'whole'

/** Changes the log probabilities of a choice. */
const changeLogprobs = (change: (logprobs: Logprobs | null, content: string) => unknown): Overrides =>
  amend('choice', ({ logprobs, message }) => ({ logprobs: change(logprobs, message.content ?? '') }))

/** Replaces fields of every position, including the first. */
const amendLogprobs = (fields: (position: TokenLogprob) => Fields): Overrides => {
  const change = (position: TokenLogprob) => ({ ...position, ...fields(position) })
  return changeLogprobs(logprobs => logprobs && { ...change(logprobs), content: logprobs.content.map(change) })
}

/** A message with other fields. */
const amendMessage = (fields: (content: string | null) => Fields): Overrides =>
  amend('choice', ({ message }) => ({ message: { ...message, ...fields(message.content) } }))

/** The JSON of a completion with a cost beyond the numbers of a double. */
const withoutBound = (text: string): string => text.replace(/"usd":[^,}]+/, '"usd":1e400')

/** A fault in every price is also a fault in the price of cached tokens. */
const wrongPrice = (text: string, overrides: Overrides): LieRow => [
  text,
  overrides,
  ['chat.cost.cached', 'parameters.price'],
]

export const chatLies = {
  'chat.status': {
    'completion-created': ['Completions have the status 201.', changeReplyIf(isOf('chat', 200), setStatus(201))],
    'stream-accepted': [
      'Streams have the status 202.',
      changeReplyIf(all(isOf('chat', 200), isStream), setStatus(202)),
    ],
  },
  'chat.content-type': {
    'completion-as-text': [
      'Unstreamed completions are text/plain.',
      changeReplyIf(all(isOf('chat', 200), not(isStream)), setHeader('content-type', 'text/plain')),
    ],
  },
  'chat.media-type': {
    'wrong-media-type-is-400': ['Another content type returns 400.', changeReplyIf(isOf('chat', 415), setStatus(400))],
    'any-media-type': ['The content type of a chat request is ignored.', () => ({ acceptsChatType: () => true })],
    'media-type-without-parameters': [
      'A content type with a charset is rejected.',
      changeResult('acceptsChatType', (accepts, type) => accepts && type?.includes(';') !== true),
    ],
  },
  'chat.id': {
    'completion-without-id': ['Completions have no id.', amend('completionHead', { id: undefined })],
    'completion-id-as-number': [
      'The id of a completion is a number.',
      amend('completionHead', ({ id }) => ({ id: Number.parseInt(id.slice(-9), 36) })),
    ],
  },
  'chat.object': {
    'object-of-old': [
      'The object of a completion is text_completion.',
      amend('completionHead', ({ object }) => ({ object: object === 'chat.completion' ? 'text_completion' : object })),
    ],
  },
  'chat.created': {
    'created-in-milliseconds': [
      'created is in milliseconds.',
      amend('completionHead', ({ created }) => ({ created: created * 1000 })),
    ],
    'created-as-text': [
      'created is an ISO date.',
      amend('completionHead', ({ created }) => ({ created: new Date(created * 1000).toISOString() })),
    ],
    'created-long-ago': [
      'created is a day old, as in a cached response.',
      amend('completionHead', ({ created }) => ({ created: created - 86_400 })),
    ],
  },
  'chat.model': {
    'completion-without-model': ['Completions do not name the model.', amend('completionHead', { model: undefined })],
    'model-of-the-backend': [
      "Completions have the backend's name of the model.",
      amend('completionHead', ({ model }) => ({ model: `backend/${model}` })),
    ],
  },
  'chat.choice': {
    'choice-without-logprobs': ['Choices lack the key logprobs.', amend('choice', { logprobs: undefined })],
    'choice-index-as-text': [
      'The index of a choice is a string.',
      amend('choice', ({ index }) => ({ index: String(index) })),
    ],
  },
  'chat.choice.finish-reason': {
    'finish-reason-eos': [
      'A completion that ends naturally has the finish reason eos.',
      changeResult('finishReason', (shown, reason) => (reason === 'stop' ? 'eos' : shown)),
    ],
    'finish-reason-max-tokens': [
      'A completion that reaches its bound has the finish reason max_tokens.',
      changeResult('finishReason', (shown, reason) => (reason === 'length' ? 'max_tokens' : shown)),
    ],
  },
  'chat.message': {
    'message-without-content': [
      'Messages have neither content nor tool calls.',
      amendMessage(() => ({ content: null })),
    ],
    'content-of-untyped-parts': [
      'Content is a list of parts without a type.',
      amendMessage(content => ({ content: [{ text: content }] })),
    ],
    'tool-message-without-call': [
      'Messages have the role tool and no tool_call_id.',
      amend('choice', ({ message: { content } }) => (content === null ? {} : { message: { role: 'tool', content } })),
    ],
    'message-of-the-user': ['Messages have the role user.', amendMessage(() => ({ role: 'user' }))],
  },
  'chat.usage': {
    'usage-as-text': [
      'The numbers of usage are strings.',
      amend('usage', ({ prompt_tokens: prompt, completion_tokens: completion, total_tokens: total }) => ({
        prompt_tokens: String(prompt),
        completion_tokens: String(completion),
        total_tokens: String(total),
      })),
    ],
    'usage-without-prompt': ['usage has no prompt_tokens.', amend('usage', { prompt_tokens: undefined })],
  },
  'chat.usage.sum': {
    'total-one-too-many': [
      'The total is one token too high.',
      amend('usage', ({ total_tokens: total }) => ({ total_tokens: total + 1 })),
    ],
    'total-without-prompt': [
      'The total has the completion tokens only.',
      amend('usage', ({ completion_tokens: completion }) => ({ total_tokens: completion })),
    ],
  },
  'chat.max-completion-tokens': {
    'one-token-over': [
      'A completion that reaches its bound has one more token.',
      () => ({ completionTokens: (natural, bound) => (natural < bound ? natural : bound + 1) }),
    ],
    'reasoning-on-top': [
      'Reasoning tokens do not count toward the bound.',
      () => ({ completionTokens: (natural, bound) => Math.min(natural, Math.ceil(bound * 1.5)) }),
    ],
    'bound-not-heeded': ['The bound of a completion is ignored.', () => ({ completionTokens: natural => natural })],
  },
  'chat.cost': {
    'negative-cost': [
      'The cost is negative, as in a ledger.',
      changeInput('cost', ({ usd, diem }) => [{ usd: -usd, diem: -diem }]),
    ],
    'cost-as-text': [
      'The amounts of the cost are strings.',
      amend('cost', ({ usd, diem }) => ({ usd: String(usd), diem: String(diem) })),
    ],
    'cost-without-bound': [
      'The cost in USD is 1e400.',
      (honest, contract) => ({
        ...changeReplyIf(isWhole, reply => withText(reply, withoutBound(replyText(reply))))(honest, contract),
        ...changeEvents(changeData(() => true, withoutBound))(honest, contract),
      }),
    ],
    'cost-as-nan': ['The cost in USD is the text NaN.', amend('cost', { usd: 'NaN' })],
    'cost-without-diem': ['The cost has no diem.', amend('cost', { diem: undefined })],
  },
  'chat.cost.amount': {
    'cost-ten-fold': wrongPrice(
      'A completion costs ten times its list price.',
      changeResult('chatCostPico', cost => cost * 10n),
    ),
    'cost-rounded-to-thousandths': wrongPrice(
      'The cost of a completion is rounded up to thousandths of a dollar.',
      changeResult('chatCostPico', cost => ((cost + 999_999_999n) / 1_000_000_000n) * 1_000_000_000n),
    ),
    'prices-swapped': wrongPrice(
      'Prompts are billed as completions, and completions as prompts.',
      changeInput('chatCostPico', (usage, price) => [usage, { ...price, input: price.output, output: price.input }]),
    ),
    'free-prompts': wrongPrice(
      'Prompts are not billed.',
      changeInput('chatCostPico', (usage, price) => [usage, { ...price, input: '0' }]),
    ),
    'one-token-unbilled': wrongPrice(
      'The last token of a completion is not billed.',
      changeInput('chatCostPico', (usage, price) => [
        { ...usage, completion_tokens: usage.completion_tokens - 1 },
        price,
      ]),
    ),
  },
  'chat.logprobs': {
    'bytes-in-base64': [
      'The bytes of a token are a base64 string.',
      amendLogprobs(({ bytes }) => ({ bytes: Buffer.from(bytes).toString('base64') })),
    ],
    'logprob-as-text': [
      'Log probabilities are strings.',
      amendLogprobs(({ logprob }) => ({ logprob: String(logprob) })),
    ],
  },
  'chat.logprobs.asked': {
    'logprobs-unasked': [
      'Every response has log probabilities.',
      changeLogprobs((logprobs, word) => logprobs ?? logprobsOf([word], 0)),
    ],
    'logprobs-never': ['No response has log probabilities.', amend('choice', { logprobs: null })],
  },
  'chat.logprobs.top': {
    'one-candidate-too-many': [
      'Each position has one candidate more than requested.',
      amendLogprobs(({ top_logprobs: top }) => ({ top_logprobs: [...top, { token: '', logprob: -9, bytes: [] }] })),
    ],
  },
  'chat.prompt-logprobs': {
    'prompt-logprobs-as-list': ['prompt_logprobs is a list.', amend('completionHead', { prompt_logprobs: [] })],
  },
  'chat.stream.content-type': {
    'stream-as-json': [
      'Streams are application/json.',
      changeReplyIf(isStream, setHeader('content-type', 'application/json')),
    ],
  },
  'chat.stream.chunk': {
    'id-changes': [
      'The id changes with the first content token.',
      changeEvents((events, original) => {
        const from = original.findIndex(({ part }) => part === 'content')
        const renameId = (data: string) => data.replace('"id":"chatcmpl-', '"id":"chatcmpl-B')
        return changeData((_, index) => index >= from, renameId)(events)
      }),
    ],
    'model-changes': [
      'The last chunks name another model.',
      changeEvents(
        changeData(
          ({ part }) => part === 'finish' || part === 'usage',
          data => data.replace('"model":"', '"model":"other-'),
        ),
      ),
    ],
    'chunk-cut-off': [
      'A chunk is cut off.',
      changeEvents((events, original) => {
        const last = original.findLastIndex(({ part }) => part === 'content')
        return changeData(
          (_, index) => index === last,
          data => data.slice(0, -20),
        )(events)
      }),
    ],
  },
  'chat.stream.finish': {
    'goes-on-after-an-error': ['A stream goes on after an error in its middle.', changeEvents(withError('first'))],
    'finishes-after-an-error': [
      'A stream with an error after its last token has a finish reason.',
      changeEvents(withError('last')),
    ],
    'finish-twice': ['The finish chunk is sent twice.', changeEvents(twicePart('finish'))],
    'restless-finish-twice': [
      'A chunk without a token follows each token, and the finish chunk is sent twice.',
      changeEvents(restless, twicePart('finish')),
    ],
    'no-finish': ['The finish chunk is left out.', changeEvents(withoutPart('finish'))],
    'token-after-finish': [
      'A token follows the finish chunk.',
      changeEvents(events => {
        const token = events.findLast(({ part }) => part === 'content')
        if (token === undefined) return events
        return events
          .filter(event => event !== token)
          .flatMap(event => (event.part === 'finish' ? [event, token] : [event]))
      }),
    ],
  },
  'chat.stream.usage': {
    'usage-twice': ['The usage chunk is sent twice.', changeEvents(twicePart('usage'))],
    'no-usage': ['The usage chunk is left out.', changeEvents(withoutPart('usage'))],
  },
  'chat.stream.done': {
    'no-done': ['The done marker is left out.', changeEvents(withoutPart('done'))],
    'restless-no-done': [
      'A chunk without a token follows each token, and the done marker is left out.',
      changeEvents(restless, withoutPart('done')),
    ],
    'restless-done-early': [
      'A chunk without a token follows each token, and the done marker precedes the last chunk.',
      changeEvents(restless, partLast('usage')),
    ],
    'usage-after-done': ['The usage chunk follows the done marker.', changeEvents(partLast('usage'))],
    'done-twice': ['The done marker is sent twice.', changeEvents(twicePart('done'))],
  },
} satisfies Lies
