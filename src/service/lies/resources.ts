import type { ResourceLimit } from '../../contract/contract.ts'
import { amended, changeInput, changeResult } from './decisions.ts'
import type { LieRow, Lies, Overrides } from './lie.ts'
import {
  addHeader,
  changeReply,
  changeReplyIf,
  dropHeaders,
  plus,
  type ReplyChange,
  type ReplyTest,
  setFields,
  setHeader,
  setStatus,
  setText,
} from './replies.ts'

/** Enforces another limit, in requests per minute. */
const enforces = (text: string, limit: ResourceLimit, requests: number): LieRow => [
  text,
  changeResult('resourceLimit', (documented, asked) => (asked === limit ? requests : documented)),
]

const isText = (value: unknown): boolean => typeof value === 'string'

const page = 'x-pagination-page'
const total = 'x-pagination-total'
const totalPages = 'x-pagination-total-pages'
const requestTimestamp = '{prefix}request-timestamp-ms'

const isList: ReplyTest = ({ headers }) => headers[total] !== undefined

/** Changes replies with a page of a list. */
const changePage = (...changes: readonly ReplyChange[]): Overrides => changeReplyIf(isList, ...changes)

const allItems = (count: number) => Array.from({ length: count }, (_, index) => ({ id: index }))

export const resourceLies = {
  'resource.offered': {
    'lists-not-found': [
      'Resources with pages return 404.',
      changePage(setText(JSON.stringify({ error: 'Not found' })), setStatus(404)),
    ],
  },
  'embeddings.input': {
    'embeddings-of-lists-alone': [
      'Embeddings accept only a list as input.',
      changeResult('isEmbeddable', (isEmbeddable, input) => isEmbeddable && Array.isArray(input)),
    ],
    'embeddings-of-one-text-alone': ['Embeddings accept only one text as input.', () => ({ isEmbeddable: isText })],
  },
  'embeddings.token-ids': {
    'embeddings-of-token-ids': [
      'A list of token ids is accepted as input.',
      changeResult(
        'isEmbeddable',
        (isEmbeddable, input) =>
          isEmbeddable || (Array.isArray(input) && input.every(each => typeof each === 'number')),
      ),
    ],
    'embeddings-of-lists-of-token-ids': [
      'Lists of token ids are accepted as input.',
      changeResult(
        'isEmbeddable',
        (isEmbeddable, input) => isEmbeddable || (Array.isArray(input) && input.every(Array.isArray)),
      ),
    ],
    'embeddings-by-the-first': [
      'Only the first entry of an input list must be text.',
      changeInput('isEmbeddable', input => [Array.isArray(input) ? input.slice(0, 1) : input]),
    ],
  },
  'limit.resources': {
    'partners-as-others': [
      'Partners have the default limits.',
      changeInput('resourceLimit', limit => [limit, 'default']),
    ],
    'images-of-partners': enforces('Every account has the image limit of partners.', 'image', 61),
    'fewer-images': enforces('The image limit is one lower than documented.', 'image', 19),
    'speech-of-partners': enforces('The speech limit is higher than documented.', 'audio', 121),
    'less-speech': enforces('The speech limit is lower than documented.', 'audio', 59),
    'more-embeddings': enforces('The embedding limit is one higher than documented.', 'embedding', 501),
    'fewer-embeddings': enforces('The embedding limit is one lower than documented.', 'embedding', 499),
    'more-videos': enforces('The limit for queuing videos is one higher than documented.', 'video-queue', 41),
    'fewer-videos': enforces('The limit for queuing videos is one lower than documented.', 'video-queue', 39),
    'more-retrievals': enforces(
      'The limit for retrieving videos is one higher than documented.',
      'video-retrieve',
      121,
    ),
    'fewer-retrievals': enforces(
      'The limit for retrieving videos is one lower than documented.',
      'video-retrieve',
      119,
    ),
  },
  'header.pagination': {
    'no-pagination-total': ['Lists do not state their total number of items.', changePage(dropHeaders(total))],
    'page-of-pages': [
      'The page header also has the number of pages.',
      changePage(setHeader(page, (value, { headers }) => `${value}/${headers[totalPages]}`)),
    ],
  },
  'header.pagination.page': {
    'pages-from-zero': ['Pages are numbered from 0.', changePage(setHeader(page, plus(-1)))],
    'first-page-always': [
      'Every request for a page gets the first page.',
      changeInput('page', (_, limit) => [1, limit]),
    ],
  },
  'header.pagination.total-pages': {
    'pages-rounded-down': [
      'The number of pages does not include a partial page.',
      changePage(
        addHeader(totalPages, ({ headers }) =>
          String(Math.floor(Number(headers[total]) / Number(headers['x-pagination-limit']))),
        ),
      ),
    ],
    'one-page-more': ['The number of pages is one too high.', changePage(setHeader(totalPages, plus(1)))],
  },
  'header.pagination.items': {
    'an-item-short': [
      'Each page lacks its last item.',
      changePage(setFields(({ data }) => ({ data: Array.isArray(data) ? data.slice(0, -1) : data }))),
    ],
    'all-items-on-each-page': [
      'Each page has all items.',
      changePage((reply, state, contract) =>
        setFields({ data: allItems(Number(reply.headers[total])) })(reply, state, contract),
      ),
    ],
  },
  'header.content-disposition': {
    'bare-file-name': [
      'Content-Disposition is only the file name.',
      changeReply(setHeader('content-disposition', 'speech.mp3')),
    ],
  },
  'header.request-timestamp': {
    'request-timestamp-of-arrival': [
      'The echoed request timestamp is the time of arrival.',
      changeReply(setHeader(requestTimestamp, (_, __, { arrivedMs }) => String(Math.round(arrivedMs)))),
    ],
    'request-timestamp-in-seconds': [
      'The echoed request timestamp is in seconds.',
      changeReply(setHeader(requestTimestamp, ms => String(Math.floor(Number(ms) / 1000)))),
    ],
    'request-timestamp-for-all': [
      'A request without a timestamp gets one back.',
      changeReply(addHeader(requestTimestamp, (_, { arrivedMs }) => String(Math.round(arrivedMs)))),
    ],
  },
  'catalogue.networks': {
    'networks-unsorted': [
      'The network list is not sorted.',
      changeInput('networks', slugs => [[...slugs.slice(1), ...slugs.slice(0, 1)]]),
    ],
    'network-twice': [
      'A network is listed twice.',
      changeInput('networks', slugs => [[...slugs.slice(0, 1), ...slugs]]),
    ],
  },
  'catalogue.models': {
    'models-without-id': [
      'Models have a slug instead of an id.',
      changeResult('models', (list, models) =>
        amended(list, { data: models.map(({ id, ...rest }) => ({ slug: id, ...rest })) }),
      ),
    ],
    'models-in-an-array': ['The model list is an array.', () => ({ models: models => models })],
  },
  'catalogue.rate-limits': {
    'limits-of-an-hour': [
      'The stated limits are per hour.',
      changeInput('rateLimits', models => [
        models.map(({ apiModelId, rateLimits }) => ({
          apiModelId,
          rateLimits: rateLimits.map(({ amount, type }) => ({ amount: amount * 60, type })),
        })),
      ]),
    ],
    'limits-of-the-first-model': [
      'The stated limits of every model are those of the first.',
      changeInput('rateLimits', models => [
        models.map(({ apiModelId }) => ({ apiModelId, rateLimits: models[0]?.rateLimits ?? [] })),
      ]),
    ],
    'no-limits-stated': ['No limits are stated.', () => ({ rateLimits: () => [] })],
  },
} satisfies Lies
