import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../src/contract/contract.ts'
import { documented } from '../../../src/contract/documented.ts'
import { accusations, accusesEach, chatObserved, completion, sparesEach, streamObserved } from './observed.ts'

const usage = (details: unknown) => ({ ...completion.usage, prompt_tokens_details: details })
const cached = (details: unknown, usd = completion.cost.usd) =>
  chatObserved({ ...completion, usage: usage(details), cost: { usd, diem: 0 } })
const read = (tokens: unknown) => ({ cached_tokens: tokens })
const wrote = (tokens: unknown) => ({ cache_creation_input_tokens: tokens })
const withPrices = (prices: { readonly cacheInput: string | null; readonly cacheWrite: string | null }): Contract => ({
  ...documented,
  models: documented.models.map(model => ({
    ...model,
    usdPerMillion: model.usdPerMillion && { ...model.usdPerMillion, ...prices },
  })),
})

// A million tokens cost $0.50, from the cache $0.10, and to it $0.60; 100 tokens of the completion are $0.0002.
describe('tokens of a cache', () => {
  sparesEach({
    'no details': cached(undefined),
    'details that are null': cached(null),
    'details that are empty': cached({}),
    'details of something else': cached({ audio_tokens: 3 }),
    'counts that are null': cached({ cached_tokens: null, cache_creation_input_tokens: null }),
    'a prompt that came from the cache whole': cached(read(200), 0.00022),
    'a prompt that was written to it whole': cached(wrote(200), 0.00032),
    'a prompt of all three': cached({ ...read(100), ...wrote(50) }, 0.000265),
    'a stream that says so': streamObserved({ usage: usage(read(200)), cost: { usd: 0.00022, diem: 0 } }),
  })

  accusesEach({
    'details that are a list': [
      'chat.usage.cached',
      'prompt_tokens_details is [], expected null or an object',
      cached([]),
    ],
    'a text': ['chat.usage.cached', 'cached_tokens is "5", expected a whole number', cached(read('5'))],
    'a count below zero': ['chat.usage.cached', 'cached_tokens is -1, expected a whole number', cached(read(-1))],
    'a fraction': [
      'chat.usage.cached',
      'cache_creation_input_tokens is 1.5, expected a whole number',
      cached(wrote(1.5)),
    ],
    'one token more than the prompt has': [
      'chat.usage.cached',
      "201 tokens are cached and 0 written, expected no more than the prompt's 200",
      cached(read(201)),
    ],
    'one token more than the prompt has, in both': [
      'chat.usage.cached',
      "100 tokens are cached and 101 written, expected no more than the prompt's 200",
      cached({ ...read(100), ...wrote(101) }),
    ],
    'the full price of what was cached': [
      'chat.cost.cached',
      'cost is {"usd":0.0003,"diem":0}, expected 0.00022 by the list price for 200 + 100 tokens, of which 200 cached and 0 written',
      cached(read(200), 0.0003),
    ],
    'the full price of what was written': [
      'chat.cost.cached',
      'cost is {"usd":0.0003,"diem":0}, expected 0.00032 by the list price for 200 + 100 tokens, of which 0 cached and 200 written',
      cached(wrote(200), 0.0003),
    ],
    'a stream of another price': [
      'chat.cost.cached',
      'cost is {"usd":1,"diem":0}, expected 0.00022 by the list price for 200 + 100 tokens, of which 200 cached and 0 written',
      streamObserved({ usage: usage(read(200)), cost: { usd: 1, diem: 0 } }),
    ],
  })

  test('have no price where the profile has none, and then any cost is right', () => {
    const readOnly = withPrices({ cacheInput: '0.1', cacheWrite: null })
    expect(accusations(cached(wrote(200), 1), readOnly)).toEqual({})
    expect(Object.keys(accusations(cached(read(200), 1), readOnly))).toEqual(['chat.cost.cached'])
    expect(accusations(cached(read(200), 1), withPrices({ cacheInput: null, cacheWrite: '1' }))).toEqual({})
  })

  test('leave the price of a prompt without them alone', () => {
    const without = withPrices({ cacheInput: null, cacheWrite: null })
    expect(Object.keys(accusations(cached(null, 1), without))).toEqual(['chat.cost.amount'])
  })
})
