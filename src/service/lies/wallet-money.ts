import type { PaymentRefusal } from '../../contract/wallets.ts'
import { formatPico, parsePico, pico } from '../../lib/money.ts'
import type { Account } from '../account.ts'
import type { Reply, RequestState } from '../message.ts'
import type { PaymentRules } from '../wallets/top-up.ts'
import { isReplay, type Lie, type Lies, lie, replyLie, replyText, withHeader, withoutHeaders, withText } from './lie.ts'

const remaining = 'x-balance-remaining'
const isWallet = ({ wallet }: Account): boolean => wallet !== undefined

const limitHeader = 'x-ratelimit-limit-requests'
const remainingRequests = 'x-ratelimit-remaining-requests'

/** Other limits for wallets. Responses state them. */
const walletLimits = (name: string, text: string, change: (limit: number) => number): Lie =>
  lie(
    name,
    text,
    honest => ({
      limitsOf: (limits, account) => {
        const own = honest.limitsOf(limits, account)
        return isWallet(account) ? { ...own, requests: change(own.requests) } : own
      },
    }),
    ['limit.requests.limit', 'limit.resources', 'limit.requests.not-early', 'limit.requests.enforced'],
  )

/** A lie about some refused payments. */
const credited = (
  name: string,
  text: string,
  refusals: readonly PaymentRefusal[],
  how: ReturnType<PaymentRules['refusedCredit']>,
  isMeant: (payment: Parameters<PaymentRules['refusedCredit']>[1]) => boolean = () => true,
): Lie =>
  lie(name, text, honest => ({
    refusedCredit: (refusal, payment) =>
      refusals.includes(refusal) && isMeant(payment) ? how : honest.refusedCredit(refusal, payment),
  }))

