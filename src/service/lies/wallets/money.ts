import { balanceRemainingHeader, moneyHeadersOf } from '../../../contract/headers.ts'
import type { PaymentRefusal } from '../../../contract/wallets.ts'
import { isObject, type JsonObject, parseObject } from '../../../lib/json.ts'
import { formatPico, parsePico, pico } from '../../../lib/money.ts'
import type { Account } from '../../account.ts'
import type { Reply, RequestState } from '../../message.ts'
import type { PaymentRules } from '../../wallets/top-up.ts'
import { always, amended, input, result } from '../decisions.ts'
import { alsoViolating, type LieRow, type Lies, row } from '../lie.ts'
import {
  addHeader,
  changeReplies,
  dropHeaders,
  header,
  isAny,
  isOf,
  isReplay,
  plus,
  replies,
  replyText,
  setFields,
  setHeader,
  setStatus,
  setText,
  withoutHeaders,
} from '../replies.ts'

const isWallet = ({ wallet }: Account): boolean => wallet !== undefined

const limitHeader = 'x-ratelimit-limit-requests'
const remainingRequests = 'x-ratelimit-remaining-requests'

/** Other limits for wallets. Responses state them. */
const walletLimits = (text: string, change: (limit: number) => number): LieRow =>
  alsoViolating(
    ['limit.requests.limit', 'limit.resources', 'limit.requests.not-early', 'limit.requests.enforced'],
    result(text, 'limitsOf', (own, _, account) =>
      isWallet(account) ? { ...own, requests: change(own.requests) } : own,
    ),
  )

/** Another credit for some refused payments. */
const credit = (
  text: string,
  how: ReturnType<PaymentRules['refusedCredit']>,
  refused: PaymentRefusal,
  isMeant: (payment: Parameters<PaymentRules['refusedCredit']>[1]) => boolean = () => true,
): LieRow =>
  result(text, 'refusedCredit', (honest, refusal, payment) => (refusal === refused && isMeant(payment) ? how : honest))

/** Reads the payment headers that fit. */
const readHeaders = (text: string, fits: (name: string, current: string) => boolean): LieRow =>
  row(text, (honest, { wallets }) => {
    const current = wallets.topUp.paymentHeader.toLowerCase()
    const isRead = (name: string) => fits(name, current)
    return { paymentHeader: (headers, names) => honest.paymentHeader(headers, names.filter(isRead)) }
  })

/** Accepts payments that should be refused for this reason. */
const acceptPayment = (text: string, reason: PaymentRefusal): LieRow =>
  input(text, 'paymentRefusal', refusal => [refusal === reason ? null : refusal])

