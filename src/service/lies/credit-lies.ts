import type { Network } from '../../contract/contract.ts'
import { pico } from '../../lib/money.ts'
import { type Lie, type Lies, lie, replyLie } from './lie.ts'
import { isBatch, withHeader, withoutHeaders } from './reply-edit.ts'

/** The difference that it makes may be that of another price of the failing items. */
const otherBase = (name: string, says: string, of: Network['family'], baseCredits: number): Lie =>
  lie(
    name,
    says,
    honest => ({ itemCredits: item => honest.itemCredits(item.family === of ? { ...item, baseCredits } : item) }),
    ['rpc.batch.error-price'],
  )

export const creditLies = {
  'rpc.credits.header': [
    replyLie('no-credits-on-batches', 'Answers to batches do not state their credits.', (reply, _, { headerPrefix }) =>
      isBatch(reply) ? withoutHeaders(reply, `${headerPrefix}rpc-credits`) : reply,
    ),
    replyLie('credits-with-decimals', 'Credits have two decimals.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}rpc-credits`, value => `${value}.00`),
    ),
  ],
  'rpc.credits.amount': [
    lie('tiers-not-heeded', 'Every method is billed as a standard one.', honest => ({
      itemCredits: item => honest.itemCredits({ ...item, multiplier: 1 }),
    })),
    lie('one-base-for-all', 'Every chain is billed at 20 credits.', honest => ({
      itemCredits: item => honest.itemCredits({ ...item, baseCredits: 20 }),
    })),
    lie(
      'last-item-unbilled',
      'The last item of a batch is not billed.',
      honest => ({
        totalCredits: credits => honest.totalCredits(credits.length > 1 ? credits.slice(0, -1) : credits),
      }),
      ['rpc.batch.error-price'],
    ),
    lie('first-item-twice-billed', 'The first item of a batch is billed twice.', honest => ({
      totalCredits: credits => honest.totalCredits(credits.length > 1 ? [credits[0] ?? 0, ...credits] : credits),
    })),
    lie('advanced-as-standard', 'Advanced methods are billed as standard ones.', (honest, { rpc }) => ({
      itemCredits: item =>
        honest.itemCredits(item.multiplier === rpc.multipliers.advanced ? { ...item, multiplier: 1 } : item),
    })),
    lie('large-as-advanced', 'Large methods are billed as advanced ones.', (honest, { rpc }) => ({
      itemCredits: item =>
        honest.itemCredits(
          item.multiplier === rpc.multipliers.large ? { ...item, multiplier: rpc.multipliers.advanced } : item,
        ),
    })),
    lie('standard-as-advanced', 'Standard methods are billed as advanced ones.', (honest, { rpc }) => ({
      itemCredits: item =>
        honest.itemCredits(
          item.multiplier === rpc.multipliers.standard ? { ...item, multiplier: rpc.multipliers.advanced } : item,
        ),
    })),
    otherBase('solana-as-ethereum', 'Solana is billed at the base of Ethereum.', 'solana', 20),
    otherBase('starknet-as-solana', 'Starknet is billed at the base of Solana.', 'starknet', 30),
    otherBase('evm-one-credit-less', 'EVM networks are billed one credit less.', 'evm', 19),
    lie('batch-billed-as-one', 'A batch is billed as its first item.', honest => ({
      totalCredits: credits => honest.totalCredits(credits.slice(0, 1)),
    })),
  ],
  'rpc.batch.error-price': [
    lie('failed-item-in-full', 'A failing item of a batch is billed in full.', honest => ({
      itemCredits: item => honest.itemCredits(item.batched ? { ...item, failed: false } : item),
    })),
    lie('failed-item-for-free', 'A failing item of a batch is not billed.', honest => ({
      itemCredits: item => (item.batched && item.failed ? 0 : honest.itemCredits(item)),
    })),
    lie('failed-item-one-more', 'A failing item of a batch is billed one credit more.', honest => ({
      itemCredits: item => honest.itemCredits(item) + (item.batched && item.failed ? 1 : 0),
    })),
  ],
  'rpc.cost.header': [
    replyLie('no-cost-on-batches', 'Answers to batches do not state their cost.', (reply, _, { headerPrefix }) =>
      isBatch(reply) ? withoutHeaders(reply, `${headerPrefix}rpc-cost-usd`) : reply,
    ),
    replyLie('cost-in-exponents', 'The cost is in scientific notation.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}rpc-cost-usd`, value => Number(value).toExponential()),
    ),
    replyLie('cost-with-sign', 'The cost has a dollar sign.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}rpc-cost-usd`, value => `$${value}`),
    ),
  ],
  'rpc.cost.amount': [
    lie('dearer-credits', 'A credit costs twelve percent more.', honest => ({
      costPicoUsd: credits => (honest.costPicoUsd(credits) * 112n) / 100n,
    })),
    lie('cost-in-cents', 'The cost is in cents.', honest => ({
      costPicoUsd: credits => honest.costPicoUsd(credits) * 100n,
    })),
    lie('cost-one-percent-less', 'A credit costs one percent less.', honest => ({
      costPicoUsd: credits => (honest.costPicoUsd(credits) * 99n) / 100n,
    })),
    lie('cost-of-one-credit-less', 'One credit is not in the cost.', honest => ({
      costPicoUsd: credits => honest.costPicoUsd(Math.max(0, credits - 1)),
    })),
  ],
  'rpc.replay.charge': [
    // A balance that falls by the price of a request may be the one after it; and a charge may have been taken twice.
    lie(
      'replay-charged-again',
      'A replay is charged like the first request.',
      () => ({ replayChargePicoUsd: ({ costUsd }) => pico(costUsd) }),
      ['billing.balance-before', 'billing.conservation'],
    ),
    lie('replay-charged-a-little', 'A replay is charged like a failing item.', (honest, { rpc }) => ({
      replayChargePicoUsd: () => honest.costPicoUsd(rpc.errorItemCredits),
    })),
  ],
} as const satisfies Lies
