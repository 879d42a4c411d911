import type { Clauses } from '../clause.ts'

/** What is neither chat nor RPC, as far as the document says anything of it. */
export const resourceClauses = {
  'resource.offered': {
    section: '1',
    says: 'The service has embeddings, images, audio, video, characters and billing.',
    judges: ['resource-answer'],
    basis: 'profile',
  },
  'embeddings.input': {
    section: '7',
    says: 'The input of an embedding may be a text or a list of texts.',
    judges: ['resource-answer'],
  },
  'embeddings.token-ids': {
    section: '7',
    says: 'An embedding of token ids is answered with 400.',
    judges: ['probe'],
  },
  'limit.resources': {
    section: '8',
    says: 'The request limit of images, audio, embeddings and video is that of the tier of the account.',
    judges: ['limit-headers'],
  },
  'header.pagination': {
    section: '4.4',
    says: 'A list that comes in pages has the four headers of its pages, as whole numbers.',
    judges: ['resource-answer'],
    basis: 'profile',
  },
  'header.pagination.page': {
    section: '4.4',
    says: 'Pages are counted from 1, and the one that is given is the one that was asked for.',
    judges: ['resource-answer'],
    basis: 'profile',
  },
  'header.pagination.total-pages': {
    section: '4.4',
    says: 'All pages together hold all items, and none is beyond them.',
    judges: ['resource-answer'],
    basis: 'profile',
  },
  'header.pagination.items': {
    section: '4.4',
    says: 'A page holds as many items as its headers say.',
    judges: ['resource-answer'],
    basis: 'profile',
  },
  'header.content-disposition': {
    section: '4.4',
    says: 'A file says in Content-Disposition what it is.',
    judges: ['resource-answer'],
    basis: 'profile',
  },
  'header.request-timestamp': {
    section: '4.4',
    says: 'The time that a request stated is given back as it was, and none where it stated none.',
    judges: ['occasional-headers'],
    basis: 'profile',
  },
} as const satisfies Clauses
