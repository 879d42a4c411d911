import type { ClauseRows } from '../clause.ts'

/** The lists that the service keeps, then everything else that is neither chat nor RPC. */
export const resourceClauses = {
  'catalogue.networks': ['4.1', 'lists', 'The network list names the slugs, sorted and without duplicates.', { source: 'profile' }],
  'catalogue.models': ['4.1', 'lists', 'The model list is an object list whose members have an id.', { source: 'profile' }],
  'catalogue.rate-limits': ['4.1', 'lists', "The rate-limit answer lists the caller's limits; they are those of the tier.", { source: 'profile' }],
  'resource.offered': ['1', 'resources', 'The service has embeddings, images, audio, video, characters and billing.', { source: 'profile' }],
  'embeddings.input': ['7', 'resources', 'The input of an embedding may be a text or a list of texts.'],
  'embeddings.token-ids': ['7', 'probe', 'An embedding of token ids is answered with 400.'],
  'limit.resources': ['8', 'limit-headers', 'The request limit of images, audio, embeddings and video is that of the tier of the account.'],
  'header.pagination': ['4.4', 'resources', 'A list that comes in pages has the four headers of its pages, as whole numbers.', { source: 'profile' }],
  'header.pagination.page': ['4.4', 'resources', 'Pages are counted from 1, and the one that is given is the one that was asked for.', { source: 'profile' }],
  'header.pagination.total-pages': ['4.4', 'resources', 'All pages together hold all items, and none is beyond them.', { source: 'profile' }],
  'header.pagination.items': ['4.4', 'resources', 'A page holds as many items as its headers say.', { source: 'profile' }],
  'header.content-disposition': ['4.4', 'resources', 'A file says in Content-Disposition what it is.', { source: 'profile' }],
  'header.request-timestamp': [
    '4.4',
    'conditional-headers',
    'The time that a request stated is given back as it was, and none where it stated none.',
    { source: 'profile' },
  ],
} satisfies ClauseRows
