import { isObject } from '../../lib/json.ts'
import { type Logprobs, logprobsOf, type TokenLogprob } from '../chat/completion.ts'
import { always, amend, type Fields, input, result } from './decisions.ts'
import { alsoViolating, type LieRow, type Lies, row } from './lie.ts'
import {
  all,
  changeReplies,
  isForStream,
  isOf,
  isStream,
  not,
  type ReplyTest,
  replies,
  replyText,
  setHeader,
  setStatus,
  withText,
} from './replies.ts'
import { changeData, events, inCrowd, partLast, restless, twicePart, withError, withoutPart } from './streams.ts'

const isWhole: ReplyTest = ({ body }) => body.kind === 'whole'

/** Changes the log probabilities of a choice. */
const changeLogprobs = (text: string, change: (logprobs: Logprobs | null, content: string) => unknown): LieRow =>
  amend(text, 'choice', ({ logprobs, message }) => ({ logprobs: change(logprobs, message.content ?? '') }))

/** Replaces fields of every position, including the first. */
const amendLogprobs = (text: string, fields: (position: TokenLogprob) => Fields): LieRow => {
  const change = (position: TokenLogprob) => ({ ...position, ...fields(position) })
  return changeLogprobs(text, logprobs => logprobs && { ...change(logprobs), content: logprobs.content.map(change) })
}

/** A message with other fields. */
const amendMessage = (text: string, fields: (content: string | null) => Fields): LieRow =>
  amend(text, 'choice', ({ message }) => ({ message: { ...message, ...fields(message.content) } }))

/** The JSON of a completion with a cost beyond the numbers of a double. */
const withoutBound = (text: string): string => text.replace(/"usd":[^,}]+/, '"usd":1e400')

/** A fault in every price is also a fault in the price of cached tokens. */
const everyPrice = ['chat.cost.cached', 'parameters.price'] as const

