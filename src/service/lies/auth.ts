import type { Reply, RequestState } from '../message.ts'
import { type Lies, lie, replyLie } from './lie.ts'

/** The rejection of a bearer key that belongs to no account. */
const isBadKey = ({ status }: Reply, { request, account }: RequestState): boolean =>
  status === 401 && account === null && /^Bearer /i.test(request.headers.authorization ?? '')

const isKeyless = ({ status }: Reply, { request }: RequestState): boolean =>
  status === 401 && request.headers.authorization === undefined

/** The rejection of a model that is reserved for paying users. */
const isForPayers = ({ status }: Reply, { account }: RequestState): boolean => status === 401 && account !== null

const guestKey = 'ref_default_guest'

export const authLies = {
  'auth.bearer': [
    lie('any-key-will-do', 'An invalid key opens a guest account.', honest => ({
      accountHolder: key => honest.accountHolder(key) ?? honest.accountHolder(guestKey),
    })),
    replyLie('bad-key-is-403', 'An invalid key returns 403.', (reply, state) =>
      isBadKey(reply, state) ? { ...reply, status: 403 } : reply,
    ),
    replyLie('bad-key-is-500', 'An invalid key returns 500.', (reply, state) =>
      isBadKey(reply, state) ? { ...reply, status: 500 } : reply,
    ),
  ],
  'auth.missing': [
    lie('no-key-will-do', 'A request without a key opens a guest account.', honest => ({
      keyOf: authorization => (authorization === undefined ? guestKey : honest.keyOf(authorization)),
    })),
    replyLie('no-key-is-400', 'A request without a key returns 400.', (reply, state) =>
      isKeyless(reply, state) ? { ...reply, status: 400 } : reply,
    ),
  ],
  'auth.malformed': [
    lie('any-scheme-will-do', 'Credentials of another scheme open a guest account.', honest => ({
      keyOf: authorization => honest.keyOf(authorization) ?? (authorization === undefined ? null : guestKey),
    })),
    lie('other-scheme-breaks-it', 'Credentials of another scheme return 500.', honest => ({
      finish: (reply, state) => {
        const finished = honest.finish(reply, state)
        const { authorization } = state.request.headers
        const isOther = authorization !== undefined && honest.keyOf(authorization) === null
        return isOther ? { ...finished, status: 500 } : finished
      },
    })),
  ],
  'auth.paid-only': [
    lie('paid-models-for-all', 'Models for paying users serve every user.', () => ({ mayUse: () => true })),
    replyLie('paid-only-is-403', 'A model for paying users returns 403 to others.', (reply, state) =>
      isForPayers(reply, state) ? { ...reply, status: 403 } : reply,
    ),
  ],
  'auth.keys-share-limits': [
    lie(
      'limits-by-key',
      'Each key has its own windows.',
      honest => ({
        scope: (scope, state) => `${honest.scope(scope, state)} ${state.request.headers.authorization}`,
      }),
      ['limit.tokens.remaining'],
    ),
  ],
} satisfies Lies
