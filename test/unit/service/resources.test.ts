import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { conversation, jsonOf } from './conversation.ts'

const embed = (input: unknown) => ({ path: '/embeddings', body: { model: 'ref-embed', input } })
const list = (query: string) => ({ method: 'GET', path: `/characters${query}` })

/** The pagination headers as `limit page total total-pages`. */
const pagesOf = (headers: Readonly<Record<string, string>>) =>
  ['limit', 'page', 'total', 'total-pages'].map(name => headers[`x-pagination-${name}`]).join(' ')

describe('every resource of the contract', () => {
  test.each(Object.entries(documentedContract.resources))('%s returns its limits and is free', (_, resource) => {
    const { ask } = conversation()
    const { method, path, draws } = resource
    const reply = ask({ method, path, body: resource.body ?? '' })
    expect(reply.status).toBe(200)
    const limit = draws === null ? 500 : documentedContract.resourceLimits.default[draws]
    expect(reply.headers['x-ratelimit-limit-requests']).toBe(String(limit))
    expect(ask(list('')).headers['x-service-balance-usd']).toBe('10')
  })

  test.each(Object.entries(documentedContract.resources))(
    '%s returns 401 without a key',
    (_, { method, path, body }) => {
      expect(conversation().ask({ method, path, body: body ?? '', key: null }).status).toBe(401)
    },
  )
})

describe('embeddings', () => {
  test.each([['a text'], [['a', 'b']]])('accept %j', input => {
    const reply = conversation().ask(embed(input))
    expect(reply.status).toBe(200)
    expect(jsonOf(reply).data).toHaveLength(Array.isArray(input) ? input.length : 1)
  })

  test.each([[[1, 2]], [[[1], [2]]], [['a', 2]], [[]], [7], [null], [undefined]])('reject %j', input => {
    expect(conversation().ask(embed(input)).status).toBe(400)
  })
})

describe('lists', () => {
  test.each([
    ['', '20 1 7 1', 7],
    ['?limit=3', '3 1 7 3', 3],
    ['?page=3&limit=3', '3 3 7 3', 1],
    ['?page=4&limit=3', '3 4 7 3', 0],
    ['?limit=7', '7 1 7 1', 7],
    [`?page=${'9'.repeat(400)}`, '20 9007199254740991 7 1', 0],
    ['?limit=1000', '100 1 7 1', 7],
    ['?page=0&limit=x', '20 1 7 1', 7],
  ])('with %j have pagination headers %s', (query, pages, items) => {
    const reply = conversation().ask(list(query))
    expect(pagesOf(reply.headers)).toBe(pages)
    expect(jsonOf(reply).data).toHaveLength(items)
  })
})

test('images have their own window, with the limit of the account tier', () => {
  const { ask } = conversation()
  const image = (key: string) => ask({ path: '/image/generate', body: documentedContract.resources.image?.body, key })
  const admitted = (key: string, request: number) =>
    Array.from({ length: request }, () => image(key).status).filter(status => status === 200).length
  expect(admitted('ref_default_ada', 22)).toBe(20)
  expect(admitted('ref_partner_ada', 62)).toBe(60)
  expect(ask(embed('a')).status).toBe(200)
})

test.each(Object.entries(documentedContract.resources))(
  'a replay of %s is the first reply, of the same type',
  (_, resource) => {
    const idempotency = { ...documentedContract.idempotency, calls: ['resource' as const] }
    const { ask } = conversation({ contract: { ...documentedContract, idempotency } })
    const { method, path, body } = resource
    const [first, again] = [0, 1].map(() =>
      ask({ method, path, body: body ?? '', headers: { 'idempotency-key': 'a' } }),
    )
    expect(again?.headers['idempotent-replayed']).toBe(method === 'POST' ? 'true' : undefined)
    expect(again?.headers['content-type']).toBe(first?.headers['content-type'])
    expect(again?.body).toEqual(first?.body)
  },
)

test('a request timestamp that is not a number is not echoed', () => {
  const header = 'x-service-request-timestamp-ms'
  const { ask } = conversation()
  expect(ask({ ...list(''), headers: { [header]: '1767225600000' } }).headers[header]).toBe('1767225600000')
  expect(ask({ ...list(''), headers: { [header]: 'now' } }).headers[header]).toBeUndefined()
})
