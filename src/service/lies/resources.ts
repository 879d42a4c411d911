import type { ResourceLimit } from '../../contract/contract.ts'
import type { Reply, RequestState } from '../message.ts'
import {
  amended,
  type Lie,
  type Lies,
  lie,
  replyLie,
  textOf,
  withHeader,
  withHeaders,
  withoutHeaders,
  withText,
} from './lie.ts'

/** A lie that allows another number of requests a minute. */
const allows = (name: string, text: string, limit: ResourceLimit, requests: number): Lie =>
  lie(name, text, honest => ({
    resourceLimit: (request, tier) => (request === limit ? requests : honest.resourceLimit(request, tier)),
  }))

const isText = (value: unknown): boolean => typeof value === 'string'

const isList = (reply: Reply): boolean => reply.headers['x-pagination-total'] !== undefined

const addOne = (value: string): string => String(Number(value) + 1)

/** A lie about the pages of lists. */
const ofLists = (name: string, text: string, change: (reply: Reply, visit: RequestState) => Reply): Lie =>
  replyLie(name, text, (reply, visit) => (isList(reply) ? change(reply, visit) : reply))

export const resourceLies = {
  'resource.offered': [
    replyLie('lists-not-found', 'What comes in pages is not there.', reply =>
      isList(reply)
        ? {
            ...withText(reply, JSON.stringify({ error: 'Not found' })),
            status: 404,
          }
        : reply,
    ),
  ],
  'embeddings.input': [
    lie('embeddings-of-lists-alone', 'The input of an embedding has to be a list.', honest => ({
      isEmbeddable: input => Array.isArray(input) && honest.isEmbeddable(input),
    })),
    lie('embeddings-of-one-text-alone', 'The input of an embedding has to be one text.', () => ({
      isEmbeddable: isText,
    })),
  ],
  'embeddings.token-ids': [
    lie('embeddings-of-token-ids', 'Token ids are embedded.', honest => ({
      isEmbeddable: input =>
        honest.isEmbeddable(input) || (Array.isArray(input) && input.every(each => typeof each === 'number')),
    })),
    lie('embeddings-of-lists-of-token-ids', 'Lists of token ids are embedded.', honest => ({
      isEmbeddable: input => honest.isEmbeddable(input) || (Array.isArray(input) && input.every(Array.isArray)),
    })),
    lie('embeddings-by-the-first', 'Of a list of inputs the first has to be a text.', honest => ({
      isEmbeddable: input => honest.isEmbeddable(Array.isArray(input) ? input.slice(0, 1) : input),
    })),
  ],
  'limit.resources': [
    lie('partners-as-others', 'Partners have the limits of everyone.', honest => ({
      resourceLimit: limit => honest.resourceLimit(limit, 'default'),
    })),
    allows('images-of-partners', 'Everyone may ask for as many images as a partner.', 'image', 61),
    allows('fewer-images', 'An image fewer than documented may be asked for.', 'image', 19),
    allows('speech-of-partners', 'More speech than documented may be asked for.', 'audio', 121),
    allows('less-speech', 'Less speech than documented may be asked for.', 'audio', 59),
    allows('more-embeddings', 'An embedding more than documented may be asked for.', 'embedding', 501),
    allows('fewer-embeddings', 'An embedding fewer than documented may be asked for.', 'embedding', 499),
    allows('more-videos', 'A video more than documented may be queued.', 'video-queue', 41),
    allows('fewer-videos', 'A video fewer than documented may be queued.', 'video-queue', 39),
    allows('more-retrievals', 'A video more than documented may be retrieved.', 'video-retrieve', 121),
    allows('fewer-retrievals', 'A video fewer than documented may be retrieved.', 'video-retrieve', 119),
  ],
  'header.pagination': [
    ofLists('no-pagination-total', 'Lists do not say how many items there are.', reply =>
      withoutHeaders(reply, 'x-pagination-total'),
    ),
    ofLists('page-of-pages', 'The page is stated with the number of pages.', reply =>
      withHeader(reply, 'x-pagination-page', page => `${page}/${reply.headers['x-pagination-total-pages']}`),
    ),
  ],
  'header.pagination.page': [
    ofLists('pages-from-zero', 'Pages are counted from 0.', reply =>
      withHeader(reply, 'x-pagination-page', page => String(Number(page) - 1)),
    ),
    lie('first-page-always', 'Whatever page is asked for, the first is given.', honest => ({
      page: (_, limit) => honest.page(1, limit),
    })),
  ],
  'header.pagination.total-pages': [
    ofLists('pages-rounded-down', 'A page that is not full is not counted.', reply =>
      withHeaders(reply, {
        'x-pagination-total-pages': String(
          Math.floor(Number(reply.headers['x-pagination-total']) / Number(reply.headers['x-pagination-limit'])),
        ),
      }),
    ),
    ofLists('one-page-more', 'A page more is counted than there is.', reply =>
      withHeader(reply, 'x-pagination-total-pages', addOne),
    ),
  ],
  'header.pagination.items': [
    ofLists('an-item-short', 'Each page lacks its last item.', reply => {
      const { data, ...rest } = JSON.parse(textOf(reply))
      return withText(reply, JSON.stringify({ ...rest, data: data.slice(0, -1) }))
    }),
    ofLists('all-items-on-each-page', 'Each page has all items.', reply => {
      const items = Array.from({ length: Number(reply.headers['x-pagination-total']) }, (_, index) => ({ id: index }))
      return withText(reply, JSON.stringify({ object: 'list', data: items }))
    }),
  ],
  'header.content-disposition': [
    replyLie('bare-file-name', 'Content-Disposition is the name of the file alone.', reply =>
      withHeader(reply, 'content-disposition', 'speech.mp3'),
    ),
  ],
  'header.request-timestamp': [
    replyLie('request-timestamp-of-arrival', "The client's time is that of the arrival.", (reply, visit, contract) =>
      withHeader(reply, `${contract.headerPrefix}request-timestamp-ms`, String(Math.round(visit.arrivedMs))),
    ),
    replyLie('request-timestamp-in-seconds', "The client's time is in seconds.", (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}request-timestamp-ms`, ms => String(Math.floor(Number(ms) / 1000))),
    ),
    replyLie('request-timestamp-for-all', 'A time is given back to those who sent none.', (reply, visit, contract) =>
      withHeaders(reply, { [`${contract.headerPrefix}request-timestamp-ms`]: String(Math.round(visit.arrivedMs)) }),
    ),
  ],
  'header.control-instance': [
    replyLie('nameless-instance', 'The instance is empty.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}control-instance`, ''),
    ),
  ],
  'catalogue.networks': [
    lie('networks-unsorted', 'The network list is in the order of its making.', honest => ({
      networks: slugs => honest.networks([...slugs.slice(1), ...slugs.slice(0, 1)]),
    })),
    lie('network-twice', 'A network is listed twice.', honest => ({
      networks: slugs => honest.networks([...slugs.slice(0, 1), ...slugs]),
    })),
  ],
  'catalogue.models': [
    lie('models-without-id', 'Models have a slug in place of an id.', honest => ({
      models: models =>
        amended(honest.models(models), { data: models.map(({ id, ...rest }) => ({ slug: id, ...rest })) }),
    })),
    lie('models-in-an-array', 'The model list is an array.', () => ({ models: models => models })),
  ],
  'catalogue.rate-limits': [
    lie('limits-of-an-hour', 'The stated limits are those of an hour.', honest => ({
      rateLimits: limits =>
        honest.rateLimits(
          limits.map(({ apiModelId, rateLimits }) => ({
            apiModelId,
            rateLimits: rateLimits.map(({ amount, type }) => ({ amount: amount * 60, type })),
          })),
        ),
    })),
    lie('limits-of-the-first-model', 'The stated limits are those of the first model for all.', honest => ({
      rateLimits: limits =>
        honest.rateLimits(limits.map(({ apiModelId }) => ({ apiModelId, rateLimits: limits[0]?.rateLimits ?? [] }))),
    })),
    lie('no-limits-stated', 'No limits are stated.', () => ({ rateLimits: () => [] })),
  ],
} satisfies Lies