/** Payments for a test network. */
const testNetworks = ['eip155:84532', 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1']

const balanceLie = (name: string, text: string, change: (balanceUsd: number) => unknown): Lie =>
  replyLie(name, text, (reply, { route }) => {
    if (route.kind !== 'wallet-balance' || reply.status !== 200) return reply
    const { success, data } = JSON.parse(replyText(reply))
    return withText(reply, JSON.stringify({ success, data: { ...data, balanceUsd: change(data.balanceUsd) } }))
  })

/** Another status for the refusals with the code of one. */
const statusLie = (name: string, text: string, refusal: PaymentRefusal, status: number): Lie =>
  replyLie(name, text, (reply, { route }, { wallets }) => {
    const { code } = wallets.topUp.refusals[refusal]
    const isMeant = route.kind === 'top-up' && code !== null && replyText(reply).includes(`"${code}"`)
    return isMeant ? { ...reply, status } : reply
  })

/** Charges a wallet for a request whose reply is finished. */
const charged = (name: string, text: string, amountOf: (reply: Reply, state: RequestState) => bigint): Lie =>
  lie(
    name,
    text,
    honest => ({
      finish: (reply, state) => {
        if (state.account?.wallet !== undefined)
          honest.charge(state.account, { currency: 'usd', pico: amountOf(reply, state) })
        return honest.finish(reply, state)
      },
    }),
    ['rpc.replay.charge'],
  )

export const walletMoneyLies = {
  'wallet.limits': [
    walletLimits('wallets-have-half', 'A wallet has half of the limits.', limit => Math.floor(limit / 2)),
    walletLimits('wallets-have-double', 'A wallet has double limits.', limit => limit * 2),
    lie(
      'wallets-refused-early',
      'A wallet is refused at half of the limits that its responses state.',
      honest => {
        /** The published limits, by their halves. */
        const published = new Map<number, number>()
        return {
          limitsOf: (limits, account) => {
            const own = honest.limitsOf(limits, account)
            if (!isWallet(account)) return own
            const half = Math.floor(own.requests / 2)
            published.set(half, own.requests)
            return { ...own, requests: half }
          },
          finish: (reply, state) => {
            const finished = honest.finish(reply, state)
            const half = Number(finished.headers[limitHeader])
            const whole = published.get(half)
            if (state.account?.wallet === undefined || whole === undefined) return finished
            const left = (value: string) => String(Number(value) + whole - half)
            return withHeader(withHeader(finished, limitHeader, String(whole)), remainingRequests, left)
          },
        }
      },
      ['limit.requests.not-early', 'limit.requests.remaining'],
    ),
  ],
  'wallet.billing': [
    lie(
      'wallets-pay-more',
      'RPC costs wallets a quarter more.',
      honest => ({
        finish: (reply, state) => {
          const finished = honest.finish(reply, state)
          const { [costHeader(finished)]: cost } = finished.headers
          // Another lie may have changed it to something else.
          const stated = cost === undefined ? null : parsePico(cost)
          if (state.account?.wallet === undefined || stated === null || isReplay(finished)) return finished
          const extra = stated / 4n
          honest.charge(state.account, { currency: 'usd', pico: extra })
          const dearer = withHeader(finished, costHeader(finished), formatPico(stated + extra))
          return withHeader(dearer, remaining, left => formatPico(pico(left) - extra))
        },
      }),
      ['rpc.cost.amount'],
    ),
  ],
  'wallet.charge': [
    lie('wallet-charged-twice', 'Every charge of a wallet is applied twice.', honest => ({
      charge: (account, charge) =>
        honest.charge(account, isWallet(account) ? { ...charge, pico: charge.pico * 2n } : charge),
    })),
    lie('wallet-not-charged', 'A wallet is never charged.', honest => ({
      charge: (account, charge) => {
        if (!isWallet(account)) honest.charge(account, charge)
      },
    })),
    lie(
      'wallet-charged-for-bad-sign-ins',
      'A sign-in that is refused costs the wallet that it names a little.',
      honest => {
        const known = new Map<string, Account>()
        let named: string | null = null
        return {
          signInRefusal: (found, attempt) => {
            const refusal = honest.signInRefusal(found, attempt)
            named = refusal === null ? null : (attempt.text?.address ?? null)
            return refusal
          },
          finish: (reply, state) => {
            const { account } = state
            if (account?.wallet !== undefined) known.set(account.wallet, account)
            const victim = account === null && named !== null ? known.get(named) : undefined
            if (victim !== undefined) honest.charge(victim, { currency: 'usd', pico: 12_500_000n })
            return honest.finish(reply, state)
          },
        }
      },
    ),
    charged('wallet-charged-for-refusals', 'A refused request of a wallet costs a little.', ({ status }) =>
      status >= 400 ? 12_500_000n : 0n,
    ),
    charged('wallet-charged-for-asking', 'A wallet pays a millionth to see its balance.', (_, { route }) =>
      route.kind === 'wallet-balance' ? 1_000_000n : 0n,
    ),
  ],
  'wallet.balance': [
    balanceLie('balance-of-wallet-more', 'The balance endpoint shows a cent too much.', usd => usd + 0.02),
    balanceLie('balance-of-wallet-whole', 'The balance endpoint shows whole dollars only.', Math.floor),
    balanceLie('balance-of-wallet-hidden', 'The balance endpoint shows no balance.', () => undefined),
    replyLie('balance-of-wallet-missing', 'There is no balance endpoint.', (reply, { route }) =>
      route.kind === 'wallet-balance' ? { ...withText(reply, '{"error":"Not found"}'), status: 404 } : reply,
    ),
  ],
  'wallet.balance-remaining': [
    replyLie(
      'remaining-before',
      'X-Balance-Remaining is the credit before the request.',
      (reply, _, { headerPrefix }) =>
        withHeader(reply, remaining, value => reply.headers[`${headerPrefix}balance-usd`] ?? value),
    ),
    lie('remaining-of-another-wallet', 'X-Balance-Remaining is that of the wallet that called before.', honest => {
      let last: string | null = null
      let lastOwner: string | undefined
      return {
        finish: (reply, state) => {
          const finished = honest.finish(reply, state)
          const { [remaining]: value } = finished.headers
          if (value === undefined) return finished
          const shown = lastOwner === state.account?.wallet ? value : (last ?? value)
          last = value
          lastOwner = state.account?.wallet
          return withHeader(finished, remaining, shown)
        },
      }
    }),
    replyLie('remaining-missing', 'X-Balance-Remaining is missing.', reply => withoutHeaders(reply, remaining)),
    replyLie('remaining-in-cents', 'X-Balance-Remaining is in cents.', reply =>
      withHeader(reply, remaining, value => formatPico(pico(value) * 100n)),
    ),
  ],
  'wallet.top-up.credit': [
    lie('payment-credited-less', 'A twentieth of a payment is kept.', honest => ({
      creditPicoUsd: paid => (honest.creditPicoUsd(paid) * 19n) / 20n,
    })),
    lie('payment-lost', 'A settled payment is never credited.', () => ({
      creditMs: () => Number.POSITIVE_INFINITY,
    })),
    lie('payment-credited-late', 'A settled payment is credited ten minutes later.', honest => ({
      creditMs: (settledMs, arrivedMs) => honest.creditMs(settledMs, arrivedMs) + 600_000,
    })),
    credited(
      'payment-credited-unsettled',
      'A payment is credited before it is settled, and its settlement fails.',
      ['settlementFailed'],
      'silent',
    ),
    lie('payment-header-unread', 'A payment in the first header is not read.', (honest, { wallets: { topUp } }) => ({
      paymentHeader: (headers, names) =>
        honest.paymentHeader(
          headers,
          names.filter(name => name !== topUp.paymentHeader.toLowerCase()),
        ),
    })),
  ],
  'wallet.top-up.once': [
    credited('payment-settles-twice', 'A payment that was settled is credited again.', ['replayed'], 'accepted'),
    credited('payment-replay-counts', 'A replayed payment is refused, and credited again.', ['replayed'], 'silent'),
    credited('payment-copies-count', 'Two copies of a payment at once are both credited.', ['inProgress'], 'accepted'),
  ],
  'wallet.top-up.legacy-headers': [
    lie('legacy-payments-unread', 'Payments in the legacy headers are not read.', (honest, { wallets: { topUp } }) => ({
      paymentHeader: (headers, names) =>
        honest.paymentHeader(
          headers,
          names.filter(name => name === topUp.paymentHeader.toLowerCase()),
        ),
    })),
  ],
  'wallet.top-up.least': [
    lie('small-payments-accepted', 'A payment below the minimum is accepted.', honest => ({
      paymentRefusal: refusal => honest.paymentRefusal(refusal === 'belowMinimum' ? null : refusal),
    })),
    credited(
      'small-payments-credited',
      'A payment below the minimum is refused, and credited.',
      ['belowMinimum'],
      'silent',
    ),
  ],
  'wallet.top-up.invalid': [
    lie('any-resource-accepted', 'A payment for another resource is accepted.', honest => ({
      paymentRefusal: refusal => honest.paymentRefusal(refusal === 'otherResource' ? null : refusal),
    })),
    credited('any-payment-accepted', 'A payment is not verified.', ['unverified'], 'accepted'),
    credited(
      'any-chain-accepted',
      'A payment on a test network is accepted.',
      ['unverified'],
      'accepted',
      ({ accepted }) => testNetworks.includes(accepted.network),
    ),
    credited('any-payment-credited', 'A payment that is not valid is refused, and credited.', ['unverified'], 'silent'),
  ],
  'wallet.top-up.refusal': [
    statusLie('small-payment-is-422', 'A payment below the minimum gets a 422.', 'belowMinimum', 422),
    statusLie('unverified-is-403', 'A payment that is not valid gets a 403.', 'unverified', 403),
    statusLie('replayed-is-422', 'A replayed payment gets a 422.', 'replayed', 422),
    statusLie('other-resource-is-404', 'A payment for another resource gets a 404.', 'otherResource', 404),
  ],
} satisfies Lies

const costHeader = ({ headers }: Reply): string =>
  Object.keys(headers).find(name => name.endsWith('rpc-cost-usd')) ?? ''