export const chatLies = {
  'chat.status': {
    'completion-created': replies('Completions have the status 201.', isOf('chat', 200), setStatus(201)),
    'stream-accepted': replies('Streams have the status 202.', all(isOf('chat', 200), isStream), setStatus(202)),
  },
  'chat.content-type': {
    'completion-as-text': replies(
      'Unstreamed completions are text/plain.',
      all(isOf('chat', 200), not(isStream)),
      setHeader('content-type', 'text/plain'),
    ),
  },
  'chat.media-type': {
    'wrong-media-type-is-400': replies('Another content type returns 400.', isOf('chat', 415), setStatus(400)),
    'wrong-media-type-is-400-for-streams': replies(
      'Another content type of a stream returns 400.',
      all(isOf('chat', 415), isForStream),
      setStatus(400),
    ),
    'any-media-type': always('The content type of a chat request is ignored.', { acceptsChatType: () => true }),
    'any-media-type-of-json': result(
      'Any content type that contains "json" is accepted.',
      'acceptsChatType',
      (accepts, type = '') => accepts || type.includes('json'),
    ),
    'media-type-by-its-start': result(
      'Any content type that starts with application/json is accepted.',
      'acceptsChatType',
      (accepts, type = '') => accepts || type.startsWith('application/json'),
    ),
    'media-type-without-parameters': result(
      'A content type with a charset is rejected.',
      'acceptsChatType',
      (accepts, type) => accepts && type?.includes(';') !== true,
    ),
  },
  'chat.id': {
    'completion-without-id': amend('Completions have no id.', 'completionHead', { id: undefined }),
    'completion-id-as-number': amend('The id of a completion is a number.', 'completionHead', ({ id }) => ({
      id: Number.parseInt(id.slice(-9), 36),
    })),
    'completion-id-of-the-model': amend(
      'All completions of a model have the same id.',
      'completionHead',
      ({ model }) => ({
        id: `chatcmpl-${model}`,
      }),
    ),
  },
  'chat.object': {
    'object-of-old': amend('The object of a completion is text_completion.', 'completionHead', ({ object }) => ({
      object: object === 'chat.completion' ? 'text_completion' : object,
    })),
  },
  'chat.created': {
    'created-in-milliseconds': amend('created is in milliseconds.', 'completionHead', ({ created }) => ({
      created: created * 1000,
    })),
    'created-as-text': amend('created is an ISO date.', 'completionHead', ({ created }) => ({
      created: new Date(created * 1000).toISOString(),
    })),
    'created-long-ago': amend('created is a day old, as in a cached response.', 'completionHead', ({ created }) => ({
      created: created - 86_400,
    })),
  },
  'chat.model': {
    'completion-without-model': amend('Completions do not name the model.', 'completionHead', { model: undefined }),
    'model-of-the-backend': amend(
      "Completions have the backend's name of the model.",
      'completionHead',
      ({ model }) => ({ model: `backend/${model}` }),
    ),
  },
  'chat.choice': {
    'choice-without-logprobs': amend('Choices lack the key logprobs.', 'choice', { logprobs: undefined }),
    'choice-index-as-text': amend('The index of a choice is a string.', 'choice', ({ index }) => ({
      index: String(index),
    })),
  },
  'chat.choice.finish-reason': {
    'finish-reason-eos': result(
      'A completion that ends naturally has the finish reason eos.',
      'finishReason',
      (shown, reason) => (reason === 'stop' ? 'eos' : shown),
    ),
    'finish-reason-max-tokens': result(
      'A completion that reaches its bound has the finish reason max_tokens.',
      'finishReason',
      (shown, reason) => (reason === 'length' ? 'max_tokens' : shown),
    ),
  },
  'chat.message': {
    'message-without-content': amendMessage('Messages have neither content nor tool calls.', () => ({ content: null })),
    'content-of-untyped-parts': amendMessage('Content is a list of parts without a type.', content => ({
      content: [{ text: content }],
    })),
    'tool-message-without-call': amend(
      'Messages have the role tool and no tool_call_id.',
      'choice',
      ({ message: { content } }) => (content === null ? {} : { message: { role: 'tool', content } }),
    ),
    'message-of-the-user': amendMessage('Messages have the role user.', () => ({ role: 'user' })),
  },
  'chat.usage': {
    'usage-as-text': amend(
      'The numbers of usage are strings.',
      'usage',
      ({ prompt_tokens: prompt, completion_tokens: completion, total_tokens: total }) => ({
        prompt_tokens: String(prompt),
        completion_tokens: String(completion),
        total_tokens: String(total),
      }),
    ),
    'usage-without-prompt': amend('usage has no prompt_tokens.', 'usage', { prompt_tokens: undefined }),
  },
  'chat.usage.sum': {
    'total-one-too-many': amend('The total is one token too high.', 'usage', ({ total_tokens: total }) => ({
      total_tokens: total + 1,
    })),
    'total-without-prompt': amend(
      'The total has the completion tokens only.',
      'usage',
      ({ completion_tokens: completion }) => ({ total_tokens: completion }),
    ),
  },
  'chat.max-completion-tokens': {
    'one-token-over': always('A completion that reaches its bound has one more token.', {
      completionTokens: (natural, bound) => (natural < bound ? natural : bound + 1),
    }),
    'reasoning-on-top': always('Reasoning tokens do not count toward the bound.', {
      completionTokens: (natural, bound) => Math.min(natural, Math.ceil(bound * 1.5)),
    }),
    'old-bound-before-new': result(
      'max_tokens is heeded, and max_completion_tokens is not, if a request has both.',
      'chatBody',
      body =>
        isObject(body) && Number(body.max_tokens) > 0 ? { ...body, max_completion_tokens: body.max_tokens } : body,
    ),
    'bound-not-heeded': always('The bound of a completion is ignored.', { completionTokens: natural => natural }),
  },
  'chat.cost': {
    'negative-cost': input('The cost is negative, as in a ledger.', 'cost', ({ usd, diem }) => [
      { usd: -usd, diem: -diem },
    ]),
    'cost-as-text': amend('The amounts of the cost are strings.', 'cost', ({ usd, diem }) => ({
      usd: String(usd),
      diem: String(diem),
    })),
    'cost-without-bound': row('The cost in USD is 1e400.', (honest, contract) => ({
      ...changeReplies(isWhole, reply => withText(reply, withoutBound(replyText(reply))))(honest, contract),
      events: events => changeData(() => true, withoutBound)(honest.events(events)),
    })),
    'cost-as-nan': amend('The cost in USD is the text NaN.', 'cost', { usd: 'NaN' }),
    'cost-without-diem': amend('The cost has no diem.', 'cost', { diem: undefined }),
  },
  'chat.cost.amount': {
    'cost-ten-fold': alsoViolating(
      everyPrice,
      result('A completion costs ten times its list price.', 'chatCostPico', cost => cost * 10n),
    ),
    'cost-rounded-to-thousandths': alsoViolating(
      everyPrice,
      result(
        'The cost of a completion is rounded up to thousandths of a dollar.',
        'chatCostPico',
        cost => ((cost + 999_999_999n) / 1_000_000_000n) * 1_000_000_000n,
      ),
    ),
    'prices-swapped': alsoViolating(
      everyPrice,
      input('Prompts are billed as completions, and completions as prompts.', 'chatCostPico', (usage, price) => [
        usage,
        { ...price, input: price.output, output: price.input },
      ]),
    ),
    'free-prompts': alsoViolating(
      everyPrice,
      input('Prompts are not billed.', 'chatCostPico', (usage, price) => [usage, { ...price, input: '0' }]),
    ),
    'one-token-unbilled': alsoViolating(
      everyPrice,
      input('The last token of a completion is not billed.', 'chatCostPico', (usage, price) => [
        { ...usage, completion_tokens: usage.completion_tokens - 1 },
        price,
      ]),
    ),
  },
  'chat.logprobs': {
    'bytes-in-base64': amendLogprobs('The bytes of a token are a base64 string.', ({ bytes }) => ({
      bytes: Buffer.from(bytes).toString('base64'),
    })),
    'logprob-as-text': amendLogprobs('Log probabilities are strings.', ({ logprob }) => ({ logprob: String(logprob) })),
  },
  'chat.logprobs.asked': {
    'logprobs-unasked': changeLogprobs(
      'Every response has log probabilities.',
      (logprobs, word) => logprobs ?? logprobsOf([word], 0),
    ),
    'logprobs-never': amend('No response has log probabilities.', 'choice', { logprobs: null }),
  },
  'chat.logprobs.top': {
    'one-candidate-too-many': amendLogprobs(
      'Each position has one candidate more than requested.',
      ({ top_logprobs: top }) => ({ top_logprobs: [...top, { token: '', logprob: -9, bytes: [] }] }),
    ),
  },
  'chat.prompt-logprobs': {
    'prompt-logprobs-as-list': amend('prompt_logprobs is a list.', 'completionHead', { prompt_logprobs: [] }),
  },
  'chat.stream.content-type': {
    'stream-as-json': replies('Streams are application/json.', isStream, setHeader('content-type', 'application/json')),
  },
  'chat.stream.chunk': {
    'id-changes': events('The id changes with the first content token.', (events, original) => {
      const from = original.findIndex(({ part }) => part === 'content')
      const renameId = (data: string) => data.replace('"id":"chatcmpl-', '"id":"chatcmpl-B')
      return changeData((_, index) => index >= from, renameId)(events)
    }),
    'model-changes': events(
      'The last chunks name another model.',
      changeData(
        ({ part }) => part === 'finish' || part === 'usage',
        data => data.replace('"model":"', '"model":"other-'),
      ),
    ),
    'json-breaks-in-a-crowd': inCrowd('With 16 streams in flight, a chunk of the next one is cut off.', chunks =>
      chunks.map((chunk, index) => (index === 2 ? { ...chunk, text: `${chunk.text.slice(0, 40)}\n\n` } : chunk)),
    ),
    'chunk-cut-off': events('A chunk is cut off.', (events, original) => {
      const last = original.findLastIndex(({ part }) => part === 'content')
      return changeData(
        (_, index) => index === last,
        data => data.slice(0, -20),
      )(events)
    }),
  },
  'chat.stream.finish': {
    'goes-on-after-an-error': events('A stream goes on after an error in its middle.', withError('first')),
    'finishes-after-an-error': events(
      'A stream with an error after its last token has a finish reason.',
      withError('last'),
    ),
    'finish-twice': events('The finish chunk is sent twice.', twicePart('finish')),
    'restless-finish-twice': events(
      'A chunk without a token follows each token, and the finish chunk is sent twice.',
      restless,
      twicePart('finish'),
    ),
    'no-finish': events('The finish chunk is left out.', withoutPart('finish')),
    'token-after-finish': events('A token follows the finish chunk.', events => {
      const token = events.findLast(({ part }) => part === 'content')
      if (token === undefined) return events
      return events
        .filter(event => event !== token)
        .flatMap(event => (event.part === 'finish' ? [event, token] : [event]))
    }),
  },
  'chat.stream.usage': {
    'usage-twice': events('The usage chunk is sent twice.', twicePart('usage')),
    'no-usage': events('The usage chunk is left out.', withoutPart('usage')),
  },
  'chat.stream.done': {
    'no-done': events('The done marker is left out.', withoutPart('done')),
    'restless-no-done': events(
      'A chunk without a token follows each token, and the done marker is left out.',
      restless,
      withoutPart('done'),
    ),
    'restless-done-early': events(
      'A chunk without a token follows each token, and the done marker precedes the last chunk.',
      restless,
      partLast('usage'),
    ),
    'usage-after-done': events('The usage chunk follows the done marker.', partLast('usage')),
    'done-twice': events('The done marker is sent twice.', twicePart('done')),
  },
} satisfies Lies
