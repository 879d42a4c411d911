import type { Network } from '../../contract/contract.ts'
import { formatPico, pico, roundPico } from '../../lib/money.ts'
import {
  isBatch,
  isNodeReply,
  type Lie,
  type Lies,
  lie,
  replyLie,
  replyText,
  withHeader,
  withoutHeaders,
} from './lie.ts'

/** A fault in the base credits can look like a wrong price of failing items. */
const otherBase = (name: string, text: string, of: Network['family'], baseCredits: number): Lie =>
  lie(
    name,
    text,
    honest => ({ itemCredits: item => honest.itemCredits(item.family === of ? { ...item, baseCredits } : item) }),
    ['rpc.batch.error-price'],
  )

const rejectsKey = (name: string, text: string, isRejected: (key: string) => boolean): Lie =>
  lie(name, text, honest => ({ keyFate: key => (isRejected(key) ? 'rejected' : honest.keyFate(key)) }))

const acceptsKey = (name: string, text: string, isAccepted: (key: string) => boolean): Lie =>
  lie(name, text, honest => ({ keyFate: key => (isAccepted(key) ? 'used' : honest.keyFate(key)) }))

export const billingLies = {
  'billing.balance-before': [
    replyLie(
      'balance-after',
      'The balance header has the balance after the request.',
      (reply, { account }, { headerPrefix }) =>
        account === null ? reply : withHeader(reply, `${headerPrefix}balance-usd`, formatPico(account.picoUsd)),
    ),
    lie(
      'balance-one-request-late',
      'The balance header has the balance before the previous request.',
      (honest, { headerPrefix }) => {
        const header = `${headerPrefix}balance-usd`
        const before = new Map<string, string>()
        return {
          finish: (reply, state) => {
            const finished = honest.finish(reply, state)
            const { [header]: balance } = finished.headers
            if (state.account === null || balance === undefined) return finished
            const accountId = `${state.account.tier}/${state.account.name}`
            const shown = before.get(accountId) ?? balance
            before.set(accountId, balance)
            return withHeader(finished, header, shown)
          },
        }
      },
      ['billing.conservation', 'wallet.charge'],
    ),
  ],
  'billing.conservation': [
    replyLie('balance-in-cents', 'The balance is rounded to cents.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}balance-usd`, value => roundPico(pico(value), 2)),
    ),
    lie('charged-twice', 'Every charge is applied twice.', honest => ({
      charge: (account, charge) => honest.charge(account, { ...charge, pico: charge.pico * 2n }),
    })),
    lie('not-charged', 'No charge is applied.', () => ({ charge: () => {} })),
    lie('third-charge-lost', 'Every third charge is lost.', honest => {
      let charges = 0
      return {
        charge: (account, charge) => {
          if (++charges % 3 !== 0) honest.charge(account, charge)
        },
      }
    }),
    lie('both-currencies-charged', 'Every charge is applied in both USD and DIEM.', honest => ({
      charge: (account, charge) => {
        honest.charge(account, { ...charge, currency: 'usd' })
        honest.charge(account, { ...charge, currency: 'diem' })
      },
    })),
    replyLie('dollars-shown-as-diem', 'The DIEM balance header has the USD balance.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}balance-diem`, () => reply.headers[`${headerPrefix}balance-usd`] ?? '0'),
    ),
    lie('failure-charged', 'A request that fails in the service is charged like the cheapest one.', honest => ({
      finish: (reply, state) => {
        const cheapest = { currency: 'usd', pico: 12_500_000n } as const
        if (reply.status >= 500 && state.account !== null) honest.charge(state.account, cheapest)
        return honest.finish(reply, state)
      },
    })),
    lie('charge-rounded-up', 'Charges are rounded up to whole millionths.', honest => ({
      charge: (account, charge) =>
        honest.charge(account, { ...charge, pico: ((charge.pico + 999_999n) / 1_000_000n) * 1_000_000n }),
    })),
  ],
  'billing.currency': [
    lie('other-currency-charged', 'A charge is applied in the other currency than stated.', honest => ({
      charge: (account, charge) =>
        honest.charge(account, { ...charge, currency: charge.currency === 'usd' ? 'diem' : 'usd' }),
    })),
    lie('diem-stated-as-dollars', 'A cost paid in DIEM is stated in USD.', honest => ({
      cost: cost => honest.cost({ usd: cost.usd + cost.diem, diem: 0 }),
    })),
    lie('dollars-stated-as-diem', 'A cost paid in USD is stated in DIEM.', honest => ({
      cost: cost => honest.cost({ usd: 0, diem: cost.usd + cost.diem }),
    })),
    lie('half-paid-in-dollars', 'Half of a charge in DIEM is applied in USD.', honest => ({
      charge: (account, charge) => {
        const half = charge.currency === 'diem' ? charge.pico / 2n : 0n
        honest.charge(account, { currency: 'usd', pico: half })
        honest.charge(account, { ...charge, pico: charge.pico - half })
      },
    })),
  ],
  'rpc.credits.header': [
    replyLie(
      'no-credits-on-batches',
      'Responses to batches do not state their credits.',
      (reply, _, { headerPrefix }) => (isBatch(reply) ? withoutHeaders(reply, `${headerPrefix}rpc-credits`) : reply),
    ),
    replyLie('credits-with-decimals', 'Credits have two decimals.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}rpc-credits`, value => `${value}.00`),
    ),
  ],
  'rpc.credits.amount': [
    lie('tiers-not-heeded', 'Every method is billed as a standard method.', honest => ({
      itemCredits: item => honest.itemCredits({ ...item, multiplier: 1 }),
    })),
    lie('one-base-for-all', 'Every chain is billed with a base of 20 credits.', honest => ({
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
    lie('advanced-as-standard', 'Advanced methods are billed as standard methods.', (honest, { rpc }) => ({
      itemCredits: item =>
        honest.itemCredits(item.multiplier === rpc.multipliers.advanced ? { ...item, multiplier: 1 } : item),
    })),
    lie('large-as-advanced', 'Large methods are billed as advanced methods.', (honest, { rpc }) => ({
      itemCredits: item =>
        honest.itemCredits(
          item.multiplier === rpc.multipliers.large ? { ...item, multiplier: rpc.multipliers.advanced } : item,
        ),
    })),
    lie('standard-as-advanced', 'Standard methods are billed as advanced methods.', (honest, { rpc }) => ({
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
    lie('failed-item-in-full', 'A failing item of a batch has the full price.', honest => ({
      itemCredits: item => honest.itemCredits(item.batched ? { ...item, failed: false } : item),
    })),
    lie('failed-item-for-free', 'A failing item of a batch is not billed.', honest => ({
      itemCredits: item => (item.batched && item.failed ? 0 : honest.itemCredits(item)),
    })),
    lie('failed-item-one-more', 'A failing item of a batch costs one credit too many.', honest => ({
      itemCredits: item => honest.itemCredits(item) + (item.batched && item.failed ? 1 : 0),
    })),
  ],
  'rpc.cost.header': [
    replyLie('no-cost-on-batches', 'Responses to batches do not state their cost.', (reply, _, { headerPrefix }) =>
      isBatch(reply) ? withoutHeaders(reply, `${headerPrefix}rpc-cost-usd`) : reply,
    ),
    replyLie('cost-in-exponents', 'The cost is in scientific notation.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}rpc-cost-usd`, value => Number(value).toExponential()),
    ),
    replyLie('cost-beyond-numbers', 'The cost is 1e400.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}rpc-cost-usd`, '1e400'),
    ),
    replyLie('cost-not-a-number', 'The cost is NaN.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}rpc-cost-usd`, 'NaN'),
    ),
    replyLie('cost-below-zero', 'The cost is negative, as in a ledger.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}rpc-cost-usd`, value => `-${value}`),
    ),
    replyLie('cost-with-sign', 'The cost has a dollar sign.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}rpc-cost-usd`, value => `$${value}`),
    ),
  ],
  'rpc.cost.amount': [
    lie('dearer-credits', 'A credit costs 12 % too much.', honest => ({
      costPicoUsd: credits => (honest.costPicoUsd(credits) * 112n) / 100n,
    })),
    lie('cost-in-cents', 'The cost is in cents.', honest => ({
      costPicoUsd: credits => honest.costPicoUsd(credits) * 100n,
    })),
    lie('cost-one-percent-less', 'A credit costs 1 % too little.', honest => ({
      costPicoUsd: credits => (honest.costPicoUsd(credits) * 99n) / 100n,
    })),
    lie('cost-rounded-to-ten-thousandths', 'The cost is rounded up to ten-thousandths of a dollar.', honest => ({
      costPicoUsd: credits => ((honest.costPicoUsd(credits) + 99_999_999n) / 100_000_000n) * 100_000_000n,
    })),
    lie('cost-of-one-credit-less', 'The cost lacks one credit.', honest => ({
      costPicoUsd: credits => honest.costPicoUsd(Math.max(0, credits - 1)),
    })),
  ],
  'rpc.replay.charge': [
    // The balance before a request, one price too low, can be the balance after it. It can also be a double charge.
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
  'rpc.replay.header': [
    replyLie(
      'replay-unmarked',
      'A replay has no replay header.',
      reply => withoutHeaders(reply, 'idempotent-replayed'),
      ['rpc.replay.charge', 'rpc.replay.expiry.kept', 'billing.conservation'],
    ),
    replyLie(
      'first-use-marked',
      'The first use of a key is marked as a replay.',
      (reply, state) =>
        isNodeReply(reply, state) && state.request.headers['idempotency-key'] !== undefined
          ? { ...reply, headers: { ...reply.headers, 'idempotent-replayed': 'true' } }
          : reply,
      ['rpc.replay.charge', 'rpc.replay.per-user', 'billing.balance-before'],
    ),
    replyLie(
      'replay-marked-with-one',
      'The replay header is 1 instead of true.',
      reply => withHeader(reply, 'idempotent-replayed', '1'),
      ['rpc.replay.charge', 'rpc.replay.expiry.kept', 'billing.conservation'],
    ),
  ],
  'rpc.replay.body': [
    lie('replay-runs-again', 'A replay runs again and returns a newer result.', honest => ({
      replayed: stored => {
        const reply = honest.replayed(stored)
        return { ...reply, text: reply.text.replace(/[0-9a-f](?="?[}\]])/, digit => (digit === '1' ? '2' : '1')) }
      },
    })),
    lie('replay-reformatted', 'A replay is reformatted JSON.', honest => ({
      replayed: stored => {
        const reply = honest.replayed(stored)
        return { ...reply, text: JSON.stringify(JSON.parse(reply.text), null, 1) }
      },
    })),
  ],
  'rpc.replay.conflict': [
    lie('conflict-from-cache', 'A used key with another body gets the cached reply.', honest => ({
      lookUpReply: (stored, fingerprint) =>
        stored === undefined ? honest.lookUpReply(stored, fingerprint) : { kind: 'replay', reply: stored },
    })),
    lie('conflict-runs', 'A used key with another body runs as a new request.', honest => ({
      lookUpReply: (stored, fingerprint) => {
        const finding = honest.lookUpReply(stored, fingerprint)
        return finding.kind === 'conflict' ? { kind: 'new' } : finding
      },
    })),
    replyLie('conflict-is-409', 'A used key with another body returns 409.', reply =>
      reply.status === 400 && replyText(reply).includes('Idempotency-Key was used') ? { ...reply, status: 409 } : reply,
    ),
  ],
  'rpc.replay.any-key': [
    lie('replays-by-api-key', 'Each API key of an account has its own idempotency keys.', honest => ({
      replayScope: (account, state) => `${honest.replayScope(account, state)}/${state.request.headers.authorization}`,
    })),
  ],
  'rpc.replay.per-user': [
    lie('keys-for-all', 'All accounts share idempotency keys.', () => ({
      replayScope: () => 'all',
    })),
    lie('keys-by-tier', 'All accounts of a tier share idempotency keys.', () => ({
      replayScope: ({ tier }) => tier,
    })),
  ],
  'rpc.replay.key': [
    rejectsKey('key-one-shorter', 'A key may have at most 254 characters.', key => key.length > 254),
    rejectsKey('key-of-eight-at-least', 'A key must have at least 8 characters.', key => key.length < 8),
    lie('key-cut-at-64', 'Only the first 64 characters of a key count.', () => ({
      cachedKey: key => key.slice(0, 64),
    })),
    lie('key-cut-at-254', 'Only the first 254 characters of a key count.', () => ({
      cachedKey: key => key.slice(0, 254),
    })),
    lie('key-cut-from-its-start', 'Only the last 254 characters of a key count.', () => ({
      cachedKey: key => key.slice(-254),
    })),
    lie('key-without-case', 'The case of letters in a key does not count.', () => ({
      cachedKey: key => key.toLowerCase(),
    })),
    lie('key-with-one-mark', 'Hyphens and underscores of a key are the same.', () => ({
      cachedKey: key => key.replaceAll('-', '_'),
    })),
    lie(
      'key-without-case-replays',
      'The case of letters in a key does not count, and every used key gets the cached reply.',
      honest => ({
        cachedKey: key => key.toLowerCase(),
        lookUpReply: (stored, fingerprint) =>
          stored === undefined ? honest.lookUpReply(stored, fingerprint) : { kind: 'replay', reply: stored },
      }),
      ['rpc.replay.conflict'],
    ),
    rejectsKey('key-without-underscore', 'A key must not have an underscore.', key => key.includes('_')),
  ],
  'rpc.replay.bad-key': [
    acceptsKey('key-one-longer', 'A key may have 256 characters.', key => /^[\w-]{1,256}$/.test(key)),
    acceptsKey('key-of-any-length', 'A key may have any number of characters.', key => /^[\w-]+$/.test(key)),
    acceptsKey('key-with-dots', 'A key may have dots.', key => /^[\w.-]{1,255}$/.test(key)),
    acceptsKey('key-with-spaces', 'A key may have spaces.', key => /^[\w -]{1,255}$/.test(key)),
    acceptsKey('key-with-colons', 'A key may have colons.', key => /^[\w:-]{1,255}$/.test(key)),
    acceptsKey('key-of-base64', 'A key may have the characters of base64.', key => /^[\w+/=-]{1,255}$/.test(key)),
    lie('empty-key-is-none', 'An empty key is ignored.', honest => ({
      keyFate: key => (key === '' ? 'ignored' : honest.keyFate(key)),
    })),
    lie('bad-key-is-none', 'An invalid key is ignored.', honest => ({
      keyFate: key => (honest.keyFate(key) === 'used' ? 'used' : 'ignored'),
    })),
  ],
  'rpc.replay.expiry.kept': [
    lie('key-expires-early', 'A key expires after half its lifetime.', honest => ({
      replayTtlMs: honest.replayTtlMs / 2,
    })),
    lie('key-kept-for-a-second', 'A key expires after one second.', () => ({ replayTtlMs: 1_000 })),
  ],
  'rpc.replay.expiry.ends': [
    lie('key-never-expires', 'A key never expires.', () => ({ replayTtlMs: Number.POSITIVE_INFINITY })),
    lie('key-expires-late', 'A key expires after twice its lifetime.', honest => ({
      replayTtlMs: honest.replayTtlMs * 2,
    })),
  ],
} satisfies Lies
