import { changeResult } from './decisions.ts'
import type { Lies } from './lie.ts'
import { changeReplyIf, type ReplyTest, setStatus } from './replies.ts'

/** The rejection of a bearer key that belongs to no account. */
const isBadKey: ReplyTest = ({ status }, { request, account }) =>
  status === 401 && account === null && /^Bearer /i.test(request.headers.authorization ?? '')

const isKeyless: ReplyTest = ({ status }, { request }) => status === 401 && request.headers.authorization === undefined

/** The rejection of a model that is reserved for paying users. */
const isForPayers: ReplyTest = ({ status }, { account }) => status === 401 && account !== null

const guestKey = 'ref_default_guest'

export const authLies = {
  'auth.bearer': {
    'any-key-will-do': [
      'An invalid key opens a guest account.',
      honest => ({ accountHolder: key => honest.accountHolder(key) ?? honest.accountHolder(guestKey) }),
    ],
    'bad-key-is-403': ['An invalid key returns 403.', changeReplyIf(isBadKey, setStatus(403))],
    'bad-key-is-500': ['An invalid key returns 500.', changeReplyIf(isBadKey, setStatus(500))],
  },
  'auth.missing': {
    'no-key-will-do': [
      'A request without a key opens a guest account.',
      changeResult('keyOf', (key, authorization) => (authorization === undefined ? guestKey : key)),
    ],
    'no-key-is-400': ['A request without a key returns 400.', changeReplyIf(isKeyless, setStatus(400))],
  },
  'auth.malformed': {
    'any-scheme-will-do': [
      'Credentials of another scheme open a guest account.',
      changeResult('keyOf', (key, authorization) => key ?? (authorization === undefined ? null : guestKey)),
    ],
    'other-scheme-breaks-it': [
      'Credentials of another scheme return 500.',
      (honest, contract) => {
        const isOtherScheme: ReplyTest = (_, { request }) => {
          const { authorization } = request.headers
          return authorization !== undefined && honest.keyOf(authorization) === null
        }
        return changeReplyIf(isOtherScheme, setStatus(500))(honest, contract)
      },
    ],
  },
  'auth.paid-only': {
    'paid-models-for-all': ['Models for paying users serve every user.', () => ({ mayUse: () => true })],
    'paid-only-is-403': ['A model for paying users returns 403 to others.', changeReplyIf(isForPayers, setStatus(403))],
  },
  'auth.keys-share-limits': {
    'limits-by-key': [
      'Each key has its own windows.',
      changeResult('scope', (scope, _, { request }) => `${scope} ${request.headers.authorization}`),
      ['limit.tokens.remaining'],
    ],
  },
} satisfies Lies
