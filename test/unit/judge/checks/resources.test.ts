import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../../src/contract/contract.ts'
import { documentedContract } from '../../../../src/contract/documented.ts'
import type { ObservedResponse } from '../../../../src/observation/observation.ts'
import type { ResourceDescriptor } from '../../../../src/observation/requests/resource.ts'
import { failedClauses, failsEach, judgedCount, observed, passesEach, responseOf } from './observed.ts'

const request = (resource: string, more: Partial<ResourceDescriptor> = {}): ResourceDescriptor => ({
  ...{ kind: 'resource', resource, body: documentedContract.resources[resource]?.body ?? null },
  ...{ page: null, limit: null, timestampMs: null },
  ...more,
})

const answered = (resource: string, response: ObservedResponse, more: Partial<ResourceDescriptor> = {}) =>
  observed(request(resource, more), response)

const ofModel = { 'x-service-model-id': 'ref', 'x-service-model-name': 'Ref' } as const
const limitOf = (limit: number) => ({ 'x-ratelimit-limit-requests': String(limit) })
const embedded = (status = 200, headers = {}) =>
  responseOf(status, status === 200 ? { data: [] } : { error: 'No', code: 'INSUFFICIENT_BALANCE' }, {
    ...ofModel,
    ...limitOf(500),
    ...headers,
  })
const speech = (headers = {}) =>
  responseOf(200, 'ID3', { 'content-type': 'audio/mpeg', ...ofModel, ...limitOf(60), ...headers })

const pages = (limit: unknown, page: unknown, total: unknown, totalPages: unknown) => ({
  'x-pagination-limit': String(limit),
  'x-pagination-page': String(page),
  'x-pagination-total': String(total),
  'x-pagination-total-pages': String(totalPages),
})
const listOf = (items: number, headers: Readonly<Record<string, string | undefined>>) =>
  responseOf(200, { object: 'list', data: Array.from({ length: items }, (_, id) => ({ id })) }, headers)
const characters = (items: number, headers: Readonly<Record<string, string>>, more: Partial<ResourceDescriptor> = {}) =>
  answered('characters', listOf(items, headers), more)

