import { always, result } from './decisions.ts'
import { alsoViolating, type Lies, row } from './lie.ts'
import { changeReplies, type ReplyTest, replies, setStatus } from './replies.ts'

/** The rejection of a bearer key that belongs to no account. */
const isBadKey: ReplyTest = ({ status }, { request, account }) =>
  status === 401 && account === null && /^Bearer /i.test(request.headers.authorization ?? '')

const isKeyless: ReplyTest = ({ status }, { request }) => status === 401 && request.headers.authorization === undefined

/** The rejection of a model that is reserved for paying users. */
const isForPayers: ReplyTest = ({ status }, { account }) => status === 401 && account !== null

const guestKey = 'ref_default_guest'

export const authLies = {
  'auth.bearer': {
    'any-key-will-do': row('An invalid key opens a guest account.', honest => ({
      accountHolder: key => honest.accountHolder(key) ?? honest.accountHolder(guestKey),
    })),
    'bad-key-is-403': replies('An invalid key returns 403.', isBadKey, setStatus(403)),
    'bad-key-is-500': replies('An invalid key returns 500.', isBadKey, setStatus(500)),
  },
  'auth.missing': {
    'no-key-will-do': result('A request without a key opens a guest account.', 'keyOf', (key, authorization) =>
      authorization === undefined ? guestKey : key,
    ),
    'no-key-is-400': replies('A request without a key returns 400.', isKeyless, setStatus(400)),
  },
  'auth.malformed': {
    'any-scheme-will-do': result(
      'Credentials of another scheme open a guest account.',
      'keyOf',
      (key, authorization) => key ?? (authorization === undefined ? null : guestKey),
    ),
    'other-scheme-breaks-it': row('Credentials of another scheme return 500.', (honest, contract) => {
      const isOtherScheme: ReplyTest = (_, { request }) => {
        const { authorization } = request.headers
        return authorization !== undefined && honest.keyOf(authorization) === null
      }
      return changeReplies(isOtherScheme, setStatus(500))(honest, contract)
    }),
  },
  'auth.paid-only': {
    'paid-models-for-all': always('Models for paying users serve every user.', { mayUse: () => true }),
    'paid-only-is-403': replies('A model for paying users returns 403 to others.', isForPayers, setStatus(403)),
  },
  'auth.keys-share-limits': {
    'limits-by-key': alsoViolating(
      ['limit.tokens.remaining'],
      result(
        'Each key has its own windows.',
        'scope',
        (scope, _, { request }) => `${scope} ${request.headers.authorization}`,
      ),
    ),
  },
} satisfies Lies
