import type { SignInRefusal } from '../../../contract/wallets.ts'
import type { RequestState } from '../../message.ts'
import type { SignInAttempt } from '../../wallets/sign-in.ts'
import { always, amended, type Fields, result } from '../decisions.ts'
import { type LieRow, type Lies, row } from '../lie.ts'
import {
  all,
  dropHeaders,
  hasStatus,
  isOf,
  type ReplyTest,
  replies,
  setFields,
  setStatus,
  setText,
} from '../replies.ts'

/** Accepts what should be refused for this reason, at paths with this part. */
const accept = (text: string, reason: SignInRefusal, part = ''): LieRow =>
  result(text, 'signInRefusal', (refusal, _, { request }) =>
    refusal === reason && request?.path.includes(part) === true ? null : refusal,
  )

/** Refuses valid sign-ins that fit. */
const refuse = (text: string, fits: (attempt: SignInAttempt) => boolean): LieRow =>
  result(text, 'signInRefusal', (refusal, _, attempt) => refusal ?? (fits(attempt) ? 'signature' : null))

/** Refuses valid sign-ins at the paths with this part. */
const refuseAt = (text: string, part: string): LieRow =>
  refuse(text, ({ request }) => request?.path.includes(part) === true)

const legacyHeader = 'x-sign-in-with-x'

const acceptInLegacyHeader = (what: string, reason: SignInRefusal): LieRow =>
  result(`The legacy header accepts ${what}.`, 'signInRefusal', (refusal, _, { request }) =>
    refusal === reason && request?.headers[legacyHeader] !== undefined ? null : refusal,
  )

/** Whether a request signs in, in either header. */
const signsIn: ReplyTest = (_, { request }) =>
  request.headers['sign-in-with-x'] !== undefined || request.headers[legacyHeader] !== undefined

/** The 402 to a wallet with too little credit. */
const isHelp: ReplyTest = ({ status }, { account }) => account?.wallet !== undefined && status === 402

const isOffer = isOf('top-up', 402)

/** Another challenge in the 402 to a wallet. */
const amendChallenge = (text: string, info: (state: RequestState) => Fields): LieRow =>
  replies(
    text,
    isHelp,
    setFields(({ siwxChallenge: challenge }, state) => ({
      siwxChallenge: amended(challenge, { info: amended((challenge as Fields).info, info(state)) }),
    })),
  )

/** Replaces fields of the offered payments. */
const amendOffers = (text: string, fields: Fields): LieRow =>
  result(text, 'offered', payments => payments.map(each => amended(each, fields)))