describe('resources', () => {
  passesEach({
    'an embedding of a text': answered('embeddings', embedded()),
    'an embedding of texts': answered('embeddings', embedded(), { body: { input: ['a', 'b'] } }),
    'a rejection of token ids': answered('embeddings', embedded(400), { body: { input: [1, 2] } }),
    'a request above the rate limit': answered('embeddings', embedded(429, { 'x-ratelimit-type': 'user' })),
    'a caller without credit': answered('embeddings', embedded(402)),
    'a failure of the service': answered('embeddings', responseOf(500, { error: 'Failed' })),
    'a video that was never queued': answered('video-retrieve', responseOf(404, { error: 'No' }, limitOf(120))),
    'speech without Content-Disposition': answered('speech', speech()),
    'speech as an attachment': answered('speech', speech({ 'content-disposition': 'attachment; filename="a.mp3"' })),
    'speech inline': answered('speech', speech({ 'content-disposition': 'Inline' })),
    'the first page': characters(3, pages(3, 1, 7, 3)),
    'the last page': characters(1, pages(3, 3, 7, 3), { page: 3, limit: 3 }),
    'a full last page': characters(3, pages(3, 2, 6, 2), { page: 2, limit: 3 }),
    'a list without items, on no page': characters(0, pages(20, 1, 0, 0)),
    'a list without items, on an empty page': characters(0, pages(20, 1, 0, 1)),
    'a page after the last one': characters(0, pages(3, 9, 7, 3), { page: 9, limit: 3 }),
    'the last page instead of one after it': characters(1, pages(3, 3, 7, 3), { page: 9, limit: 3 }),
    'a smaller page than requested': characters(5, pages(5, 1, 7, 2), { page: 1, limit: 1000 }),
    'a list that is not an object': answered('characters', responseOf(200, [1, 2], pages(20, 1, 2, 1))),
    'a list in another field': answered('characters', responseOf(200, { items: {} }, pages(20, 1, 2, 1))),
    'an echoed timestamp': answered(
      'characters',
      listOf(2, { ...pages(20, 1, 2, 1), 'x-service-request-timestamp-ms': '17' }),
      {
        timestampMs: 17,
      },
    ),
    'a timestamp that is not echoed': characters(2, pages(20, 1, 2, 1), { timestampMs: 17 }),
    'a resource that is not in the contract': answered('nonsense', responseOf(404, { error: 'No' })),
  })

  failsEach({
    'speech that is labelled as JSON': [
      'header.content-type.body',
      'content-type is "application/json" on a body that is no JSON, expected its own type',
      answered('speech', speech({ 'content-type': 'application/json' })),
    ],
    'a missing resource': [
      'resource.offered',
      'POST /embeddings got status 404, expected the resource embeddings',
      answered('embeddings', embedded(404)),
    ],
    'a rejected text': [
      'embeddings.input',
      'an embedding of "hello" got status 400, expected a success',
      answered('embeddings', embedded(400)),
    ],
    'a rejected list of texts': [
      'embeddings.input',
      'an embedding of ["a","b"] got status 400, expected a success',
      answered('embeddings', embedded(400), { body: { input: ['a', 'b'] } }),
    ],
    'a limit of another kind': [
      'limit.resources',
      'the stated limit of embedding is 60, expected 500 (default)',
      answered('embeddings', embedded(200, limitOf(60))),
    ],
    'an inference response without its model': [
      'header.model-id',
      'x-service-model-id is nothing on a 200, expected the model used',
      answered('embeddings', embedded(200, { 'x-service-model-id': undefined })),
    ],
    'a file name only': [
      'header.content-disposition',
      'content-disposition is "a.mp3" on a 200, expected attachment or inline',
      answered('speech', speech({ 'content-disposition': 'a.mp3' })),
    ],
    'pages without their number': [
      'header.pagination',
      'x-pagination-total is nothing on a paginated list, expected whole numbers',
      answered('characters', listOf(3, { ...pages(3, 1, 7, 3), 'x-pagination-total': undefined })),
    ],
    'half a page': [
      'header.pagination',
      'x-pagination-page is "1.5" on a paginated list, expected whole numbers',
      characters(3, pages(3, 1.5, 7, 3)),
    ],
    'pages from 0': ['header.pagination.page', 'the stated page is 0, expected 1', characters(3, pages(3, 0, 7, 3))],
    'another page': [
      'header.pagination.page',
      'the stated page is 1, expected 2',
      characters(3, pages(3, 1, 7, 3), { page: 2 }),
    ],
    'a page too few': [
      'header.pagination.total-pages',
      '2 pages are stated for 7 items with 3 per page, expected 3',
      characters(3, pages(3, 1, 7, 2)),
    ],
    'a page too many': [
      'header.pagination.total-pages',
      '3 pages are stated for 6 items with 3 per page, expected 2',
      characters(3, pages(3, 1, 6, 3)),
    ],
    'pages of 0 items': [
      'header.pagination.total-pages',
      '0 pages are stated for 7 items with 0 per page, expected 0',
      answered('characters', responseOf(200, {}, pages(0, 1, 7, 0))),
    ],
    'an item too few': [
      'header.pagination.items',
      'page 1 of 7 items with 3 per page has 2 items, expected 3',
      characters(2, pages(3, 1, 7, 3)),
    ],
    'an item too many on the last page': [
      'header.pagination.items',
      'page 3 of 7 items with 3 per page has 2 items, expected 1',
      characters(2, pages(3, 3, 7, 3), { page: 3 }),
    ],
    'another timestamp than sent': [
      'header.request-timestamp',
      'x-service-request-timestamp-ms is "18", expected 17',
      answered('characters', listOf(2, { ...pages(20, 1, 2, 1), 'x-service-request-timestamp-ms': '18' }), {
        timestampMs: 17,
      }),
    ],
    'a timestamp that was not sent': [
      'header.request-timestamp',
      'x-service-request-timestamp-ms is "18", expected none, since none was sent',
      answered('characters', listOf(2, { ...pages(20, 1, 2, 1), 'x-service-request-timestamp-ms': '18' })),
    ],
    'an empty instance': [
      'header.control-instance',
      'x-service-control-instance is "" on a 200, expected a text',
      answered('image', responseOf(200, {}, { ...ofModel, ...limitOf(20), 'x-service-control-instance': '' })),
    ],
  })

  test('partners have their own limits', () => {
    const image = answered('image', responseOf(200, {}, { ...ofModel, ...limitOf(20) }))
    expect(failedClauses({ ...image, accountTier: 'partner' })).toEqual({
      'limit.resources': 'the stated limit of image is 20, expected 60 (partner)',
    })
  })

  const published = (limits: Readonly<Record<string, number>>): Contract => ({
    ...documentedContract,
    limits: { ...documentedContract.limits, published: limits, judgedBy: 'target' },
    sources: { 'limits.published': 'target' },
  })
  const image = (limit: number) => answered('image', responseOf(200, {}, { ...ofModel, ...limitOf(limit) }))

  test.each([
    [
      'only models and the proxy',
      { 'chat:ref-nano-3b': 500, 'chat:endpoint:api/v1/crypto/rpc': 100 },
      ['limit.resources'],
    ],
    ['something unknown', { 'chat:ref-nano-3b': 500, 'chat:pictures': 30 }, []],
    ['the model', { 'chat:ref-image': 30 }, []],
    ['another number for the model', { 'chat:ref-image': 25 }, ['limit.resources']],
    ['the type', { 'chat:image': 30 }, []],
    ['nothing', {}, []],
  ] as const)(
    'a limit other than that of the document is judged by the list of the target, which names %s',
    (_, limits, found) => {
      expect(Object.keys(failedClauses(image(30), published(limits)))).toEqual(found)
    },
  )

  test('the limit of the document is right if the list names no other', () => {
    expect(failedClauses(image(20), published({ 'chat:ref-nano-3b': 500 }))).toEqual({})
  })

  test('the video limits of partners are open', () => {
    const video = answered('video-queue', responseOf(200, {}, { ...ofModel, ...limitOf(7) }))
    expect(judgedCount('limit.resources', { ...video, accountTier: 'partner' })).toBe(0)
  })

  test('speech must have a Content-Disposition if the profile makes it a download', () => {
    const { speech: resource } = documentedContract.resources
    if (resource === undefined) throw new Error('no speech')
    const contract = { ...documentedContract, resources: { speech: { ...resource, isDownload: true } } }
    expect(failedClauses(answered('speech', speech()), contract)).toEqual({
      'header.content-disposition': 'content-disposition is nothing on a 200, expected attachment or inline',
    })
  })

  test.each([404, 405, 410])('a %d at a path that is only assumed of the target accuses it of nothing', status => {
    const assumed = { ...documentedContract, sources: { 'resources.embeddings.path': 'default' as const } }
    const missing = answered('embeddings', { ...responseOf(status, { error: 'Not Found' }), headers: {} })
    const probed = observed({ kind: 'probe', probe: 'token-ids' }, missing.response)
    for (const observation of [missing, probed]) {
      expect(failedClauses(observation, assumed)).toEqual({})
      expect(Object.keys(failedClauses(observation))).not.toEqual([])
    }
    expect(judgedCount('resource.offered', answered('embeddings', embedded()), assumed)).toBe(1)
  })

  test('an unknown model that is only assumed of the target does not refuse embeddings', () => {
    const assumed = { ...documentedContract, sources: { 'resources.embeddings.body': 'default' as const } }
    const refused = (error: string) =>
      answered('embeddings', { ...embedded(400), body: responseOf(400, { error }).body })
    expect(failedClauses(refused('Unknown model ref-embed'), assumed)).toEqual({})
    expect(Object.keys(failedClauses(refused('Invalid input'), assumed))).toEqual(['embeddings.input'])
  })

  test('a list need not have pages if they are only assumed of it', () => {
    const assumed = { ...documentedContract, sources: { 'resources.characters.isPaginated': 'default' as const } }
    const list = (headers: Readonly<Record<string, string>>) => answered('characters', listOf(2, headers))
    expect(failedClauses(list({}), assumed)).toEqual({})
    expect(Object.keys(failedClauses(list({ 'x-pagination-page': '1' }), assumed))).toEqual(['header.pagination'])
  })

  test.each([null, 7, 'text', [], { data: 7 }, { data: null }])(
    'a list that is %j does not fail the count of its items',
    body => {
      const type = body === 'text' ? { 'content-type': 'text/plain' } : {}
      const found = failedClauses(answered('characters', responseOf(200, body, { ...pages(3, 1, 7, 3), ...type })))
      expect(Object.keys(found).filter(clause => clause !== 'header.pagination.items')).toEqual([])
    },
  )
})
