import type { Contract, Model, ModelTier } from '../../src/contract/contract.ts'
import { contractSchema, limiterAlgorithms, modelTiers } from '../../src/contract/contract.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { formatPico } from '../../src/lib/money.ts'
import { type Random, randomStream } from '../../src/lib/random.ts'

/** A random service: a value for everything that `learn` may find out and that the reference service can serve. */
export function drawProfile(seed: number): Contract {
  const random = randomStream(seed, 'profile')
  const { rpc, chat, limits, errors, idempotency, abuse, billing } = documentedContract
  const maybe = <T>(usual: T, draw: () => T): T => (random.next() < 0.5 ? usual : draw())
  const pick = <T>(...values: readonly [T, ...T[]]): T => values[random.int(values.length)] ?? values[0]
  const priceOf = () => formatPico(BigInt(1 + random.int(999)) * pick(1_000n, 10_000n))
  return contractSchema.parse({
    ...documentedContract,
    name: `drawn-${seed}`,
    headerPrefix: maybe('x-service-', () => `x-${pick('acme', 'toll-road', 'q7')}-`),
    accounts: {
      ...documentedContract.accounts,
      default: maybe(documentedContract.accounts.default, () => drawTiers(random)),
    },
    models: maybe(documentedContract.models, () => drawModels(random)),
    chat: {
      ...chat,
      wrongMediaTypeStatus: maybe(415, () => pick(400, 406, 422)),
      unknownMembers: maybe(chat.unknownMembers, () => 'refused'),
      compression: pick('required', 'optional'),
      stream: {
        ...chat.stream,
        chunkObject: maybe(chat.stream.chunkObject, () => pick('chunk', 'text.delta')),
        doneMarker: maybe('[DONE]', () => pick('[END]', 'done: yes', 'fin')),
      },
    },
    rpc: {
      ...rpc,
      requestsPerMinute: maybe(rpc.requestsPerMinute, () => pick(20, 60, 250, 3_000, null)),
      batchLimit: maybe(100, () => 5 + random.int(600)),
      networks: drawNetworks(random),
      multipliers: {
        standard: 1,
        advanced: maybe(2, () => 1 + random.int(6)),
        large: maybe(4, () => 1 + random.int(12)),
      },
      errorItemCredits: maybe(5, () => random.int(30)),
      singleErrorIsDiscounted: pick(null, true, false),
      usdPerCredit: maybe(rpc.usdPerCredit, priceOf),
      costDecimals: maybe(8, () => 6 + random.int(7)),
    },
    idempotency: { ...idempotency, badKey: pick('rejected', 'ignored') },
    limits: {
      ...limits,
      requestsReset: pick('unix-seconds', 'unix-milliseconds'),
      tokensReset: pick('seconds', 'unix-milliseconds'),
      tokenHeaders: pick(true, false),
      algorithm: pick(null, ...limiterAlgorithms),
    },
    errors: { ...errors, insufficientBalanceCode: maybe('INSUFFICIENT_BALANCE', () => pick('NO_FUNDS', null)) },
    abuse: {
      ...abuse,
      failures: maybe(20, () => 16 + random.int(40)),
      blockMs: pick(30_000, 60_000),
      status: pick(429, 403, 503),
    },
    billing: { ...billing, balanceHeaders: pick(true, false) },
  })
}

function drawTiers(random: Random): Contract['accounts']['default'] {
  const limits = () => ({ requestsPerMinute: 15 + random.int(600), tokensPerMinute: 5_000 + random.int(2_000_000) })
  return { XS: limits(), S: limits(), M: limits(), L: limits() }
}

function drawModels(random: Random): readonly Model[] {
  const price = () => (random.int(2_000) / 100 + 0.01).toFixed(2)
  return Array.from(
    { length: 1 + random.int(12) },
    (_, index): Model => ({
      id: `acme/model-${index}.${random.int(100)}-v1`,
      name: `Acme "${index}" é`,
      tier: modelTiers[random.int(4)] as ModelTier,
      payingOnly: false,
      maxCompletionTokens: 16 + random.int(100_000),
      logprobs: random.next() < 0.5,
      usdPerMillion: {
        input: price(),
        output: price(),
        cacheInput: random.next() < 0.5 ? null : price(),
        cacheWrite: random.next() < 0.5 ? null : price(),
      },
      lifecycle: index > 0 && random.next() < 0.2 ? 'deprecated' : 'current',
    }),
  )
}

/** The documented networks, some of them with other credits, and a few more. A profile cannot remove one. */
function drawNetworks(random: Random): Contract['rpc']['networks'] {
  const known = Object.entries(documentedContract.rpc.networks).map(
    ([slug, network]) =>
      [slug, { ...network, baseCredits: random.next() < 0.3 ? 1 + random.int(60) : network.baseCredits }] as const,
  )
  const others = Array.from(
    { length: random.int(4) },
    (_, index) => [`acme-${index}`, { baseCredits: 1 + random.int(50), family: 'evm' }] as const,
  )
  return Object.fromEntries([...known, ...others])
}
