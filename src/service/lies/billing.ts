import type { Network } from '../../contract/contract.ts'
import { moneyHeaderNames } from '../../contract/headers.ts'
import { formatPico, pico, roundPico } from '../../lib/money.ts'
import type { Behavior } from '../behavior.ts'
import { changeInput, changeResult } from './decisions.ts'
import type { LieRow, Lies, Overrides } from './lie.ts'
import { changeReply, changeReplyIf, dropHeaders, isBatch, setHeader } from './replies.ts'

const usdBalance = `{prefix}${moneyHeaderNames.usdBalance}`
const diemBalance = `{prefix}${moneyHeaderNames.diemBalance}`
const rpcCredits = `{prefix}${moneyHeaderNames.rpcCredits}`
const rpcCost = `{prefix}${moneyHeaderNames.rpcCostUsd}`

type Charge = Parameters<Behavior['charge']>[1]

/** Applies another charge. */
const changeCharge = (change: (charge: Charge) => Partial<Charge>): Overrides =>
  changeInput('charge', (account, charge) => [account, { ...charge, ...change(charge) }])

type BilledItem = Parameters<Behavior['itemCredits']>[0]

/** Bills an item as another one. */
const billItem = (change: (item: BilledItem) => Partial<BilledItem>): Overrides =>
  changeInput('itemCredits', item => [{ ...item, ...change(item) }])

type MultiplierName = 'standard' | 'advanced' | 'large'

/** Bills the methods of one multiplier with another one. */
const billAs =
  (name: MultiplierName, other: MultiplierName): Overrides =>
  (honest, contract) => {
    const { [name]: own, [other]: wrong } = contract.rpc.multipliers
    return billItem(item => (item.multiplier === own ? { multiplier: wrong } : {}))(honest, contract)
  }

/** A fault in the base credits can look like a wrong price of failing items. */
const otherBase = (text: string, of: Network['family'], baseCredits: number): LieRow => [
  text,
  billItem(item => (item.family === of ? { baseCredits } : {})),
  ['rpc.batch.error-price'],
]

/** Sums the credits of other items of a batch. */
const billBatch = (change: (credits: readonly number[]) => readonly number[]): Overrides =>
  changeInput('totalCredits', credits => [credits.length > 1 ? change(credits) : credits])

const roundUp = (amount: bigint, unit: bigint): bigint => ((amount + unit - 1n) / unit) * unit

