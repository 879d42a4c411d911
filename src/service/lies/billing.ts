import type { Network } from '../../contract/contract.ts'
import { moneyHeaderNames } from '../../contract/headers.ts'
import { formatPico, pico, roundPico } from '../../lib/money.ts'
import type { Account } from '../account.ts'
import type { Behavior } from '../behavior.ts'
import { always, arrivalOf, input, onNetworks, raceMs, result } from './decisions.ts'
import { alsoViolating, type LieRow, type Lies, row } from './lie.ts'
import {
  addHeader,
  changeReplies,
  dropHeaders,
  header,
  isAny,
  isBatch,
  isOf,
  isStream,
  replies,
  setHeader,
} from './replies.ts'

const usdBalance = `{prefix}${moneyHeaderNames.usdBalance}`
const diemBalance = `{prefix}${moneyHeaderNames.diemBalance}`
const rpcCredits = `{prefix}${moneyHeaderNames.rpcCredits}`
const rpcCost = `{prefix}${moneyHeaderNames.rpcCostUsd}`

type Charge = Parameters<Behavior['charge']>[1]

/** Applies another charge. */
const changeCharge = (text: string, change: (charge: Charge) => Partial<Charge>): LieRow =>
  input(text, 'charge', (account, charge) => [account, { ...charge, ...change(charge) }])

type BilledItem = Parameters<Behavior['itemCredits']>[0]

/** Bills an item as another one. */
const billItem = (text: string, change: (item: BilledItem) => Partial<BilledItem>): LieRow =>
  input(text, 'itemCredits', item => [{ ...item, ...change(item) }])

const billMethodTwice = (name: string): LieRow =>
  billItem(`${name} is billed twice.`, ({ method, multiplier }) =>
    method === name ? { multiplier: 2 * multiplier } : {},
  )

type MultiplierName = 'standard' | 'advanced' | 'large'

/** Bills the methods of one multiplier with another one. */
const billAs = (text: string, name: MultiplierName, other: MultiplierName): LieRow =>
  row(text, (honest, { rpc: { multipliers } }) => ({
    itemCredits: item =>
      honest.itemCredits(item.multiplier === multipliers[name] ? { ...item, multiplier: multipliers[other] } : item),
  }))

/** A fault in the base credits can look like a wrong price of failing items. */
const otherBase = (text: string, of: Network['family'], baseCredits: number): LieRow =>
  alsoViolating(
    ['rpc.batch.error-price'],
    billItem(text, item => (item.family === of ? { baseCredits } : {})),
  )

/** Sums the credits of other items of a batch. */
const billBatch = (text: string, change: (credits: readonly number[]) => readonly number[]): LieRow =>
  input(text, 'totalCredits', credits => [credits.length > 1 ? change(credits) : credits])

const roundUp = (amount: bigint, unit: bigint): bigint => ((amount + unit - 1n) / unit) * unit

/** The delays in milliseconds at which a service that generates on for two minutes charges for it. */
const everyFiveSeconds = Array.from({ length: 24 }, (_, index) => (index + 1) * 5_000)

/** The time of a charge does not tell what it is for. */
const othersOfHangUps = ['billing.hang-up.once', 'billing.hang-up.late'] as const

