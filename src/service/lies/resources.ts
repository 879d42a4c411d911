import type { ResourceLimit } from '../../contract/contract.ts'
import type { Reply, RequestState } from '../message.ts'
import {
  amended,
  type Lie,
  type Lies,
  lie,
  replyLie,
  replyText,
  withHeader,
  withHeaders,
  withoutHeaders,
  withText,
} from './lie.ts'

/** A lie that enforces another limit, in requests per minute. */
const enforces = (name: string, text: string, limit: ResourceLimit, requests: number): Lie =>
  lie(name, text, honest => ({
    resourceLimit: (request, tier) => (request === limit ? requests : honest.resourceLimit(request, tier)),
  }))

const isText = (value: unknown): boolean => typeof value === 'string'

const isList = (reply: Reply): boolean => reply.headers['x-pagination-total'] !== undefined

const addOne = (value: string): string => String(Number(value) + 1)

/** A lie that changes replies with a page of a list. */
const pageLie = (name: string, text: string, change: (reply: Reply, state: RequestState) => Reply): Lie =>
  replyLie(name, text, (reply, state) => (isList(reply) ? change(reply, state) : reply))

export const resourceLies = {
  'resource.offered': [
    replyLie('lists-not-found', 'Resources with pages return 404.', reply =>
      isList(reply)
        ? {
            ...withText(reply, JSON.stringify({ error: 'Not found' })),
            status: 404,
          }
        : reply,
    ),
  ],
  'embeddings.input': [
    lie('embeddings-of-lists-alone', 'Embeddings accept only a list as input.', honest => ({
      isEmbeddable: input => Array.isArray(input) && honest.isEmbeddable(input),
    })),
    lie('embeddings-of-one-text-alone', 'Embeddings accept only one text as input.', () => ({
      isEmbeddable: isText,
    })),
  ],
  'embeddings.token-ids': [
    lie('embeddings-of-token-ids', 'A list of token ids is accepted as input.', honest => ({
      isEmbeddable: input =>
        honest.isEmbeddable(input) || (Array.isArray(input) && input.every(each => typeof each === 'number')),
    })),
    lie('embeddings-of-lists-of-token-ids', 'Lists of token ids are accepted as input.', honest => ({
      isEmbeddable: input => honest.isEmbeddable(input) || (Array.isArray(input) && input.every(Array.isArray)),
    })),
    lie('embeddings-by-the-first', 'Only the first entry of an input list must be text.', honest => ({
      isEmbeddable: input => honest.isEmbeddable(Array.isArray(input) ? input.slice(0, 1) : input),
    })),
  ],
  'limit.resources': [
    lie('partners-as-others', 'Partners have the default limits.', honest => ({
      resourceLimit: limit => honest.resourceLimit(limit, 'default'),
    })),
    enforces('images-of-partners', 'Every account has the image limit of partners.', 'image', 61),
    enforces('fewer-images', 'The image limit is one lower than documented.', 'image', 19),
    enforces('speech-of-partners', 'The speech limit is higher than documented.', 'audio', 121),
    enforces('less-speech', 'The speech limit is lower than documented.', 'audio', 59),
    enforces('more-embeddings', 'The embedding limit is one higher than documented.', 'embedding', 501),
    enforces('fewer-embeddings', 'The embedding limit is one lower than documented.', 'embedding', 499),
    enforces('more-videos', 'The limit for queuing videos is one higher than documented.', 'video-queue', 41),
    enforces('fewer-videos', 'The limit for queuing videos is one lower than documented.', 'video-queue', 39),
    enforces(
      'more-retrievals',
      'The limit for retrieving videos is one higher than documented.',
      'video-retrieve',
      121,
    ),
    enforces(
      'fewer-retrievals',
      'The limit for retrieving videos is one lower than documented.',
      'video-retrieve',
      119,
    ),
  ],
  'header.pagination': [
    pageLie('no-pagination-total', 'Lists do not state their total number of items.', reply =>
      withoutHeaders(reply, 'x-pagination-total'),
    ),
    pageLie('page-of-pages', 'The page header also has the number of pages.', reply =>
      withHeader(reply, 'x-pagination-page', page => `${page}/${reply.headers['x-pagination-total-pages']}`),
    ),
  ],
  'header.pagination.page': [
    pageLie('pages-from-zero', 'Pages are numbered from 0.', reply =>
      withHeader(reply, 'x-pagination-page', page => String(Number(page) - 1)),
    ),
    lie('first-page-always', 'Every request for a page gets the first page.', honest => ({
      page: (_, limit) => honest.page(1, limit),
    })),
  ],
  'header.pagination.total-pages': [
    pageLie('pages-rounded-down', 'The number of pages does not include a partial page.', reply =>
      withHeaders(reply, {
        'x-pagination-total-pages': String(
          Math.floor(Number(reply.headers['x-pagination-total']) / Number(reply.headers['x-pagination-limit'])),
        ),
      }),
    ),
    pageLie('one-page-more', 'The number of pages is one too high.', reply =>
      withHeader(reply, 'x-pagination-total-pages', addOne),
    ),
  ],
  'header.pagination.items': [
    pageLie('an-item-short', 'Each page lacks its last item.', reply => {
      const { data, ...rest } = JSON.parse(replyText(reply))
      return withText(reply, JSON.stringify({ ...rest, data: data.slice(0, -1) }))
    }),
    pageLie('all-items-on-each-page', 'Each page has all items.', reply => {
      const items = Array.from({ length: Number(reply.headers['x-pagination-total']) }, (_, index) => ({ id: index }))
      return withText(reply, JSON.stringify({ object: 'list', data: items }))
    }),
  ],
  'header.content-disposition': [
    replyLie('bare-file-name', 'Content-Disposition is only the file name.', reply =>
      withHeader(reply, 'content-disposition', 'speech.mp3'),
    ),
  ],
  'header.request-timestamp': [
    replyLie(
      'request-timestamp-of-arrival',
      'The echoed request timestamp is the time of arrival.',
      (reply, state, contract) =>
        withHeader(reply, `${contract.headerPrefix}request-timestamp-ms`, String(Math.round(state.arrivedMs))),
    ),
    replyLie(
      'request-timestamp-in-seconds',
      'The echoed request timestamp is in seconds.',
      (reply, _, { headerPrefix }) =>
        withHeader(reply, `${headerPrefix}request-timestamp-ms`, ms => String(Math.floor(Number(ms) / 1000))),
    ),
    replyLie('request-timestamp-for-all', 'A request without a timestamp gets one back.', (reply, state, contract) =>
      withHeaders(reply, { [`${contract.headerPrefix}request-timestamp-ms`]: String(Math.round(state.arrivedMs)) }),
    ),
  ],
  'header.control-instance': [
    replyLie('nameless-instance', 'The instance is empty.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}control-instance`, ''),
    ),
  ],
  'catalogue.networks': [
    lie('networks-unsorted', 'The network list is not sorted.', honest => ({
      networks: slugs => honest.networks([...slugs.slice(1), ...slugs.slice(0, 1)]),
    })),
    lie('network-twice', 'A network is listed twice.', honest => ({
      networks: slugs => honest.networks([...slugs.slice(0, 1), ...slugs]),
    })),
  ],
  'catalogue.models': [
    lie('models-without-id', 'Models have a slug instead of an id.', honest => ({
      models: models =>
        amended(honest.models(models), { data: models.map(({ id, ...rest }) => ({ slug: id, ...rest })) }),
    })),
    lie('models-in-an-array', 'The model list is an array.', () => ({ models: models => models })),
  ],
  'catalogue.rate-limits': [
    lie('limits-of-an-hour', 'The stated limits are per hour.', honest => ({
      rateLimits: limits =>
        honest.rateLimits(
          limits.map(({ apiModelId, rateLimits }) => ({
            apiModelId,
            rateLimits: rateLimits.map(({ amount, type }) => ({ amount: amount * 60, type })),
          })),
        ),
    })),
    lie('limits-of-the-first-model', 'The stated limits of every model are those of the first.', honest => ({
      rateLimits: limits =>
        honest.rateLimits(limits.map(({ apiModelId }) => ({ apiModelId, rateLimits: limits[0]?.rateLimits ?? [] }))),
    })),
    lie('no-limits-stated', 'No limits are stated.', () => ({ rateLimits: () => [] })),
  ],
} satisfies Lies
