import { expect, test } from 'vitest'
import { type ResourcePlan, resourceCall } from '../../../src/calls/resource.ts'
import { documented } from '../../../src/contract/documented.ts'
import { key, office } from './office.ts'

const plan = (more: Partial<ResourcePlan>): ResourcePlan => ({
  ...{ kind: 'resource', resource: 'embeddings', draws: 'embedding', body: {}, page: null, limit: null },
  ...more,
})

test('a resource is asked for what its contract says', () => {
  const { asked, request } = resourceCall(plan({}), 3, key, office())
  expect(request).toMatchObject({ method: 'POST', path: '/embeddings' })
  expect(request.headers).toMatchObject({ ...key, 'content-type': 'application/json' })
  expect(JSON.parse(request.body ?? '')).toEqual({ model: 'ref-embed', input: 'hello' })
  expect(asked).toMatchObject({ kind: 'resource', resource: 'embeddings', page: null, limit: null })
})

test('members of a call go over those of the contract', () => {
  const { asked, request } = resourceCall(plan({ body: { input: ['a'] } }), 3, key, office())
  expect(JSON.parse(request.body ?? '')).toEqual({ model: 'ref-embed', input: ['a'] })
  expect(asked).toMatchObject({ body: { model: 'ref-embed', input: ['a'] } })
})

test('a list has no body, and its page is in the query', () => {
  const list = plan({ resource: 'characters', draws: null, page: 2, limit: 3 })
  const { request } = resourceCall(list, 3, key, office())
  expect(request).toMatchObject({ method: 'GET', path: '/characters?page=2&limit=3', body: null })
  expect(request.headers['content-type']).toBeUndefined()
})

test('the time that a request states is a new one each time, and known to those who judge', () => {
  const times = [3, 4].map(seq => resourceCall(plan({}), seq, key, office()))
  const sent = times.map(({ request }) => request.headers['x-service-request-timestamp-ms'])
  expect(sent).toEqual(times.map(({ asked }) => (asked.kind === 'resource' ? String(asked.timestampMs) : null)))
  expect(sent[0]).not.toBe(sent[1])
})

test('where the profile knows no header for it, no time is stated', () => {
  const contract = { ...documented, requestTimestampHeader: null }
  const { asked, request } = resourceCall(plan({}), 3, key, office({ contract }))
  expect(asked).toMatchObject({ timestampMs: null })
  expect(Object.keys(request.headers).some(name => name.includes('timestamp'))).toBe(false)
})
