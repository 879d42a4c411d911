import type { Reply } from '../message.ts'
import type { Visit } from '../visit.ts'
import { type Lies, lie, replyLie } from './lie.ts'

/** The rejection of a bearer key that belongs to no account. */
const isBadKey = ({ status }: Reply, { request, account }: Visit): boolean =>
  status === 401 && account === null && /^Bearer /i.test(request.headers.authorization ?? '')

const isKeyless = ({ status }: Reply, { request }: Visit): boolean =>
  status === 401 && request.headers.authorization === undefined

/** The rejection of a model that is reserved for paying users. */
const isForPayers = ({ status }: Reply, { account }: Visit): boolean => status === 401 && account !== null

const guestKey = 'ref_default_guest'

export const authLies = {
  'auth.bearer': [
    lie('any-key-will-do', 'A key that is not valid opens the account of a guest.', honest => ({
      caller: key => honest.caller(key) ?? honest.caller(guestKey),
    })),
    replyLie('bad-key-is-403', 'A key that is not valid is answered with 403.', (reply, visit) =>
      isBadKey(reply, visit) ? { ...reply, status: 403 } : reply,
    ),
    replyLie('bad-key-is-500', 'A key that is not valid breaks the service.', (reply, visit) =>
      isBadKey(reply, visit) ? { ...reply, status: 500 } : reply,
    ),
  ],
  'auth.missing': [
    lie('no-key-will-do', 'A request without a key opens the account of a guest.', honest => ({
      keyOf: authorization => (authorization === undefined ? guestKey : honest.keyOf(authorization)),
    })),
    replyLie('no-key-is-400', 'A request without a key is answered with 400.', (reply, visit) =>
      isKeyless(reply, visit) ? { ...reply, status: 400 } : reply,
    ),
  ],
  'auth.malformed': [
    lie('any-scheme-will-do', 'Credentials of another scheme open the account of a guest.', honest => ({
      keyOf: authorization => honest.keyOf(authorization) ?? (authorization === undefined ? null : guestKey),
    })),
    lie('other-scheme-breaks-it', 'Credentials of another scheme break the service.', honest => ({
      finish: (reply, visit) => {
        const meant = honest.finish(reply, visit)
        const { authorization } = visit.request.headers
        const isOther = authorization !== undefined && honest.keyOf(authorization) === null
        return isOther ? { ...meant, status: 500 } : meant
      },
    })),
  ],
  'auth.paid-only': [
    lie('paid-models-for-all', 'Models for paying users answer everybody.', () => ({ mayUse: () => true })),
    replyLie('paid-only-is-403', 'A model for paying users answers others with 403.', (reply, visit) =>
      isForPayers(reply, visit) ? { ...reply, status: 403 } : reply,
    ),
  ],
  'auth.keys-share-limits': [
    lie(
      'limits-by-key',
      'Every key has windows of its own.',
      honest => ({
        scope: (scope, visit) => `${honest.scope(scope, visit)} ${visit.request.headers.authorization}`,
      }),
      ['limit.tokens.remaining'],
    ),
  ],
} satisfies Lies
