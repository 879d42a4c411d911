import { describe, expect, test } from 'vitest'
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

describe('the price of what is looked up', () => {
  const priced = (parameters: object, usd: number, body: object = completion) =>
    observed(
      {
        ...chatAsked,
        options: { body: {}, parameters: { ...parameters }, suffix: null, encoding: null, samePrompt: false },
      },
      answerOf(200, { ...body, cost: { usd, diem: 0 } }, tokenHeaders),
    )
  const search = { enable_web_search: 'on' }
  const scraping = { enable_web_scraping: true }

  sparesEach({
    'a search': priced(search, 0.0103),
    'a search that the model did not make': priced({ enable_web_search: 'auto' }, 0.0003),
    'pages none of which could be read': priced(scraping, 0.0003),
    'five pages': priced(scraping, 0.0503),
    'results of a third party': priced({ enable_x_search: true }, 0.1203),
    'tokens from a cache': priced(search, 0.01, {
      ...completion,
      usage: { ...completion.usage, prompt_tokens_details: { cached_tokens: 100 } },
    }),
  })

  accusesEach({
    'a search and a little more': [
      'parameters.price',
      'cost is {"usd":0.01031,"diem":0}, expected 0.0002999897 to 0.0103000103 for its tokens and at most 1 lookups',
      priced(search, 0.01031),
    ],
    'tokens that are not charged': [
      'parameters.price',
      'cost is {"usd":0.00029,"diem":0}, expected 0.0002999897 to 0.0503000103 for its tokens and at most 5 lookups',
      priced(scraping, 0.00029),
    ],
  })

  test('is not asserted where it is not known', () => {
    const search = { ...documented.chat.search, usdPerLookup: null }
    const contract = { ...documented, chat: { ...documented.chat, search } }
    expect(accusations(priced({ enable_web_search: 'on' }, 7), contract)).toEqual({})
  })
})
