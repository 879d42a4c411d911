import { type Contract, methodTier, type Network } from '../contract.ts'
import { expect400, mostExpensiveCall, networkOf, type Probe, type Probes, rpcItem, rpcRequest } from '../probe.ts'
import { unsupportedMethods } from '../rpc-methods.ts'
import { isAssumed } from '../sources.ts'

type Family = Network['family']

type NetworkOf = ReturnType<typeof networkOf>

/** Each probe asks the next network of its family, since a service may check the methods of some networks alone. */
function inTurn(family: Family): () => NetworkOf {
  let place = 0
  return () => networkOf(family, place++)
}

const next = { evm: inTurn('evm'), solana: inTurn('solana'), starknet: inTurn('starknet') }

const isListed = ({ rpc }: Contract, network: string): boolean => Object.hasOwn(rpc.networks, network)

/** A method that the service lists as unsupported, or that is not on the allow-list. */
function single(method: string, clause: Probe['clause'] = 'rpc.unsupported-method', family: Family = 'evm'): Probe {
  const network = next[family]()
  return {
    clause,
    as: 'caller',
    draws: 'rpc',
    promised: contract =>
      isListed(contract, network(contract)) && methodTier(contract, network(contract), method) === null ? [400] : [],
    names: [],
    request: rpcRequest(() => rpcItem(method), {}, network),
  }
}

const websocket = (method: string, family: Family = 'evm') => single(method, 'rpc.unsupported-method.websocket', family)
const filter = (method: string) => single(method, 'rpc.unsupported-method.filter')
const keys = (method: string) => single(method, 'rpc.unsupported-method.keys')

/** The document has one allow-list. Only a profile says that each family has its own. */
function otherFamily(method: string, family: Family): Probe {
  const probe = single(method, 'rpc.unsupported-method.family', family)
  const promised = (contract: Contract) =>
    isAssumed(contract, `rpc.methods.${family}`) ? [] : probe.promised(contract)
  return { ...probe, promised }
}

/** A batch that must be rejected because of some of its methods. The message must name each of them. */
const batch = (methods: readonly string[], offending: readonly string[] = methods, family: Family = 'evm'): Probe => ({
  clause: 'rpc.batch.rejected',
  as: 'caller',
  draws: 'rpc',
  promised: expect400,
  names: offending,
  request: rpcRequest(() => methods.map((method, index) => rpcItem(method, index + 1)), {}, next[family]()),
})

const tooLong = (method: string, family: Family): Probe => ({
  clause: 'rpc.batch.limit',
  as: 'caller',
  draws: 'rpc',
  promised: expect400,
  names: [],
  request: rpcRequest(
    ({ rpc }) => Array.from({ length: rpc.batchLimit + 1 }, (_, index) => rpcItem(method, index + 1)),
    {},
    networkOf(family),
  ),
})

/** A request that is not a JSON-RPC 2.0 call. */
const malformed = (body: unknown): Probe => ({
  clause: 'rpc.request',
  as: 'caller',
  draws: 'rpc',
  promised: ({ rpc }) => (rpc.invalidRequestStatus === null ? [] : [rpc.invalidRequestStatus]),
  names: [],
  request: rpcRequest(() => body),
})

/** A method that the service recommends instead of an unsupported one. The node rejects the missing parameters. */
const alternative = (method: string): Probe => ({
  clause: 'rpc.alternatives',
  as: 'caller',
  draws: 'rpc',
  promised: contract => (methodTier(contract, networkOf('evm')(contract), method) === null ? [] : [200]),
  names: [],
  credits: mostExpensiveCall,
  request: rpcRequest(() => rpcItem(method)),
})

/** A call that a network of the list must not refuse. */
const call = (method: string, family: Family, place: number, statuses: readonly number[] = [200]): Probe => ({
  clause: 'rpc.network.listed',
  as: 'caller',
  draws: 'rpc',
  promised: contract => {
    const network = networkOf(family, place)(contract)
    const isKnown = isListed(contract, network) && !isAssumed(contract, 'rpc.networks')
    return isKnown && methodTier(contract, network, method) !== null ? statuses : []
  },
  names: [],
  credits: mostExpensiveCall,
  request: rpcRequest(() => rpcItem(method), {}, networkOf(family, place)),
})

/** Calls whose ids a careless program does not return as they are. */
const withIds = (...ids: readonly (number | string)[]): Probe => ({
  clause: 'rpc.id',
  as: 'caller',
  draws: 'rpc',
  promised: () => [200],
  names: [],
  credits: contract => mostExpensiveCall(contract) * ids.length,
  request: rpcRequest(() => {
    const calls = ids.map(id => ({ ...rpcItem('eth_blockNumber'), id }))
    return calls.length === 1 ? calls[0] : calls
  }),
})

const {
  'websocket-only': subscriptions,
  'websocket-only-solana': solanaSubscriptions,
  'stateful-filter': filters,
  'key-holding': holders,
} = unsupportedMethods

/** The network is part of the path, so where the document asks for a 400, there may also be no such path. */
const unknownNetworkStatuses = (status: number | null): readonly number[] =>
  status === null ? [] : status === 400 ? [400, 404] : [status]

/** One method of each unsupported category, plus one unknown method. */
const mixed = ['eth_newFilter', 'eth_accounts', 'eth_subscribe', 'eth_noSuchMethod'] as const
const manyUnlisted = Array.from({ length: 25 }, (_, index) => `eth_noSuch${String.fromCharCode(65 + index)}`)

