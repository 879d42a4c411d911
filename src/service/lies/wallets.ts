import type { SignInRefusal } from '../../contract/wallets.ts'
import type { Reply, RequestState } from '../message.ts'
import type { SignInAttempt } from '../wallets/sign-in.ts'
import { amended, type Lie, type Lies, lie, replyLie, replyText, withoutHeaders, withText } from './lie.ts'

/** Accepts what should be refused for this reason. */
const accepts = (refusal: SignInRefusal, name: string, text: string): Lie =>
  lie(name, text, honest => ({
    signInRefusal: (found, attempt) => {
      const last = honest.signInRefusal(found, attempt)
      return last === refusal ? null : last
    },
  }))

/** Refuses valid sign-ins that fit. */
const refuses = (name: string, text: string, fits: (attempt: SignInAttempt) => boolean): Lie =>
  lie(name, text, honest => ({
    signInRefusal: (found, attempt) => honest.signInRefusal(found, attempt) ?? (fits(attempt) ? 'signature' : null),
  }))

const isChat = ({ request }: SignInAttempt): boolean => request?.path.endsWith('/chat/completions') === true
const isRpc = ({ request }: SignInAttempt): boolean => request?.path.includes('/crypto/rpc/') === true

/** Whether a request signs in, in either header. */
const signsIn = ({ request }: RequestState): boolean =>
  request.headers['sign-in-with-x'] !== undefined || request.headers['x-sign-in-with-x'] !== undefined

/** The 402 to a wallet with too little credit, with other members. */
const amendHelp = (
  reply: Reply,
  { account }: RequestState,
  changes: (body: { readonly siwxChallenge: { readonly info: object } }) => Readonly<Record<string, unknown>>,
): Reply => {
  if (account?.wallet === undefined || reply.status !== 402) return reply
  const body = JSON.parse(replyText(reply))
  return withText(reply, JSON.stringify(amended(body, changes(body))))
}