export const signInLies = {
  'wallet.inference': {
    'no-completions-for-wallets': refuseAt('Sign-ins are refused for completions.', '/chat/completions'),
    'no-embeddings-for-wallets': refuseAt('Sign-ins are refused for embeddings.', '/embeddings'),
  },
  'wallet.rpc': { 'no-rpc-for-wallets': refuseAt('Sign-ins are refused by the RPC proxy.', '/crypto/rpc/') },
  'wallet.legacy-header': {
    'legacy-header-refused': refuse(
      'Sign-ins in the legacy header are refused.',
      ({ request }) => request?.headers[legacyHeader] !== undefined,
    ),
  },
  'wallet.evm': {
    'no-evm-wallets': refuse('Sign-ins of EVM wallets are refused.', ({ text }) => text?.family === 'evm'),
  },
  'wallet.solana': {
    'no-solana-wallets': refuse('Sign-ins of Solana wallets are refused.', ({ text }) => text?.family === 'solana'),
  },
  'wallet.no-account': {
    'wallets-must-register': row('Of the wallets of a chain, every second new one is refused.', honest => {
      const known = new Map<string, boolean>()
      const count = { evm: 0, solana: 0 }
      const isStranger = ({ text }: SignInAttempt): boolean => {
        if (text === null) return false
        const isKnown = known.get(text.address) ?? count[text.family]++ % 2 === 0
        known.set(text.address, isKnown)
        return !isKnown
      }
      return {
        signInRefusal: (found, attempt) =>
          honest.signInRefusal(found, attempt) ?? (isStranger(attempt) ? 'signature' : null),
      }
    }),
  },
  'wallet.failed': {
    'used-nonce-accepted': accept('A nonce may be used again.', 'replayed'),
    'nonce-not-yet-used': row('A nonce counts as used only 50 ms after its first use.', honest => {
      const firstMs = new Map<string, number>()
      return {
        signInRefusal: (found, attempt) => {
          const { text, nowMs } = attempt
          const nonce = text?.nonce ?? ''
          if (found === null && !firstMs.has(nonce)) firstMs.set(nonce, nowMs)
          const isEarly = nowMs < (firstMs.get(nonce) ?? 0) + 50
          return honest.signInRefusal(found === 'replayed' && isEarly ? null : found, attempt)
        },
      }
    }),
    'expired-sign-in-accepted': accept('Sign-ins never expire.', 'expired'),
    'future-sign-in-accepted': accept('A sign-in may be issued in the future.', 'future'),
    'any-domain-will-do': accept('A sign-in for any domain is accepted.', 'domain'),
    'any-chain-will-do': accept('A sign-in on any chain is accepted.', 'chain'),
    'any-signature-will-do': accept('Signatures are not checked.', 'signature'),
    'used-nonce-accepted-for-chat': accept('Completions accept a nonce again.', 'replayed', '/chat/'),
    'any-signature-will-do-for-chat': accept('Completions do not check signatures.', 'signature', '/chat/'),
    'any-signature-will-do-for-embeddings': accept('Embeddings do not check signatures.', 'signature', '/embeddings'),
    'expired-sign-in-accepted-for-embeddings': accept('Embeddings accept expired sign-ins.', 'expired', '/embeddings'),
    'expired-sign-in-accepted-for-the-balance': accept('The balance accepts expired sign-ins.', 'expired', '/balance/'),
    'any-signature-will-do-for-the-balance': accept('The balance does not check signatures.', 'signature', '/balance/'),
    'expired-sign-in-accepted-in-legacy-header': acceptInLegacyHeader('expired sign-ins', 'expired'),
    'any-signature-will-do-in-legacy-header': acceptInLegacyHeader('any signature', 'signature'),
    'balance-of-any-solana-wallet': result(
      'A wallet may read the balance of any other on Solana.',
      'mayReadBalance',
      (mayRead, _, address) => mayRead || !address.startsWith('0x'),
    ),
    'balance-of-any-wallet': always('A wallet may read the balance of any other.', { mayReadBalance: () => true }),
    'failed-sign-in-is-500': replies(
      'A sign-in that is not valid returns 500.',
      all(hasStatus(401), signsIn),
      setStatus(500),
    ),
  },
  'wallet.insufficient': {
    'poor-wallet-as-key': replies(
      'A 402 to a wallet has the code for a key.',
      isHelp,
      setFields({ code: 'INSUFFICIENT_BALANCE' }),
    ),
  },
  'wallet.insufficient.help': {
    'no-instructions': replies(
      'A 402 to a wallet does not state how to top up.',
      isHelp,
      setFields({ topUpInstructions: undefined }),
    ),
    'one-chain-named': replies(
      'A 402 to a wallet names one of the chains.',
      isHelp,
      setFields({ supportedChains: ['base'] }),
    ),
    'other-token-named': replies(
      'A 402 to a wallet names a token that no payment accepts.',
      isHelp,
      setFields({ supportedTokens: ['USDT'] }),
    ),
    'old-challenge': amendChallenge('The challenge of a 402 was issued an hour ago.', ({ arrivedMs }) => ({
      issuedAt: new Date(arrivedMs - 3_600_000).toISOString(),
    })),
    'same-challenge': amendChallenge('All challenges have one nonce.', () => ({ nonce: '0123456789abcdef' })),
  },
  'wallet.payment-required': {
    'requirements-without-header': replies(
      'A 402 to a wallet has no PAYMENT-REQUIRED.',
      isHelp,
      dropHeaders('payment-required'),
    ),
    'other-requirements-in-header': replies(
      'PAYMENT-REQUIRED asks for more than the body.',
      isOffer,
      setFields(({ accepts }) => {
        const offers: readonly unknown[] = Array.isArray(accepts) ? accepts : []
        return { accepts: offers.map(each => amended(each, { amount: '6000000' })) }
      }),
    ),
    'other-resource-in-header': replies(
      'PAYMENT-REQUIRED is for another resource than the body.',
      isOffer,
      setFields({ resource: { url: 'https://other.example/x402/top-up' } }),
    ),
  },
  'wallet.top-up.offer': {
    'offer-is-400': replies(
      'A top-up without a payment returns 400.',
      isOffer,
      setText('{"error":"No payment"}'),
      setStatus(400),
      dropHeaders('payment-required'),
    ),
    'offer-without-amount': amendOffers('An offered payment has no amount.', { amount: undefined }),
    'offer-below-the-minimum': amendOffers('An offered payment is of 1 USD.', { amount: '1000000' }),
    'offer-without-token-name': amendOffers('An offered payment does not name its token.', { extra: {} }),
  },
  'wallet.top-up.rails': {
    'offer-of-one-chain': result('Payments are accepted on the first chain only.', 'offered', payments =>
      payments.slice(0, 1),
    ),
    'offer-of-another-token': amendOffers('Payments in another token are accepted.', {
      asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    }),
    'offer-on-a-test-chain': result('Payments on a test chain are accepted, too.', 'offered', payments => [
      ...payments,
      amended(payments[0], { network: 'eip155:84532' }),
    ]),
  },
} satisfies Lies
