import type { ResourceLimit } from '../../contract/contract.ts'
import { toObject } from '../../lib/json.ts'
import { always, amended, input, result } from './decisions.ts'
import type { LieRow, Lies } from './lie.ts'
import {
  addHeader,
  dropHeaders,
  header,
  isAny,
  isOf,
  plus,
  type ReplyChange,
  type ReplyTest,
  replies,
  setFields,
  setHeader,
  setStatus,
  setText,
} from './replies.ts'

/** Enforces another limit, in requests per minute. */
const otherLimit = (text: string, of: ResourceLimit, change: (limit: number) => number): LieRow =>
  result(text, 'limitsOf', (own, draw) =>
    draw.limiter === 'resources' && draw.limit === of ? { ...own, requests: change(own.requests) } : own,
  )

const oneOff = (what: string, of: ResourceLimit, more: 1 | -1): LieRow =>
  otherLimit(`${what} is one ${more > 0 ? 'higher' : 'lower'} than documented.`, of, limit => limit + more)

const isText = (value: unknown): boolean => typeof value === 'string'

const page = 'x-pagination-page'
const total = 'x-pagination-total'
const totalPages = 'x-pagination-total-pages'
const requestTimestamp = '{prefix}request-timestamp-ms'

const isList: ReplyTest = ({ headers }) => headers[total] !== undefined

/** Changes replies with a page of a list. */
const changePage = (text: string, ...changes: readonly ReplyChange[]): LieRow => replies(text, isList, ...changes)

/** The item of the reference service that precedes one. */
const itemBefore = (item: unknown) => ({ id: `item-${Number(String(toObject(item)?.id).slice(5)) - 1}` })

const allItems = (count: number) => Array.from({ length: count }, (_, index) => ({ id: index }))