export const billingLies = {
  'billing.balance-before': {
    'balance-after': [
      'The balance header has the balance after the request.',
      changeReplyIf(
        (_, { account }) => account !== null,
        setHeader(usdBalance, (value, _, { account }) => (account === null ? value : formatPico(account.picoUsd))),
      ),
    ],
    'balance-one-request-late': [
      'The balance header has the balance before the previous request.',
      (honest, contract) => {
        const before = new Map<string, string>()
        const change = setHeader(usdBalance, (balance, _, { account }) => {
          if (account === null) return balance
          const accountId = `${account.tier}/${account.name}`
          const shown = before.get(accountId) ?? balance
          before.set(accountId, balance)
          return shown
        })
        return changeReply(change)(honest, contract)
      },
      ['billing.conservation', 'wallet.charge'],
    ],
  },
  'billing.conservation': {
    'balance-in-cents': [
      'The balance is rounded to cents.',
      changeReply(setHeader(usdBalance, value => roundPico(pico(value), 2))),
    ],
    'charged-twice': ['Every charge is applied twice.', changeCharge(charge => ({ pico: charge.pico * 2n }))],
    'not-charged': ['No charge is applied.', () => ({ charge: () => {} })],
    'third-charge-lost': [
      'Every third charge is lost.',
      honest => {
        let charges = 0
        return {
          charge: (account, charge) => {
            if (++charges % 3 !== 0) honest.charge(account, charge)
          },
        }
      },
    ],
    'both-currencies-charged': [
      'Every charge is applied in both USD and DIEM.',
      honest => ({
        charge: (account, charge) => {
          honest.charge(account, { ...charge, currency: 'usd' })
          honest.charge(account, { ...charge, currency: 'diem' })
        },
      }),
    ],
    'dollars-shown-as-diem': [
      'The DIEM balance header has the USD balance.',
      changeReply(
        setHeader(
          diemBalance,
          (_, { headers }, __, { headerPrefix }) => headers[`${headerPrefix}${moneyHeaderNames.usdBalance}`] ?? '0',
        ),
      ),
    ],
    'failure-charged': [
      'A request that fails in the service is charged like the cheapest one.',
      honest => ({
        finish: (reply, state) => {
          const cheapest = { currency: 'usd', pico: 12_500_000n } as const
          if (reply.status >= 500 && state.account !== null) honest.charge(state.account, cheapest)
          return honest.finish(reply, state)
        },
      }),
    ],
    'charge-rounded-up': [
      'Charges are rounded up to whole millionths.',
      changeCharge(charge => ({ pico: roundUp(charge.pico, 1_000_000n) })),
    ],
  },
  'billing.currency': {
    'other-currency-charged': [
      'A charge is applied in the other currency than stated.',
      changeCharge(({ currency }) => ({ currency: currency === 'usd' ? 'diem' : 'usd' })),
    ],
    'diem-stated-as-dollars': [
      'A cost paid in DIEM is stated in USD.',
      changeInput('cost', ({ usd, diem }) => [{ usd: usd + diem, diem: 0 }]),
    ],
    'dollars-stated-as-diem': [
      'A cost paid in USD is stated in DIEM.',
      changeInput('cost', ({ usd, diem }) => [{ usd: 0, diem: usd + diem }]),
    ],
    'half-paid-in-dollars': [
      'Half of a charge in DIEM is applied in USD.',
      honest => ({
        charge: (account, charge) => {
          const half = charge.currency === 'diem' ? charge.pico / 2n : 0n
          honest.charge(account, { currency: 'usd', pico: half })
          honest.charge(account, { ...charge, pico: charge.pico - half })
        },
      }),
    ],
  },
  'rpc.credits.header': {
    'no-credits-on-batches': [
      'Responses to batches do not state their credits.',
      changeReplyIf(isBatch, dropHeaders(rpcCredits)),
    ],
    'credits-with-decimals': ['Credits have two decimals.', changeReply(setHeader(rpcCredits, value => `${value}.00`))],
  },
  'rpc.credits.amount': {
    'tiers-not-heeded': ['Every method is billed as a standard method.', billItem(() => ({ multiplier: 1 }))],
    'one-base-for-all': ['Every chain is billed with a base of 20 credits.', billItem(() => ({ baseCredits: 20 }))],
    'last-item-unbilled': [
      'The last item of a batch is not billed.',
      billBatch(credits => credits.slice(0, -1)),
      ['rpc.batch.error-price'],
    ],
    'first-item-twice-billed': [
      'The first item of a batch is billed twice.',
      billBatch(credits => [credits[0] ?? 0, ...credits]),
    ],
    'advanced-as-standard': [
      'Advanced methods are billed as standard methods.',
      (honest, { rpc }) => ({
        itemCredits: item =>
          honest.itemCredits(item.multiplier === rpc.multipliers.advanced ? { ...item, multiplier: 1 } : item),
      }),
    ],
    'large-as-advanced': ['Large methods are billed as advanced methods.', billAs('large', 'advanced')],
    'standard-as-advanced': ['Standard methods are billed as advanced methods.', billAs('standard', 'advanced')],
    'solana-as-ethereum': otherBase('Solana is billed at the base of Ethereum.', 'solana', 20),
    'starknet-as-solana': otherBase('Starknet is billed at the base of Solana.', 'starknet', 30),
    'evm-one-credit-less': otherBase('EVM networks are billed one credit less.', 'evm', 19),
    'batch-billed-as-one': ['A batch is billed as its first item.', billBatch(credits => credits.slice(0, 1))],
  },
  'rpc.batch.error-price': {
    'failed-item-in-full': [
      'A failing item of a batch has the full price.',
      billItem(({ batched, failed }) => ({ failed: failed && !batched })),
    ],
    'failed-item-for-free': [
      'A failing item of a batch is not billed.',
      changeResult('itemCredits', (credits, { batched, failed }) => (batched && failed ? 0 : credits)),
    ],
    'failed-item-one-more': [
      'A failing item of a batch costs one credit too many.',
      changeResult('itemCredits', (credits, { batched, failed }) => credits + (batched && failed ? 1 : 0)),
    ],
  },
  'rpc.cost.header': {
    'no-cost-on-batches': [
      'Responses to batches do not state their cost.',
      changeReplyIf(isBatch, dropHeaders(rpcCost)),
    ],
    'cost-in-exponents': [
      'The cost is in scientific notation.',
      changeReply(setHeader(rpcCost, value => Number(value).toExponential())),
    ],
    'cost-beyond-numbers': ['The cost is 1e400.', changeReply(setHeader(rpcCost, '1e400'))],
    'cost-not-a-number': ['The cost is NaN.', changeReply(setHeader(rpcCost, 'NaN'))],
    'cost-below-zero': ['The cost is negative, as in a ledger.', changeReply(setHeader(rpcCost, value => `-${value}`))],
    'cost-with-sign': ['The cost has a dollar sign.', changeReply(setHeader(rpcCost, value => `$${value}`))],
  },
  'rpc.cost.amount': {
    'dearer-credits': ['A credit costs 12 % too much.', changeResult('costPicoUsd', cost => (cost * 112n) / 100n)],
    'cost-in-cents': ['The cost is in cents.', changeResult('costPicoUsd', cost => cost * 100n)],
    'cost-one-percent-less': [
      'A credit costs 1 % too little.',
      changeResult('costPicoUsd', cost => (cost * 99n) / 100n),
    ],
    'cost-rounded-to-ten-thousandths': [
      'The cost is rounded up to ten-thousandths of a dollar.',
      changeResult('costPicoUsd', cost => roundUp(cost, 100_000_000n)),
    ],
    'cost-of-one-credit-less': [
      'The cost lacks one credit.',
      changeInput('costPicoUsd', credits => [Math.max(0, credits - 1)]),
    ],
  },
} satisfies Lies
