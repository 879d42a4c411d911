type StarknetContext = {
  /** 64 hexadecimal digits that depend on the seed, the network and the name. */
  readonly digest: (name: string) => string
  readonly slug: string
  readonly wallMs: number
  readonly params: readonly unknown[]
}
type Method = (context: StarknetContext) => unknown

const secondsPerBlock = 30
const knownBlock = { number: 600_000, timestamp: 1_709_000_000 }

/** A number below the field's prime, without zeros at its start. */
const felt = ({ digest }: StarknetContext, name: string): string => `0x1${digest(name).slice(0, 60)}`

const headOf = ({ wallMs }: StarknetContext): number =>
  knownBlock.number + Math.max(0, Math.floor((wallMs / 1000 - knownBlock.timestamp) / secondsPerBlock))

const price = { price_in_fri: '0x174876e800', price_in_wei: '0x3b9aca00' }

export const starknetMethods: Readonly<Record<string, Method>> = {
  starknet_blockNumber: headOf,
  starknet_call: context => [felt(context, `call/${JSON.stringify(context.params)}`)],
  starknet_chainId: ({ slug }) =>
    `0x${Buffer.from(slug.endsWith('mainnet') ? 'SN_MAIN' : 'SN_SEPOLIA').toString('hex')}`,
  starknet_getBlockWithTxs: context => {
    const number = headOf(context)
    return {
      status: 'ACCEPTED_ON_L2',
      block_hash: felt(context, `block/${number}`),
      parent_hash: felt(context, `block/${number - 1}`),
      block_number: number,
      new_root: felt(context, `root/${number}`),
      timestamp: knownBlock.timestamp + (number - knownBlock.number) * secondsPerBlock,
      sequencer_address: felt(context, 'sequencer'),
      l1_gas_price: price,
      l2_gas_price: price,
      l1_data_gas_price: price,
      l1_da_mode: 'BLOB',
      starknet_version: '0.13.5',
      transactions: [],
    }
  },
  starknet_getNonce: () => '0x7',
}
