import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../src/contract/contract.ts'
import { documented } from '../../../src/contract/documented.ts'
import {
  accusations,
  accusesEach,
  answerOf,
  chatAsked,
  completion,
  observed,
  sparesEach,
  tokenHeaders,
} from './observed.ts'

const position = { token: 'Hi', logprob: -0.1, bytes: [72, 105] }
const full = { ...position, top_logprobs: [position, { token: 'Ho', logprob: -2 }] }
const options = { parameters: {}, suffix: null, encoding: null, samePrompt: false }
const [choice] = completion.choices

const given = (logprobs: unknown, body: Readonly<Record<string, unknown>> = { logprobs: true }, more: object = {}) =>
  observed(
    { ...chatAsked, options: { ...options, body } },
    answerOf(200, { ...completion, ...more, choices: [{ ...choice, logprobs }] }, tokenHeaders),
  )

const has = (logprobs: boolean | null): Contract => ({
  ...documented,
  models: documented.models.map(model => ({ ...model, logprobs })),
})

describe('log probabilities', () => {
  sparesEach({
    'one object': given(full),
    'a list of positions': given({ content: [full, position] }),
    'a list beside the first of them': given({ ...full, content: [full, position] }),
    'a list of nothing': given({ content: null, refusal: null }, {}),
    'a token without bytes': given({ content: [{ ...position, bytes: null }] }),
    'none from a model that has none': given(null),
    'whatever comes when only the number of tokens was asked for': given(full, { top_logprobs: 2 }),
    'as many tokens as were asked for': given(full, { logprobs: true, top_logprobs: 2 }),
    'more positions than a call has room for arguments': given(
      { content: Array.from({ length: 200_000 }, () => position) },
      { logprobs: true, top_logprobs: 2 },
    ),
    'fewer than were asked for': given({ ...position, top_logprobs: [] }, { logprobs: true, top_logprobs: 5 }),
    'a prompt that has some': given(null, {}, { prompt_logprobs: { '0': null } }),
    'a prompt that has none': given(null, {}, { prompt_logprobs: null }),
  })

  accusesEach({
    'a text': ['chat.logprobs', 'logprobs is "-0.1": no object', given('-0.1')],
    'a list': ['chat.logprobs', 'logprobs is [-0.1]: no object', given([-0.1])],
    'a token that is a number': [
      'chat.logprobs',
      'logprobs is {"token":7,"logprob":-0.1,"bytes":[72,105]}: token is 7, expected a text',
      given({ ...position, token: 7 }),
    ],
    'bytes as a text': [
      'chat.logprobs',
      'logprobs is {"token":"Hi","logprob":-0.1,"bytes":"Hi"}: bytes is "Hi", expected a list of numbers',
      given({ ...position, bytes: 'Hi' }),
    ],
    'a candidate without a probability': [
      'chat.logprobs',
      'logprobs is {"token":"Hi","logprob":-0.1,"bytes":null,"top_logprobs":[{"token":"Ho"}]}: logprob is nothing, expected a number',
      given({ ...position, bytes: null, top_logprobs: [{ token: 'Ho' }] }),
    ],
    'a position that is null': [
      'chat.logprobs',
      'logprobs is {"content":[null]}: token is nothing, expected a text',
      given({ content: [null] }),
    ],
    'some that nobody asked for': [
      'chat.logprobs.asked',
      'log probabilities came back, expected none since none were asked for',
      given(full, {}),
    ],
    'one token too many': [
      'chat.logprobs.top',
      'a position has 2 tokens with it, expected at most 1',
      given({ content: [full] }, { logprobs: true, top_logprobs: 1 }),
    ],
    'a token where none was asked for': [
      'chat.logprobs.top',
      'a position has 2 tokens with it, expected at most 0',
      given(full, { logprobs: true, top_logprobs: 0 }),
    ],
    'those of the prompt as a list': [
      'chat.prompt-logprobs',
      'prompt_logprobs is [], expected null or an object',
      given(null, {}, { prompt_logprobs: [] }),
    ],
  })

  test('are owed by a model that is said to have them, and by no other', () => {
    expect(accusations(given(null), has(true))).toEqual({
      'chat.logprobs.asked': 'ref-small-24b gave no log probabilities, expected those that were asked for',
    })
    for (const known of [false, null]) expect(accusations(given(null), has(known))).toEqual({})
  })
})