export const signInLies = {
  'wallet.inference': [refuses('no-completions-for-wallets', 'Sign-ins are refused for completions.', isChat)],
  'wallet.rpc': [refuses('no-rpc-for-wallets', 'Sign-ins are refused by the RPC proxy.', isRpc)],
  'wallet.legacy-header': [
    refuses(
      'legacy-header-refused',
      'Sign-ins in the legacy header are refused.',
      ({ request }) => request?.headers['x-sign-in-with-x'] !== undefined,
    ),
  ],
  'wallet.evm': [
    refuses('no-evm-wallets', 'Sign-ins of EVM wallets are refused.', ({ text }) => text?.family === 'evm'),
  ],
  'wallet.solana': [
    refuses('no-solana-wallets', 'Sign-ins of Solana wallets are refused.', ({ text }) => text?.family === 'solana'),
  ],
  'wallet.no-account': [
    lie('wallets-must-register', 'Of the wallets of a chain, every second new one is refused.', honest => {
      const known = new Map<string, boolean>()
      const count = { evm: 0, solana: 0 }
      return {
        signInRefusal: (found, attempt) => {
          const refusal = honest.signInRefusal(found, attempt)
          if (refusal !== null || attempt.text === null) return refusal
          const { address, family } = attempt.text
          const isKnown = known.get(address) ?? count[family]++ % 2 === 0
          known.set(address, isKnown)
          return isKnown ? null : 'signature'
        },
      }
    }),
  ],
  'wallet.failed': [
    accepts('replayed', 'used-nonce-accepted', 'A nonce may be used again.'),
    lie('nonce-not-yet-used', 'A nonce counts as used only 50 ms after its first use.', honest => {
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
    accepts('expired', 'expired-sign-in-accepted', 'Sign-ins never expire.'),
    accepts('future', 'future-sign-in-accepted', 'A sign-in may be issued in the future.'),
    accepts('domain', 'any-domain-will-do', 'A sign-in for any domain is accepted.'),
    accepts('chain', 'any-chain-will-do', 'A sign-in on any chain is accepted.'),
    accepts('signature', 'any-signature-will-do', 'Signatures are not checked.'),
    lie('balance-of-any-wallet', 'A wallet may read the balance of any other.', () => ({ mayReadBalance: () => true })),
    replyLie('failed-sign-in-is-500', 'A sign-in that is not valid returns 500.', (reply, state) =>
      reply.status === 401 && signsIn(state) ? { ...reply, status: 500 } : reply,
    ),
  ],
  'wallet.insufficient': [
    replyLie('poor-wallet-as-key', 'A 402 to a wallet has the code for a key.', (reply, state) =>
      amendHelp(reply, state, () => ({ code: 'INSUFFICIENT_BALANCE' })),
    ),
  ],
  'wallet.insufficient.help': [
    replyLie('no-instructions', 'A 402 to a wallet does not state how to top up.', (reply, state) =>
      amendHelp(reply, state, () => ({ topUpInstructions: undefined })),
    ),
    replyLie('one-chain-named', 'A 402 to a wallet names one of the chains.', (reply, state) =>
      amendHelp(reply, state, () => ({ supportedChains: ['base'] })),
    ),
    replyLie('old-challenge', 'The challenge of a 402 was issued an hour ago.', (reply, state) =>
      amendHelp(reply, state, ({ siwxChallenge }) => {
        const issuedAt = new Date(state.arrivedMs - 3_600_000).toISOString()
        return { siwxChallenge: { ...siwxChallenge, info: { ...siwxChallenge.info, issuedAt } } }
      }),
    ),
    replyLie('same-challenge', 'All challenges have one nonce.', (reply, state) =>
      amendHelp(reply, state, ({ siwxChallenge }) => ({
        siwxChallenge: { ...siwxChallenge, info: { ...siwxChallenge.info, nonce: '0123456789abcdef' } },
      })),
    ),
  ],
  'wallet.payment-required': [
    replyLie('requirements-without-header', 'A 402 to a wallet has no PAYMENT-REQUIRED.', (reply, { account }) =>
      account?.wallet !== undefined && reply.status === 402 ? withoutHeaders(reply, 'payment-required') : reply,
    ),
    replyLie('other-requirements-in-header', 'PAYMENT-REQUIRED asks for more than the body.', (reply, { route }) => {
      if (route.kind !== 'top-up' || reply.status !== 402) return reply
      const body = JSON.parse(replyText(reply))
      const dearer = body.accepts?.map((each: object) => ({ ...each, amount: '6000000' }))
      return withText(reply, JSON.stringify({ ...body, accepts: dearer }))
    }),
    replyLie(
      'other-resource-in-header',
      'PAYMENT-REQUIRED is for another resource than the body.',
      (reply, { route }) => {
        if (route.kind !== 'top-up' || reply.status !== 402) return reply
        const body = JSON.parse(replyText(reply))
        return withText(reply, JSON.stringify({ ...body, resource: { url: 'https://other.example/x402/top-up' } }))
      },
    ),
  ],
  'wallet.top-up.offer': [
    replyLie('offer-is-400', 'A top-up without a payment returns 400.', (reply, { route }) =>
      route.kind === 'top-up' && reply.status === 402
        ? {
            ...withText(reply, '{"error":"No payment"}'),
            status: 400,
            headers: withoutHeaders(reply, 'payment-required').headers,
          }
        : reply,
    ),
    lie('offer-without-amount', 'An offered payment has no amount.', honest => ({
      offered: payments => honest.offered(payments).map(each => amended(each, { amount: undefined })),
    })),
    lie('offer-without-token-name', 'An offered payment does not name its token.', honest => ({
      offered: payments => honest.offered(payments).map(each => amended(each, { extra: {} })),
    })),
  ],
  'wallet.top-up.rails': [
    lie('offer-of-one-chain', 'Payments are accepted on the first chain only.', honest => ({
      offered: payments => honest.offered(payments).slice(0, 1),
    })),
    lie('offer-of-another-token', 'Payments in another token are accepted.', honest => ({
      offered: payments =>
        honest.offered(payments).map(each => amended(each, { asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' })),
    })),
    lie('offer-on-a-test-chain', 'Payments on a test chain are accepted, too.', honest => ({
      offered: payments => {
        const all = honest.offered(payments)
        return [...all, amended(all[0], { network: 'eip155:84532' })]
      },
    })),
  ],
} satisfies Lies
