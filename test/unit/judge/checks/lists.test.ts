import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../../src/contract/contract.ts'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { failsEach, judgedCount, observed, passesEach, refused, responseOf } from './observed.ts'

const networks = (slugs: unknown) => observed({ kind: 'networks' }, responseOf(200, { networks: slugs }))
const models = (body: unknown) => observed({ kind: 'models' }, responseOf(200, body))
const entry = (apiModelId: string | undefined, rpm: number, tpm: number) => ({
  apiModelId,
  rateLimits: [
    { amount: rpm, type: 'RPM' },
    { amount: tpm, type: 'TPM' },
  ],
})
const limits = (rateLimits: unknown) => observed({ kind: 'rate-limits' }, responseOf(200, { data: { rateLimits } }))

const publicLayout: Contract = { ...documentedContract, lists: { layout: 'public' } }

describe('lists in any layout', () => {
  passesEach({ 'networks in any order': networks(['base-mainnet', 'arbitrum-mainnet']) })
  failsEach({
    'a missing list': [
      'catalogue.networks',
      'networks is nothing, expected a list of slugs (the status is 404, expected 200)',
      refused({ kind: 'networks' }, 404),
    ],
    'limits per hour': [
      'catalogue.rate-limits',
      'ref-small-24b has {"amount":4500,"type":"RPM"}, expected 75 (default S)',
      limits([entry('ref-small-24b', 4500, 750_000)]),
    ],
    'an amount that no text and no number is made of': [
      'catalogue.rate-limits',
      'ref-small-24b has {"amount":{"toString":1,"valueOf":1},"type":"RPM"}, expected 75 (default S)',
      limits([{ apiModelId: 'ref-small-24b', rateLimits: [{ amount: { toString: 1, valueOf: 1 }, type: 'RPM' }] }]),
    ],
  })
  test.each([
    ['catalogue.networks', networks([{ slug: 'base-mainnet' }])],
    ['catalogue.models', models([{ id: 'ref-nano-3b' }])],
    ['catalogue.models', models({ object: 'list', data: [{ slug: 'ref-nano-3b' }] })],
    ['catalogue.rate-limits', observed({ kind: 'rate-limits' }, responseOf(200, { limits: { a: 7 } }))],
    ['logs.layout', observed({ kind: 'rate-limit-logs' }, responseOf(200, { entries: [[1, 'a']] }))],
  ] as const)('%s is not judged in a layout that Turnpike does not know', (clause, observation) => {
    expect(judgedCount(clause, observation)).toBe(0)
  })
})

describe('lists in the public layout', () => {
  passesEach(
    {
      'networks in order': networks(['arbitrum-mainnet', 'base-mainnet', 'base-sepolia']),
      'models with an id': models({ object: 'list', type: 'text', data: [{ id: 'ref-nano-3b' }] }),
      'a list without models': models({ object: 'list', data: [] }),
      'limits of the tier': limits([entry('ref-small-24b', 75, 750_000), entry('ref-large-235b', 20, 500_000)]),
      'an unknown model, and one without a name': limits([entry('other', 1, 1), entry(undefined, 1, 1)]),
      'a kind of limit that is an object': limits([
        { apiModelId: 'ref-small-24b', rateLimits: [{ amount: 9, type: { toString: 1 } }] },
      ]),
      'an unknown kind of limit': limits([{ apiModelId: 'ref-small-24b', rateLimits: [{ amount: 9, type: 'RPD' }] }]),
      'a model without limits': limits([{ apiModelId: 'ref-small-24b', rateLimits: [] }]),
      'a list that was requested too often': refused({ kind: 'models' }, 429, { error: 'No' }),
      'a service that is down': refused({ kind: 'networks' }, 503),
    },
    publicLayout,
  )

  failsEach(
    {
      'networks out of order': [
        'catalogue.networks',
        '"arbitrum-mainnet" comes after "base-mainnet", expected a sorted list without duplicates',
        networks(['base-mainnet', 'arbitrum-mainnet']),
      ],
      'a network that is listed twice': [
        'catalogue.networks',
        '"base-mainnet" comes after "base-mainnet", expected a sorted list without duplicates',
        networks(['base-mainnet', 'base-mainnet']),
      ],
      'networks that are not strings': [
        'catalogue.networks',
        'networks is [{"slug":"base-mainnet"}], expected a list of slugs',
        networks([{ slug: 'base-mainnet' }]),
      ],
      'a missing list': [
        'catalogue.networks',
        'networks is nothing, expected a list of slugs (the status is 404, expected 200)',
        refused({ kind: 'networks' }, 404),
      ],
      'models in an array': ['catalogue.models', 'object is nothing, expected "list"', models([{ id: 'ref-nano-3b' }])],
      'a model without an id': [
        'catalogue.models',
        'a model is {"slug":"ref-nano-3b"}, expected it to have an id',
        models({ object: 'list', data: [{ id: 'a' }, { slug: 'ref-nano-3b' }] }),
      ],
      'no limits': ['catalogue.rate-limits', 'rateLimits is [], expected a list', limits([])],
      'a limit that allows nothing': [
        'catalogue.rate-limits',
        '"other" has {"amount":0.001,"type":"RPM"}, expected an amount of at least 1',
        limits([{ apiModelId: 'other', rateLimits: [{ amount: 0.001, type: 'RPM' }] }]),
      ],
      'limits per hour': [
        'catalogue.rate-limits',
        'ref-small-24b has {"amount":4500,"type":"RPM"}, expected 75 (default S)',
        limits([entry('ref-small-24b', 4500, 750_000)]),
      ],
    },
    publicLayout,
  )
})

describe('the type of a list', () => {
  const typed = (body: unknown, type: string) =>
    observed({ kind: 'networks' }, responseOf(200, body, { 'content-type': type }))
  const list = { networks: ['base-mainnet'] }
  passesEach({
    'that of JSON': typed(list, 'application/json; charset=utf-8'),
    'that of a kind of JSON': typed(list, 'application/vnd.acme+json'),
    'that of plain text': typed(list, 'text/plain'),
  })
  failsEach({
    'that of a page': [
      'header.content-type.body',
      'content-type is "text/html" on JSON, expected application/json',
      typed(list, 'text/html'),
    ],
  })
})