export const billingLies = {
  'billing.balance-before': {
    'balance-after': replies(
      'The balance header has the balance after the request.',
      (_, { account }) => account !== null,
      setHeader(usdBalance, (value, _, { account }) => (account === null ? value : formatPico(account.picoUsd))),
    ),
    'balance-one-request-late': alsoViolating(
      ['billing.conservation', 'wallet.charge'],
      row('The balance header has the balance before the previous request.', (honest, contract) => {
        const before = new Map<string, string>()
        const change = setHeader(usdBalance, (balance, _, { account }) => {
          if (account === null) return balance
          const accountId = `${account.tier}/${account.name}`
          const shown = before.get(accountId) ?? balance
          before.set(accountId, balance)
          return shown
        })
        return changeReplies(isAny, change)(honest, contract)
      }),
    ),
  },
  'billing.conservation': {
    'balance-in-cents': header('The balance is rounded to cents.', usdBalance, value => roundPico(pico(value), 2)),
    'charged-twice': changeCharge('Every charge is applied twice.', charge => ({ pico: charge.pico * 2n })),
    'not-charged': always('No charge is applied.', { charge: () => {} }),
    'third-charge-lost': row('Every third charge is lost.', honest => {
      let charges = 0
      return {
        charge: (account, charge) => {
          if (++charges % 3 !== 0) honest.charge(account, charge)
        },
      }
    }),
    // What is charged twice may be the replay that came at the same time.
    'settled-twice-at-once': alsoViolating(
      ['rpc.replay.charge', 'billing.balance-before'],
      row('Requests that settle within 5 ms of an earlier one are settled twice.', honest => {
        const settledMs = new WeakMap<Account, number>()
        const { atMs, windowAt } = arrivalOf(honest)
        return {
          windowAt,
          charge: (account, charge) => {
            const isRace = atMs() - (settledMs.get(account) ?? Number.NEGATIVE_INFINITY) <= raceMs
            settledMs.set(account, atMs())
            honest.charge(account, isRace ? { ...charge, pico: charge.pico * 2n } : charge)
          },
        }
      }),
    ),
    'both-currencies-charged': row('Every charge is applied in both USD and DIEM.', honest => ({
      charge: (account, charge) => {
        honest.charge(account, { ...charge, currency: 'usd' })
        honest.charge(account, { ...charge, currency: 'diem' })
      },
    })),
    'dollars-shown-as-diem': header(
      'The DIEM balance header has the USD balance.',
      diemBalance,
      (_, { headers }, __, { headerPrefix }) => headers[`${headerPrefix}${moneyHeaderNames.usdBalance}`] ?? '0',
    ),
    'failure-charged': row('A request that fails in the service is charged like the cheapest one.', honest => ({
      finish: (reply, state) => {
        const cheapest = { currency: 'usd', pico: 12_500_000n } as const
        if (reply.status >= 500 && state.account !== null) honest.charge(state.account, cheapest)
        return honest.finish(reply, state)
      },
    })),
    'charge-rounded-up': changeCharge('Charges are rounded up to whole millionths.', charge => ({
      pico: roundUp(charge.pico, 1_000_000n),
    })),
  },
  'billing.currency': {
    'other-currency-charged': changeCharge(
      'A charge is applied in the other currency than stated.',
      ({ currency }) => ({ currency: currency === 'usd' ? 'diem' : 'usd' }),
    ),
    'streams-in-other-currency': row('A stream is charged in the other currency than stated.', honest => {
      const ofStreams = new WeakSet<Charge>()
      return {
        finish: (reply, state) => {
          const last = state.account?.deferred.at(-1)
          if (isStream(reply) && last !== undefined) ofStreams.add(last.charge)
          return honest.finish(reply, state)
        },
        charge: (account, charge) => {
          const other = charge.currency === 'usd' ? 'diem' : 'usd'
          honest.charge(account, ofStreams.has(charge) ? { ...charge, currency: other } : charge)
        },
      }
    }),
    'diem-stated-as-dollars': input('A cost paid in DIEM is stated in USD.', 'cost', ({ usd, diem }) => [
      { usd: usd + diem, diem: 0 },
    ]),
    'dollars-stated-as-diem': input('A cost paid in USD is stated in DIEM.', 'cost', ({ usd, diem }) => [
      { usd: 0, diem: usd + diem },
    ]),
    'half-paid-in-dollars': row('Half of a charge in DIEM is applied in USD.', honest => ({
      charge: (account, charge) => {
        const half = charge.currency === 'diem' ? charge.pico / 2n : 0n
        honest.charge(account, { currency: 'usd', pico: half })
        honest.charge(account, { ...charge, pico: charge.pico - half })
      },
    })),
  },
  'billing.hang-up.amount': {
    'hang-up-charged-in-full': alsoViolating(
      othersOfHangUps,
      always('A completion that its client leaves is charged as if it were complete.', {
        tokensOnLeave: ({ all }) => all,
      }),
    ),
    'hang-up-for-free': always('A completion that its client leaves is not charged.', { chargesOnLeave: 0 }),
  },
  'billing.hang-up.once': {
    'hang-up-charged-twice': alsoViolating(
      ['billing.hang-up.amount'],
      always('A gateway repeats a completion that its client left, and charges both.', { chargesOnLeave: 2 }),
    ),
  },
  'billing.hang-up.late': {
    'generates-on-after-hang-up': alsoViolating(
      ['billing.hang-up.amount', 'billing.hang-up.once'],
      always('Tokens are generated and charged for two minutes after the client has left.', {
        generatesOnMs: everyFiveSeconds,
      }),
    ),
  },
  'billing.overdraft': {
    'balance-checked-then-charged': row(
      'Requests that arrive within 5 ms of each other find the balance that the first of them found.',
      honest => {
        const found = new WeakMap<Account, { readonly atMs: number; readonly account: Account }>()
        const { atMs, windowAt } = arrivalOf(honest)
        return {
          windowAt,
          canPay: (account, pico) => {
            const first = found.get(account)
            if (first !== undefined && atMs() - first.atMs <= raceMs) return honest.canPay(first.account, pico)
            found.set(account, { atMs: atMs(), account: { ...account } })
            return honest.canPay(account, pico)
          },
        }
      },
    ),
  },
  'billing.covered': {
    'refund-lost': row('What a request reserves and does not cost is never given back.', honest => {
      const lost = new WeakMap<Account, bigint>()
      const reserved = new WeakMap<Account, bigint>()
      return {
        canPay: (account, pico) => {
          lost.set(account, (lost.get(account) ?? 0n) + (reserved.get(account) ?? 0n))
          const isCovered = honest.canPay(account, pico + (lost.get(account) ?? 0n))
          reserved.set(account, isCovered ? pico : 0n)
          return isCovered
        },
        charge: (account, charge) => {
          reserved.set(account, (reserved.get(account) ?? 0n) - charge.pico)
          honest.charge(account, charge)
        },
      }
    }),
  },
  'rpc.credits.header': {
    'no-credits-on-batches': replies(
      'Responses to batches do not state their credits.',
      isBatch,
      dropHeaders(rpcCredits),
    ),
    'credits-with-decimals': header('Credits have two decimals.', rpcCredits, value => `${value}.00`),
  },
  'rpc.credits.amount': {
    'tiers-not-heeded': billItem('Every method is billed as a standard method.', () => ({ multiplier: 1 })),
    'one-base-for-all': billItem('Every chain is billed with a base of 20 credits.', () => ({ baseCredits: 20 })),
    'last-item-unbilled': alsoViolating(
      ['rpc.batch.error-price'],
      billBatch('The last item of a batch is not billed.', credits => credits.slice(0, -1)),
    ),
    'first-item-twice-billed': alsoViolating(
      ['rpc.batch.error-price'],
      billBatch('The first item of a batch is billed twice.', credits => [credits[0] ?? 0, ...credits]),
    ),
    'advanced-as-standard': row('Advanced methods are billed as standard methods.', (honest, { rpc }) => ({
      itemCredits: item =>
        honest.itemCredits(item.multiplier === rpc.multipliers.advanced ? { ...item, multiplier: 1 } : item),
    })),
    'large-as-advanced': billAs('Large methods are billed as advanced methods.', 'large', 'advanced'),
    'standard-as-advanced': billAs('Standard methods are billed as advanced methods.', 'standard', 'advanced'),
    'solana-as-ethereum': otherBase('Solana is billed at the base of Ethereum.', 'solana', 20),
    'starknet-as-solana': otherBase('Starknet is billed at the base of Solana.', 'starknet', 30),
    'evm-one-credit-less': otherBase('EVM networks are billed one credit less.', 'evm', 19),
    'test-networks-heed-no-tiers': onNetworks(
      'On test networks, every method is billed as a standard method.',
      /-(sepolia|holesky|amoy|fuji|testnet)$/,
      honest => ({ itemCredits: item => honest.itemCredits({ ...item, multiplier: 1 }) }),
    ),
    'polygon-heeds-no-tiers': onNetworks(
      'On Polygon, every method is billed as a standard method.',
      /^polygon-mainnet$/,
      honest => ({ itemCredits: item => honest.itemCredits({ ...item, multiplier: 1 }) }),
    ),
    'proofs-billed-twice': billMethodTwice('eth_getProof'),
    'receipts-billed-twice': billMethodTwice('eth_getBlockReceipts'),
    'filters-of-traces-billed-twice': billMethodTwice('trace_filter'),
    'batch-billed-as-one': billBatch('A batch is billed as its first item.', credits => credits.slice(0, 1)),
  },
  'rpc.batch.error-price': {
    'failed-item-in-full': billItem('A failing item of a batch has the full price.', ({ batched, failed }) => ({
      failed: failed && !batched,
    })),
    'solana-errors-in-full': billItem(
      'A failing item of a batch has the full price on Solana.',
      ({ family, batched, failed }) => ({ failed: failed && !(batched && family === 'solana') }),
    ),
    'failed-item-for-free': result(
      'A failing item of a batch is not billed.',
      'itemCredits',
      (credits, { batched, failed }) => (batched && failed ? 0 : credits),
    ),
    'failed-item-5-times-tier': result(
      'A failing item of a batch costs 5 credits times the multiplier of its tier.',
      'itemCredits',
      (credits, { batched, failed, multiplier }) => (batched && failed ? credits * multiplier : credits),
    ),
    'only-item-in-full': row('The failing item of a batch with one item has the full price.', honest => {
      let inFull = 0
      return {
        itemCredits: item => {
          inFull = honest.itemCredits(item.batched ? { ...item, failed: false } : item)
          return honest.itemCredits(item)
        },
        totalCredits: credits => honest.totalCredits(credits.length === 1 ? [inFull] : credits),
      }
    }),
    'failed-item-one-more': result(
      'A failing item of a batch costs one credit too many.',
      'itemCredits',
      (credits, { batched, failed }) => credits + (batched && failed ? 1 : 0),
    ),
  },
  'rpc.cost.header': {
    'no-cost-on-batches': replies('Responses to batches do not state their cost.', isBatch, dropHeaders(rpcCost)),
    'cost-in-exponents': header('The cost is in scientific notation.', rpcCost, value => Number(value).toExponential()),
    'cost-beyond-numbers': header('The cost is 1e400.', rpcCost, '1e400'),
    'cost-not-a-number': header('The cost is NaN.', rpcCost, 'NaN'),
    'cost-below-zero': header('The cost is negative, as in a ledger.', rpcCost, value => `-${value}`),
    'cost-with-sign': header('The cost has a dollar sign.', rpcCost, value => `$${value}`),
  },
  'rpc.cost.amount': {
    'dearer-credits': result('A credit costs 12 % too much.', 'costPicoUsd', cost => (cost * 112n) / 100n),
    'cost-in-cents': result('The cost is in cents.', 'costPicoUsd', cost => cost * 100n),
    'cost-one-percent-less': result('A credit costs 1 % too little.', 'costPicoUsd', cost => (cost * 99n) / 100n),
    'cost-rounded-to-ten-thousandths': result(
      'The cost is rounded up to ten-thousandths of a dollar.',
      'costPicoUsd',
      cost => roundUp(cost, 100_000_000n),
    ),
    'cost-of-one-credit-less': input('The cost lacks one credit.', 'costPicoUsd', credits => [
      Math.max(0, credits - 1),
    ]),
  },
  'rpc.refused.free': {
    'rejected-batch-billed': alsoViolating(
      ['billing.conservation'],
      row('The supported items of a rejected batch are billed.', (honest, { rpc }) => ({
        rejectionCredits: supported =>
          honest.rejectionCredits(supported) + supported * (Object.values(rpc.networks)[0]?.baseCredits ?? 0),
      })),
    ),
    'every-refusal-billed': alsoViolating(
      ['billing.conservation', 'billing.balance-before', 'wallet.charge'],
      row('Every request that the proxy rejects is billed as a failing item.', (honest, { rpc }) => ({
        finish: (reply, state) => {
          const { account, route } = state
          if (route.kind === 'rpc' && account !== null && reply.status >= 400 && reply.status < 500)
            honest.charge(account, { currency: 'usd', pico: honest.costPicoUsd(rpc.errorItemCredits) })
          return honest.finish(reply, state)
        },
      })),
    ),
    'rejection-billed-as-failure': alsoViolating(
      ['billing.conservation'],
      row('A rejected request is billed as a failing item.', (honest, { rpc }) => ({
        rejectionCredits: supported => honest.rejectionCredits(supported) + rpc.errorItemCredits,
      })),
    ),
    'refusals-state-a-charge': replies(
      'A bad request states the credits of a failing item, which it is not charged.',
      isOf('rpc', 400),
      addHeader(rpcCredits, '5'),
    ),
  },
} satisfies Lies