export const resourceLies = {
  'resource.offered': {
    'lists-not-found': changePage(
      'Resources with pages return 404.',
      setText(JSON.stringify({ error: 'Not found' })),
      setStatus(404),
    ),
  },
  'embeddings.input': {
    'embeddings-of-lists-alone': result(
      'Embeddings accept only a list as input.',
      'isEmbeddable',
      (isEmbeddable, input) => isEmbeddable && Array.isArray(input),
    ),
    'embeddings-of-one-text-alone': always('Embeddings accept only one text as input.', { isEmbeddable: isText }),
  },
  'embeddings.token-ids': {
    'embeddings-of-token-ids': result(
      'A list of token ids is accepted as input.',
      'isEmbeddable',
      (isEmbeddable, input) => isEmbeddable || (Array.isArray(input) && input.every(each => typeof each === 'number')),
    ),
    'embeddings-of-lists-of-token-ids': result(
      'Lists of token ids are accepted as input.',
      'isEmbeddable',
      (isEmbeddable, input) => isEmbeddable || (Array.isArray(input) && input.every(Array.isArray)),
    ),
    'embeddings-by-the-first': input('Only the first entry of an input list must be text.', 'isEmbeddable', input => [
      Array.isArray(input) ? input.slice(0, 1) : input,
    ]),
  },
  'limit.resources': {
    'partners-as-others': input('Partners have the default limits.', 'limitsOf', (draw, account) => [
      draw,
      draw.limiter === 'resources' ? { ...account, tier: 'default' } : account,
    ]),
    'images-of-partners': otherLimit('Every account has the image limit of partners.', 'image', () => 61),
    'fewer-images': oneOff('The image limit', 'image', -1),
    'speech-of-partners': otherLimit('The speech limit is higher than documented.', 'audio', () => 121),
    'less-speech': otherLimit('The speech limit is lower than documented.', 'audio', limit => limit - 1),
    'more-embeddings': oneOff('The embedding limit', 'embedding', 1),
    'fewer-embeddings': oneOff('The embedding limit', 'embedding', -1),
    'more-videos': oneOff('The limit for queuing videos', 'video-queue', 1),
    'fewer-videos': oneOff('The limit for queuing videos', 'video-queue', -1),
    'more-retrievals': oneOff('The limit for retrieving videos', 'video-retrieve', 1),
    'fewer-retrievals': oneOff('The limit for retrieving videos', 'video-retrieve', -1),
  },
  'header.pagination': {
    'no-pagination-total': changePage('Lists do not state their total number of items.', dropHeaders(total)),
    'page-of-pages': changePage(
      'The page header also has the number of pages.',
      setHeader(page, (value, { headers }) => `${value}/${headers[totalPages]}`),
    ),
  },
  'header.pagination.page': {
    'pages-from-zero': changePage('Pages are numbered from 0.', setHeader(page, plus(-1))),
    'first-page-always': input('Every request for a page gets the first page.', 'page', (_, limit) => [1, limit]),
  },
  'header.pagination.total-pages': {
    'pages-rounded-down': changePage(
      'The number of pages does not include a partial page.',
      addHeader(totalPages, ({ headers }) =>
        String(Math.floor(Number(headers[total]) / Number(headers['x-pagination-limit']))),
      ),
    ),
    'one-page-more': changePage('The number of pages is one too high.', setHeader(totalPages, plus(1))),
  },
  'header.content-type.body': {
    'limits-labelled-as-html': replies(
      'The list of limits is labelled as HTML.',
      isOf('rate-limits', 200),
      addHeader('content-type', 'text/html'),
    ),
    'speech-labelled-as-json': header('Speech is labelled as JSON.', 'content-type', type =>
      type.startsWith('audio/') ? 'application/json' : type,
    ),
  },
  'header.pagination.items': {
    'first-items-on-each-page': changePage('Each page has the first items.', (reply, state, contract) =>
      setFields(({ data }) => ({ data: allItems(Array.isArray(data) ? data.length : 0) }))(reply, state, contract),
    ),
    'an-item-short': changePage(
      'Each page lacks its last item.',
      setFields(({ data }) => ({ data: Array.isArray(data) ? data.slice(0, -1) : data })),
    ),
    'page-begins-one-early': changePage(
      'Each further page begins with the last item of the page before.',
      (reply, state, contract) =>
        Number(reply.headers[page]) > 1
          ? setFields(({ data }) => ({ data: Array.isArray(data) ? data.map(itemBefore) : data }))(
              reply,
              state,
              contract,
            )
          : reply,
    ),
    'all-items-on-each-page': changePage('Each page has all items.', (reply, state, contract) =>
      setFields({ data: allItems(Number(reply.headers[total])) })(reply, state, contract),
    ),
  },
  'header.content-disposition': {
    'bare-file-name': header('Content-Disposition is only the file name.', 'content-disposition', 'speech.mp3'),
  },
  'header.request-timestamp': {
    'request-timestamp-of-arrival': header(
      'The echoed request timestamp is the time of arrival.',
      requestTimestamp,
      (_, __, { arrivedMs }) => String(Math.round(arrivedMs)),
    ),
    'request-timestamp-in-seconds': header('The echoed request timestamp is in seconds.', requestTimestamp, ms =>
      String(Math.floor(Number(ms) / 1000)),
    ),
    'request-timestamp-for-all': replies(
      'A request without a timestamp gets one back.',
      isAny,
      addHeader(requestTimestamp, (_, { arrivedMs }) => String(Math.round(arrivedMs))),
    ),
  },
  'catalogue.networks': {
    'networks-unsorted': input('The network list is not sorted.', 'networks', slugs => [
      [...slugs.slice(1), ...slugs.slice(0, 1)],
    ]),
    'network-twice': input('A network is listed twice.', 'networks', slugs => [[...slugs.slice(0, 1), ...slugs]]),
  },
  'catalogue.models': {
    'models-without-id': result('Models have a slug instead of an id.', 'models', (list, models) =>
      amended(list, { data: models.map(({ id, ...rest }) => ({ slug: id, ...rest })) }),
    ),
    'models-in-an-array': always('The model list is an array.', { models: models => models }),
  },
  'catalogue.rate-limits': {
    'limits-of-an-hour': input('The stated limits are per hour.', 'rateLimits', models => [
      models.map(({ apiModelId, rateLimits }) => ({
        apiModelId,
        rateLimits: rateLimits.map(({ amount, type }) => ({ amount: amount * 60, type })),
      })),
    ]),
    'limits-of-the-first-model': input(
      'The stated limits of every model are those of the first.',
      'rateLimits',
      models => [models.map(({ apiModelId }) => ({ apiModelId, rateLimits: models[0]?.rateLimits ?? [] }))],
    ),
    'no-limits-stated': always('No limits are stated.', { rateLimits: () => [] }),
  },
} satisfies Lies
