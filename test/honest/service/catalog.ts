import type { Variant } from './variant.ts'

export type Tier = 'XS' | 'S' | 'M' | 'L'

/** Prices in nanodollars: billionths of a dollar. A token of one dollar per million costs 1,000. */
export type Prices = {
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly written: number
}

export type Model = {
  readonly id: string
  readonly name: string
  readonly tier: Tier
  readonly longest: number
  readonly hasLogprobs: boolean
  /** How it thinks: not at all, in tags inside its text, or apart from it. */
  readonly thinking: 'none' | 'tags' | 'apart'
  readonly forPayers: boolean
  readonly retires: string | null
  readonly prices: Prices
  readonly requests: number
  readonly tokens: number
}

type Row = readonly [id: string, name: string, tier: Tier, longest: number, more?: Partial<Model> | undefined]

const few: readonly Row[] = [
  ['minnow', 'Minnow', 'XS', 3000, { hasLogprobs: true }],
  ['perch', 'Perch', 'S', 6000],
  ['perch-gold', 'Perch Gold', 'S', 6000, { forPayers: true }],
  ['salmon', 'Salmon', 'M', 9000, { thinking: 'tags' }],
  ['whale', 'Whale', 'L', 20_000, { thinking: 'apart' }],
  ['tadpole', 'Tadpole (old)', 'XS', 2000, { retires: '2027-03-01' }],
]

const many: readonly Row[] = [
  ['trout-2', 'Trout 2', 'M', 8000],
  ['trout-3', 'Trout 3', 'M', 8000, { thinking: 'tags', hasLogprobs: true }],
  ['shark-1', 'Shark 1', 'L', 32_000, { thinking: 'apart', hasLogprobs: true }],
  ['shark-2', 'Shark 2', 'L', 32_000],
  ['krill-1', 'Krill 1', 'XS', 1500],
  ['krill-2', 'Krill 2', 'XS', 1600],
  ['krill-3', 'Krill 3', 'XS', 1700, { retires: '2027-01-31' }],
  ['bass-s', 'Bass small', 'S', 4000],
  ['bass-m', 'Bass medium', 'S', 4500],
  ['bass-pro', 'Bass Pro', 'S', 4500, { forPayers: true }],
]

const slashed: readonly Row[] = few.map(([id, name, tier, longest, more]) => [
  `fish/${id}@2026.1`,
  `${name} (${tier})`,
  tier,
  longest,
  more,
])

const rows: Readonly<Record<Variant['models'], readonly Row[]>> = {
  few,
  many,
  'no-large': few.filter(([, , tier]) => tier !== 'L'),
  'slashed-ids': slashed,
}

const documented = {
  XS: [500, 1_000_000],
  S: [75, 750_000],
  M: [50, 750_000],
  L: [20, 500_000],
} as const satisfies Record<Tier, readonly [requests: number, tokens: number]>

const lower = {
  XS: [240, 600_000],
  S: [90, 400_000],
  M: [45, 350_000],
  L: [18, 200_000],
} as const satisfies Record<Tier, readonly [requests: number, tokens: number]>

const prices = {
  first: {
    XS: { input: 200, output: 800, cached: 50, written: 250 },
    S: { input: 400, output: 1600, cached: 100, written: 500 },
    M: { input: 600, output: 2400, cached: 150, written: 750 },
    L: { input: 1000, output: 4000, cached: 250, written: 1250 },
  },
  second: {
    XS: { input: 55, output: 333, cached: 11, written: 70 },
    S: { input: 777, output: 1111, cached: 77, written: 990 },
    M: { input: 900, output: 900, cached: 900, written: 900 },
    L: { input: 1250, output: 9990, cached: 125, written: 1500 },
  },
} as const satisfies Record<Variant['prices'], Record<Tier, Prices>>

const perLookup = { first: 10_000_000, second: 4_000_000 } as const

export type Chain = { readonly slug: string; readonly family: 'evm' | 'solana' | 'starknet'; readonly base: number }

const evmNets = {
  ethereum: ['mainnet', 'sepolia', 'holesky'],
  base: ['mainnet', 'sepolia'],
  arbitrum: ['mainnet', 'sepolia'],
  optimism: ['mainnet', 'sepolia'],
  polygon: ['mainnet', 'amoy'],
  linea: ['mainnet', 'sepolia'],
  avalanche: ['mainnet', 'fuji'],
  bsc: ['mainnet', 'testnet'],
  robinhood: ['mainnet'],
  zksync: ['mainnet', 'sepolia'],
} as const

function chainsOf(kind: Variant['networks'], own: boolean): readonly Chain[] {
  const evm = Object.entries(evmNets).flatMap(([chain, nets]) =>
    nets.map(net => ({ slug: `${chain}-${net}`, family: 'evm' as const, base: chain === 'zksync' ? 30 : 20 })),
  )
  const other = (['mainnet', 'devnet'] as const).map(net => ({
    slug: `solana-${net}`,
    family: 'solana' as const,
    base: 30,
  }))
  const starknet = { slug: 'starknet-mainnet', family: 'starknet' as const, base: 20 }
  const all: readonly Chain[] = [...evm, ...other, starknet]
  const chosen = {
    many: all,
    few: all.filter(({ slug }) => ['ethereum-mainnet', 'polygon-mainnet', 'solana-mainnet'].includes(slug)),
    'other-slugs': all.map(chain => ({ ...chain, slug: chain.slug.replace(/^ethereum-/, 'eth-').replace('-', '_') })),
  }[kind]
  return own ? chosen.map((chain, index) => ({ ...chain, base: chain.base + 5 + 2 * (index % 4) })) : chosen
}

export type Catalog = {
  readonly models: readonly Model[]
  readonly chains: readonly Chain[]
  readonly rpcRequests: number
  /** Requests per window of everything else. */
  readonly others: Readonly<
    Record<'image' | 'audio' | 'embedding' | 'video-queue' | 'video-retrieve' | 'other', number>
  >
  readonly lookup: number
  /** The price of a credit in nanodollars. */
  readonly credit: number
}

export function catalogOf(variant: Variant, tokensOfM: number | null): Catalog {
  const table = variant.limits === 'documented' ? documented : lower
  return {
    models: rows[variant.models].map(([id, name, tier, longest, more], index) => {
      const extra = variant.limits === 'per-model' ? index + 1 : 0
      return {
        id,
        name,
        tier,
        longest,
        hasLogprobs: false,
        thinking: 'none',
        forPayers: false,
        retires: null,
        ...more,
        prices: prices[variant.prices][tier],
        requests: table[tier][0] + extra,
        tokens: tier === 'M' && tokensOfM !== null ? tokensOfM : table[tier][1] + 1000 * extra,
      }
    }),
    chains: chainsOf(variant.networks, variant.baseCredits === 'own'),
    rpcRequests: variant.rpcLimit,
    others: { image: 20, audio: 60, embedding: 500, 'video-queue': 40, 'video-retrieve': 120, other: 1200 },
    lookup: perLookup[variant.prices],
    credit: variant.creditPrice === 'exact' ? 625 : 626,
  }
}
