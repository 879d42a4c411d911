import type { ClauseRows } from '../clause.ts'

/** The lists of the service, then everything that is neither chat nor RPC. */
export const resourceClauses = {
  'catalogue.networks': ['4.1', 'lists', 'The network list names the slugs, sorted and without duplicates.', { source: 'profile', exercisedBy: 'networks' }],
  'catalogue.models': ['4.1', 'lists', 'The model list is an object list, and each of its models has an id.', { source: 'profile', exercisedBy: 'models' }],
  'catalogue.rate-limits': [
    '4.1',
    ['lists', 'limit-headers'],
    "The rate-limit response lists the caller's limits, which match those in responses.",
    { source: 'profile', exercisedBy: 'any', hides: ['published limits are wrong', ['limit.requests.limit', 'limit.tokens.limit', 'limit.resources']] },
  ],
  'resource.offered': [
    '1',
    'resources',
    'The service has embeddings, images, audio, video, characters and billing.',
    {
      source: 'profile',
      hides: [
        'the resource is missing',
        ['header.pagination', 'header.content-disposition', 'header.request-timestamp', 'embeddings.input', 'limit.resources'],
      ],
    },
  ],
  'embeddings.input': ['7', 'resources', 'The input of an embedding may be a text or a list of texts.'],
  'embeddings.token-ids': ['7', 'probe', 'An embedding request with token ids gets a 400.'],
  'limit.resources': [
    '8',
    'limit-headers',
    "The request limit of images, audio, embeddings and video is the limit of the account's tier.",
    { exercisedBy: 'resource' },
  ],
  'header.pagination': [
    '4.4',
    'resources',
    'A paginated list has the four pagination headers, as whole numbers.',
    { source: 'profile', hides: ['pagination headers are unusable', ['header.pagination.page', 'header.pagination.total-pages', 'header.pagination.items']] },
  ],
  'header.pagination.page': [
    '4.4',
    'resources',
    'Pages are counted from 1, and the page in the response is the requested page.',
    { source: 'profile', hides: ['another page was returned', ['header.pagination.items']] },
  ],
  'header.pagination.total-pages': ['4.4', 'resources', 'The pages together hold all items, and there are no further pages.', { source: 'profile' }],
  'header.pagination.items': [
    '4.4',
    ['resources', 'consistency'],
    'A page holds the number of items that its headers state, and no other page of the list holds the same.',
    { source: 'profile' },
  ],
  'header.content-disposition': ['4.4', 'resources', 'A file response states its disposition in Content-Disposition.', { source: 'profile' }],
  'header.request-timestamp': [
    '4.4',
    'conditional-headers',
    'The timestamp that a request sent is echoed unchanged; without one, none is echoed.',
    { source: 'profile', exercisedBy: 'resource' },
  ],
} satisfies ClauseRows
