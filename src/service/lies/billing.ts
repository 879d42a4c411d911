import type { Network } from '../../contract/contract.ts'
import { formatPico, pico, roundPico } from '../../lib/money.ts'
import { isBatch, isRelayed, type Lie, type Lies, lie, replyLie, textOf, withHeader, withoutHeaders } from './lie.ts'

/** The difference in credits may look like another price of the failing items. */
const otherBase = (name: string, text: string, of: Network['family'], baseCredits: number): Lie =>
  lie(
    name,
    text,
    honest => ({ itemCredits: item => honest.itemCredits(item.family === of ? { ...item, baseCredits } : item) }),
    ['rpc.batch.error-price'],
  )

const refusing = (name: string, text: string, isRefused: (key: string) => boolean): Lie =>
  lie(name, text, honest => ({ keyFate: key => (isRefused(key) ? 'rejected' : honest.keyFate(key)) }))

const using = (name: string, text: string, isUsed: (key: string) => boolean): Lie =>
  lie(name, text, honest => ({ keyFate: key => (isUsed(key) ? 'used' : honest.keyFate(key)) }))

export const billingLies = {
  'billing.balance-before': [
    replyLie('balance-after', 'The balance is the one after the request.', (reply, { account }, { headerPrefix }) =>
      account === null ? reply : withHeader(reply, `${headerPrefix}balance-usd`, formatPico(account.picoUsd)),
    ),
    lie(
      'balance-one-request-late',
      'The balance is the one before the request before.',
      (honest, { headerPrefix }) => {
        const header = `${headerPrefix}balance-usd`
        const before = new Map<string, string>()
        return {
          finish: (reply, visit) => {
            const meant = honest.finish(reply, visit)
            const { [header]: balance } = meant.headers
            if (visit.account === null || balance === undefined) return meant
            const place = `${visit.account.tier}/${visit.account.name}`
            const shown = before.get(place) ?? balance
            before.set(place, balance)
            return withHeader(meant, header, shown)
          },
        }
      },
      ['billing.conservation'],
    ),
  ],
  'billing.conservation': [
    replyLie('balance-in-cents', 'The balance is rounded to cents.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}balance-usd`, value => roundPico(pico(value), 2)),
    ),
    lie('charged-twice', 'Every charge is taken twice.', honest => ({
      charge: (account, charge) => honest.charge(account, { ...charge, pico: charge.pico * 2n }),
    })),
    lie('not-charged', 'No charge is taken.', () => ({ charge: () => {} })),
    lie('third-charge-lost', 'Every third charge is lost.', honest => {
      let charges = 0
      return {
        charge: (account, charge) => {
          if (++charges % 3 !== 0) honest.charge(account, charge)
        },
      }
    }),
    lie('both-currencies-charged', 'A charge is taken in dollars and in DIEM.', honest => ({
      charge: (account, charge) => {
        honest.charge(account, { ...charge, currency: 'usd' })
        honest.charge(account, { ...charge, currency: 'diem' })
      },
    })),
    replyLie('dollars-shown-as-diem', 'The DIEM balance is the one of dollars.', (reply, _, { headerPrefix }) =>
      withHeader(reply, `${headerPrefix}balance-diem`, () => reply.headers[`${headerPrefix}balance-usd`] ?? '0'),
    ),
    lie('failure-charged', 'A request that the service could not carry out is charged like the cheapest.', honest => ({
      finish: (reply, visit) => {
        const cheapest = { currency: 'usd', pico: 12_500_000n } as const
        if (reply.status >= 500 && visit.account !== null) honest.charge(visit.account, cheapest)
        return honest.finish(reply, visit)
      },
    })),
    lie('charge-rounded-up', 'Charges are rounded up to whole millionths.', honest => ({
      charge: (account, charge) =>
        honest.charge(account, { ...charge, pico: ((charge.pico + 999_999n) / 1_000_000n) * 1_000_000n }),
    })),
  ],
  'billing.currency': [
    lie('other-currency-charged', 'A charge is taken in the currency that it was not stated in.', honest => ({
      charge: (account, charge) =>
        honest.charge(account, { ...charge, currency: charge.currency === 'usd' ? 'diem' : 'usd' }),
    })),
    lie('diem-stated-as-dollars', 'A cost that is paid in DIEM is stated in dollars.', honest => ({
      cost: cost => honest.cost({ usd: cost.usd + cost.diem, diem: 0 }),
    })),
    lie('dollars-stated-as-diem', 'A cost that is paid in dollars is stated in DIEM.', honest => ({
      cost: cost => honest.cost({ usd: 0, diem: cost.usd + cost.diem }),
    })),
    lie('half-paid-in-dollars', 'Half of a charge in DIEM is taken in dollars.', honest => ({
      charge: (account, charge) => {
        const half = charge.currency === 'diem' ? charge.pico / 2n : 0n
        honest.charge(account, { currency: 'usd', pico: half })
        honest.charge(account, { ...charge, pico: charge.pico - half })
      },
    })),
  ],
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
    // A balance lower by the price of a request may be the balance after it; a charge may also have been taken twice.
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
      'A replay is not marked as one.',
      reply => withoutHeaders(reply, 'idempotent-replayed'),
      ['rpc.replay.charge', 'rpc.replay.expiry.kept', 'billing.conservation'],
    ),
    replyLie(
      'first-use-marked',
      'The first use of a key is marked as a replay.',
      (reply, visit) =>
        isRelayed(reply, visit) && visit.request.headers['idempotency-key'] !== undefined
          ? { ...reply, headers: { ...reply.headers, 'idempotent-replayed': 'true' } }
          : reply,
      ['rpc.replay.charge', 'rpc.replay.per-user', 'billing.balance-before'],
    ),
    replyLie(
      'replay-marked-with-one',
      'The mark of a replay is 1.',
      reply => withHeader(reply, 'idempotent-replayed', '1'),
      ['rpc.replay.charge', 'rpc.replay.expiry.kept', 'billing.conservation'],
    ),
  ],
  'rpc.replay.body': [
    lie('replay-runs-again', 'A replay is run again, on a chain that has moved on.', honest => ({
      replayed: stored => {
        const meant = honest.replayed(stored)
        return { ...meant, text: meant.text.replace(/[0-9a-f](?="?[}\]])/, digit => (digit === '1' ? '2' : '1')) }
      },
    })),
    lie('replay-reformatted', 'A replay is parsed and printed anew.', honest => ({
      replayed: stored => {
        const meant = honest.replayed(stored)
        return { ...meant, text: JSON.stringify(JSON.parse(meant.text), null, 1) }
      },
    })),
  ],
  'rpc.replay.conflict': [
    lie('conflict-from-cache', 'A used key with another body is answered from the cache.', honest => ({
      lookUpReply: (stored, fingerprint) =>
        stored === undefined ? honest.lookUpReply(stored, fingerprint) : { kind: 'replay', reply: stored },
    })),
    lie('conflict-runs', 'A used key with another body is run as a new request.', honest => ({
      lookUpReply: (stored, fingerprint) => {
        const finding = honest.lookUpReply(stored, fingerprint)
        return finding.kind === 'conflict' ? { kind: 'new' } : finding
      },
    })),
    replyLie('conflict-is-409', 'A used key with another body is answered with 409.', reply =>
      reply.status === 400 && textOf(reply).includes('Idempotency-Key was used') ? { ...reply, status: 409 } : reply,
    ),
  ],
  'rpc.replay.any-key': [
    lie(
      'replays-by-api-key',
      'An idempotency key is looked up among those of the API key that it came with.',
      honest => ({
        replayScope: (account, visit) => `${honest.replayScope(account, visit)}/${visit.request.headers.authorization}`,
      }),
    ),
  ],
  'rpc.replay.per-user': [
    lie('keys-for-all', 'An idempotency key is looked up among those of all accounts.', () => ({
      replayScope: () => 'all',
    })),
    lie('keys-by-tier', 'An idempotency key is looked up among those of its account tier.', () => ({
      replayScope: ({ tier }) => tier,
    })),
  ],
  'rpc.replay.key': [
    refusing('key-one-shorter', 'A key may have 254 characters.', key => key.length > 254),
    refusing('key-of-eight-at-least', 'A key must have 8 characters.', key => key.length < 8),
    refusing('key-without-underscore', 'A key must not have an underscore.', key => key.includes('_')),
  ],
  'rpc.replay.bad-key': [
    using('key-one-longer', 'A key may have 256 characters.', key => /^[\w-]{1,256}$/.test(key)),
    using('key-of-any-length', 'A key may have any number of characters.', key => /^[\w-]+$/.test(key)),
    using('key-with-dots', 'A key may have dots.', key => /^[\w.-]{1,255}$/.test(key)),
    using('key-with-spaces', 'A key may have spaces.', key => /^[\w -]{1,255}$/.test(key)),
    using('key-with-colons', 'A key may have colons.', key => /^[\w:-]{1,255}$/.test(key)),
    using('key-of-base64', 'A key may have what base64 has.', key => /^[\w+/=-]{1,255}$/.test(key)),
    lie('empty-key-is-none', 'An empty key is as none at all.', honest => ({
      keyFate: key => (key === '' ? 'ignored' : honest.keyFate(key)),
    })),
    lie('bad-key-is-none', 'A key that does not match is as none at all.', honest => ({
      keyFate: key => (honest.keyFate(key) === 'used' ? 'used' : 'ignored'),
    })),
  ],
  'rpc.replay.expiry.kept': [
    lie('key-expires-early', 'A key expires in half of its lifetime.', honest => ({
      replayTtlMs: honest.replayTtlMs / 2,
    })),
    lie('key-kept-for-a-second', 'A key expires within a second.', () => ({ replayTtlMs: 1_000 })),
  ],
  'rpc.replay.expiry.ends': [
    lie('key-never-expires', 'A key never expires.', () => ({ replayTtlMs: Number.POSITIVE_INFINITY })),
    lie('key-expires-late', 'A key expires after twice its lifetime.', honest => ({
      replayTtlMs: honest.replayTtlMs * 2,
    })),
  ],
} satisfies Lies