/** Payments for a test network. */
const testNetworks = ['eip155:84532', 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1']

/** The balance endpoint shows another balance. */
const showBalance = (text: string, change: (balanceUsd: number) => unknown): LieRow =>
  replies(
    text,
    isOf('wallet-balance', 200),
    setFields(({ data }) => {
      const balanceUsd = isObject(data) ? Number(data.balanceUsd) : 0
      return { data: amended(data, { balanceUsd: change(balanceUsd) }) }
    }),
  )

/** Another status for the refusals with the code of one. */
const refusalIs = (text: string, status: number, refusal: PaymentRefusal): LieRow =>
  replies(
    text,
    (reply, { route }, { wallets }) => {
      const { code } = wallets.topUp.refusals[refusal]
      return route.kind === 'top-up' && code !== null && replyText(reply).includes(`"${code}"`)
    },
    setStatus(status),
  )

const encoded = (result: JsonObject): string => Buffer.from(JSON.stringify(result)).toString('base64')

/** Another header with the result of a payment. */
const settlement = (text: string, change: (result: JsonObject) => string): LieRow =>
  replies(text, isOf('top-up', 200), (reply, state, contract) =>
    setHeader(contract.wallets.topUp.resultHeader.toLowerCase(), value => {
      const result = parseObject(Buffer.from(value, 'base64').toString())
      // Another lie may have changed it to something else.
      return result === null ? value : change(result)
    })(reply, state, contract),
  )

const settlementWith = (text: string, fields: JsonObject): LieRow =>
  settlement(text, result => encoded({ ...result, ...fields }))

/** Charges a wallet for a request whose reply is finished. */
const chargeRequest = (text: string, amountOf: (reply: Reply, state: RequestState) => bigint): LieRow =>
  alsoViolating(
    ['rpc.replay.charge'],
    row(text, honest => ({
      finish: (reply, state) => {
        if (state.account?.wallet !== undefined)
          honest.charge(state.account, { currency: 'usd', pico: amountOf(reply, state) })
        return honest.finish(reply, state)
      },
    })),
  )

export const walletMoneyLies = {
  'wallet.limits': {
    'wallets-have-half': walletLimits('A wallet has half of the limits.', limit => Math.floor(limit / 2)),
    'wallets-have-double': walletLimits('A wallet has double limits.', limit => limit * 2),
    'wallets-refused-early': alsoViolating(
      ['limit.requests.not-early', 'limit.requests.remaining'],
      row('A wallet is refused at half of the limits that its responses state.', (honest, contract) => {
        /** The published limits, by their halves. */
        const published = new Map<number, number>()
        return {
          limitsOf: (draw, account) => {
            const own = honest.limitsOf(draw, account)
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
            const stated = setHeader(limitHeader, String(whole))(finished, state, contract)
            return setHeader(remainingRequests, plus(whole - half))(stated, state, contract)
          },
        }
      }),
    ),
  },
  'wallet.billing': {
    'wallets-pay-more': alsoViolating(
      ['rpc.cost.amount'],
      row('RPC costs wallets a quarter more.', (honest, contract) => ({
        finish: (reply, state) => {
          const finished = honest.finish(reply, state)
          const { rpcCostUsd } = moneyHeadersOf(contract)
          const { [rpcCostUsd]: cost } = finished.headers
          // Another lie may have changed it to something else.
          const stated = cost === undefined ? null : parsePico(cost)
          if (state.account?.wallet === undefined || stated === null || isReplay(finished)) return finished
          const extra = stated / 4n
          honest.charge(state.account, { currency: 'usd', pico: extra })
          const dearer = setHeader(rpcCostUsd, formatPico(stated + extra))(finished, state, contract)
          return setHeader(balanceRemainingHeader, left => formatPico(pico(left) - extra))(dearer, state, contract)
        },
      })),
    ),
  },
  'wallet.charge': {
    'wallet-charged-twice': input('Every charge of a wallet is applied twice.', 'charge', (account, charge) => [
      account,
      isWallet(account) ? { ...charge, pico: charge.pico * 2n } : charge,
    ]),
    'wallet-not-charged': row('A wallet is never charged.', honest => ({
      charge: (account, charge) => {
        if (!isWallet(account)) honest.charge(account, charge)
      },
    })),
    'wallet-charged-for-bad-sign-ins': row(
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
    'wallet-charged-for-refusals': chargeRequest('A refused request of a wallet costs a little.', ({ status }) =>
      status >= 400 ? 12_500_000n : 0n,
    ),
    'wallet-charged-for-asking': chargeRequest('A wallet pays a millionth to see its balance.', (_, { route }) =>
      route.kind === 'wallet-balance' ? 1_000_000n : 0n,
    ),
  },
  'wallet.balance': {
    'balance-of-wallet-more': showBalance('The balance endpoint shows a cent too much.', usd => usd + 0.02),
    'balance-of-wallet-whole': showBalance('The balance endpoint shows whole dollars only.', Math.floor),
    'balance-of-wallet-hidden': showBalance('The balance endpoint shows no balance.', () => undefined),
    'balance-of-wallet-missing': alsoViolating(
      ['wallet.failed'],
      replies(
        'There is no balance endpoint.',
        isOf('wallet-balance'),
        setText('{"error":"Not found"}'),
        setStatus(404),
      ),
    ),
  },
  'wallet.balance-remaining': {
    'remaining-before': header(
      'X-Balance-Remaining is the credit before the request.',
      balanceRemainingHeader,
      (value, { headers }, _, contract) => headers[moneyHeadersOf(contract).usdBalance] ?? value,
    ),
    'remaining-of-another-wallet': row(
      'X-Balance-Remaining is that of the wallet that called before.',
      (honest, contract) => {
        let last: string | null = null
        let lastOwner: string | undefined
        const change = setHeader(balanceRemainingHeader, (value, _, { account }) => {
          const shown = lastOwner === account?.wallet ? value : (last ?? value)
          last = value
          lastOwner = account?.wallet
          return shown
        })
        return changeReplies(isAny, change)(honest, contract)
      },
    ),
    'remaining-missing': withoutHeaders('X-Balance-Remaining is missing.', balanceRemainingHeader),
    'remaining-in-cents': header('X-Balance-Remaining is in cents.', balanceRemainingHeader, value =>
      formatPico(pico(value) * 100n),
    ),
  },
  'wallet.top-up.credit': {
    'payment-credited-less': result(
      'A twentieth of a payment is kept.',
      'creditPicoUsd',
      credited => (credited * 19n) / 20n,
    ),
    'payment-lost': always('A settled payment is never credited.', { creditMs: () => Number.POSITIVE_INFINITY }),
    'payment-credited-late': result(
      'A settled payment is credited ten minutes later.',
      'creditMs',
      creditMs => creditMs + 600_000,
    ),
    'payment-credited-unsettled': credit(
      'A payment is credited before it is settled, and its settlement fails.',
      'silent',
      'settlementFailed',
    ),
    'payment-header-unread': readHeaders(
      'A payment in the first header is not read.',
      (name, current) => name !== current,
    ),
  },
  'wallet.top-up.once': {
    'payment-settles-twice': credit('A payment that was settled is credited again.', 'accepted', 'replayed'),
    'payment-replay-counts': credit('A replayed payment is refused, and credited again.', 'silent', 'replayed'),
    'payment-copies-count': credit('Two copies of a payment at once are both credited.', 'accepted', 'inProgress'),
    'payment-known-by-text': row('A settled payment is credited again if its text differs.', honest => {
      const arrivals = new Map<string, number>()
      return {
        paymentHeader: (headers, names) => {
          const value = honest.paymentHeader(headers, names)
          const text = JSON.stringify(parseObject(Buffer.from(value ?? '', 'base64').toString())?.payload)
          arrivals.set(text, (arrivals.get(text) ?? 0) + 1)
          return value
        },
        refusedCredit: (refusal, payment) => {
          const isNew = refusal === 'replayed' && arrivals.get(JSON.stringify(payment.payload)) === 1
          return isNew ? 'accepted' : honest.refusedCredit(refusal, payment)
        },
      }
    }),
  },
  'wallet.top-up.legacy-headers': {
    'legacy-payments-unread': readHeaders(
      'Payments in the legacy headers are not read.',
      (name, current) => name === current,
    ),
    'last-payment-header-unread': readHeaders(
      'Payments in X-PAYMENT, the last of the legacy headers, are not read.',
      name => name !== 'x-payment',
    ),
  },
  'wallet.top-up.least': {
    'small-payments-accepted': acceptPayment('A payment below the minimum is accepted.', 'belowMinimum'),
    'small-payments-credited': credit(
      'A payment below the minimum is refused, and credited.',
      'silent',
      'belowMinimum',
    ),
  },
  'wallet.top-up.invalid': {
    'any-resource-accepted': acceptPayment('A payment for another resource is accepted.', 'otherResource'),
    'any-payment-accepted': credit('A payment is not verified.', 'accepted', 'unverified'),
    'any-chain-accepted': credit('A payment on a test network is accepted.', 'accepted', 'unverified', ({ accepted }) =>
      testNetworks.includes(accepted.network),
    ),
    'any-payment-credited': credit('A payment that is not valid is refused, and credited.', 'silent', 'unverified'),
  },
  'wallet.top-up.refusal': {
    'small-payment-is-422': refusalIs('A payment below the minimum gets a 422.', 422, 'belowMinimum'),
    'unverified-is-403': refusalIs('A payment that is not valid gets a 403.', 403, 'unverified'),
    'replayed-is-422': refusalIs('A replayed payment gets a 422.', 422, 'replayed'),
    'other-resource-is-404': refusalIs('A payment for another resource gets a 404.', 404, 'otherResource'),
  },
  'wallet.top-up.result': {
    'settlement-unstated': replies(
      'A settled payment is not stated in a header.',
      isOf('top-up', 200),
      (reply, state, contract) =>
        dropHeaders(contract.wallets.topUp.resultHeader.toLowerCase())(reply, state, contract),
    ),
    'settlement-as-json': settlement('The settlement is stated as JSON, without base64.', result =>
      JSON.stringify(result),
    ),
    'settlement-not-a-success': settlementWith('A settled payment is stated as a failure.', { success: false }),
    'settlement-on-a-test-network': settlementWith('A settlement is stated for a test network.', {
      network: 'eip155:84532',
    }),
    'settlement-of-another-payer': settlementWith('A settlement names another payer.', {
      payer: '0x0000000000000000000000000000000000000001',
    }),
    'settlement-without-transaction': settlementWith('A settlement names no transaction.', { transaction: '' }),
    'settlement-of-another-amount': settlementWith('A settlement states another amount.', { amount: '1' }),
    'settlement-of-one-transaction': row('All settlements state the transaction of the first.', (honest, contract) => {
      let first: unknown
      return settlement('', ({ transaction, ...others }) => {
        first ??= transaction
        return encoded({ ...others, transaction: first })
      }).overrides(honest, contract)
    }),
    'settlement-success-of-failures': replies(
      'A payment whose settlement failed gets the offer, and a header that states a success.',
      isOf('top-up', 402),
      (reply, state, contract) => {
        const { topUp, rails } = contract.wallets
        const isFailed = replyText(reply).includes(`"${topUp.refusals.settlementFailed.code}"`)
        if (!isFailed) return reply
        const [rail] = Object.values(rails)
        const stated = { success: true, network: rail?.network, transaction: `0x${'1'.repeat(64)}` }
        return addHeader(topUp.resultHeader.toLowerCase(), encoded(stated))(reply, state, contract)
      },
    ),
  },
} satisfies Lies