export const rpcProbes = {
  'websocket-method': websocket('eth_subscribe'),
  'eth-unsubscribe': websocket('eth_unsubscribe'),
  'solana-account-subscribe': websocket('accountSubscribe', 'solana'),
  'solana-logs-unsubscribe': websocket('logsUnsubscribe', 'solana'),
  'solana-signature-subscribe': websocket('signatureSubscribe', 'solana'),
  'filter-method': filter('eth_newFilter'),
  'eth-get-filter-changes': filter('eth_getFilterChanges'),
  'eth-get-filter-logs': filter('eth_getFilterLogs'),
  'eth-uninstall-filter': filter('eth_uninstallFilter'),
  'eth-new-block-filter': filter('eth_newBlockFilter'),
  'eth-new-pending-transaction-filter': filter('eth_newPendingTransactionFilter'),
  'key-holding-method': keys('eth_accounts'),
  'eth-sign': keys('eth_sign'),
  'eth-mining': keys('eth_mining'),
  'eth-hashrate': keys('eth_hashrate'),
  'eth-get-work': keys('eth_getWork'),
  'eth-submit-work': keys('eth_submitWork'),
  'unlisted-method': single('eth_noSuchMethod'),
  /** Every JavaScript object has this property, but no allow-list has it. */
  'inherited-method': single('constructor'),
  /** Names that only resemble a listed one. */
  'method-in-other-case': single('ETH_blockNumber'),
  'net-method-in-other-case': single('NET_VERSION'),
  'solana-method-in-other-case': single('getslot', 'rpc.unsupported-method', 'solana'),
  'method-with-spaces': single(' eth_blockNumber '),
  'method-of-known-namespace': single('trace_noSuchMethod'),
  'method-with-known-start': single('eth_blockNumberOfNothing'),
  'method-with-known-end': single('no_eth_blockNumber'),
  'method-as-part-of-known': single('eth_blockNum'),
  'evm-method-on-solana': otherFamily('eth_call', 'solana'),
  'evm-method-on-starknet': otherFamily('eth_call', 'starknet'),
  'unlisted-method-on-starknet': single('starknet_noSuchMethod', 'rpc.unsupported-method', 'starknet'),
  'solana-method-on-evm': otherFamily('getSlot', 'evm'),
  'unsupported-methods-in-batch': batch(['eth_blockNumber', ...mixed], mixed),
  /** Unsupported methods at both ends of the batch, one of them twice. */
  'unsupported-methods-at-the-ends': batch(
    ['eth_newFilter', 'eth_blockNumber', 'eth_newFilter', 'eth_call', 'eth_accounts'],
    ['eth_newFilter', 'eth_accounts'],
  ),
  'one-unsupported-method-in-batch': batch(['eth_blockNumber', 'eth_call', 'eth_sign', 'eth_chainId'], ['eth_sign']),
  'filter-methods-in-batch': batch(filters),
  'key-holding-methods-in-batch': batch(holders),
  'websocket-methods-in-batch': batch(['eth_chainId', ...subscriptions], subscriptions),
  'solana-subscriptions-in-batch': batch(solanaSubscriptions, solanaSubscriptions, 'solana'),
  'many-unlisted-methods-in-batch': batch(manyUnlisted),
  'stateless-logs': alternative('eth_getLogs'),
  'raw-transaction': alternative('eth_sendRawTransaction'),
  'call-on-solana': call('getSlot', 'solana', 0),
  'call-on-second-solana': call('getSlot', 'solana', 1),
  // Some nodes do not have it.
  'large-call-on-second-solana': call('getSupply', 'solana', 1, [200, 400]),
  'call-on-starknet': call('starknet_blockNumber', 'starknet', 0),
  'call-on-second-starknet': call('starknet_blockNumber', 'starknet', 1),
  // Beyond this number, a program that reads numbers as doubles cannot tell two ids apart, and JSON leaves that open.
  'large-id': withIds(Number.MAX_SAFE_INTEGER),
  'negative-id': withIds(-3),
  'id-of-unusual-letters': withIds(`é 漢 🚦 "\\ ${'i'.repeat(90)}`),
  'unusual-ids-in-batch': withIds(Number.MAX_SAFE_INTEGER, -3, '1', 'é 漢 🚦 "\\'),
  'rpc-without-method': malformed({ jsonrpc: '2.0', id: 1, params: [] }),
  'rpc-method-no-text': malformed({ ...rpcItem('eth_blockNumber'), method: 7 }),
  'rpc-of-version-1': malformed({ ...rpcItem('eth_blockNumber'), jsonrpc: '1.0' }),
  'rpc-params-no-list': malformed({ ...rpcItem('eth_blockNumber'), params: 'latest' }),
  'rpc-no-json': {
    ...malformed(null),
    isUnreadable: true,
    request: contract => ({ ...rpcRequest(() => null)(contract), body: '{"jsonrpc":"2.0","id":1,"method":' }),
  },
  'batch-too-long': tooLong('eth_blockNumber', 'evm'),
  'batch-too-long-on-solana': tooLong('getSlot', 'solana'),
  'unknown-network': {
    clause: 'rpc.network',
    as: 'caller',
    draws: 'rpc',
    promised: ({ rpc }) => unknownNetworkStatuses(rpc.unknownNetworkStatus),
    names: [],
    request: rpcRequest(
      () => rpcItem('eth_blockNumber'),
      {},
      () => 'atlantis-mainnet',
    ),
  },
} as const satisfies Probes
