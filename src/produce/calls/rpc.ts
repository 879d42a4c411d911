import { isDeepStrictEqual } from 'node:util'
import type { Contract, Network } from '../../contract/contract.ts'
import { toObject } from '../../lib/json.ts'
import { memoizeLast } from '../../lib/memoize.ts'
import { type Random, randomStream } from '../../lib/random.ts'
import type { RpcDescriptor, RpcItem } from '../../observation/requests/rpc.ts'
import type { ReplayRole } from '../../observation/requests/traits.ts'
import type { RpcCall } from '../../plan/plan.ts'
import { type BuiltRequest, jsonHeaders, keyOf, type RequestBuilder, type RequestContext } from './call.ts'
import { pointToLeave } from './hang-up.ts'

export const rpcRequests: RequestBuilder<RpcCall> = {
  build: (plan, { firstId }, headers, context) => buildRpc(plan, `${firstId}`, null, headers, context),
}

/**
 * A JSON-RPC call or batch. Its body depends only on the seed and `content`. A replay has the `content` of its original
 * and therefore the same bytes, unless it is a conflict.
 */
export function buildRpc(
  plan: RpcCall,
  content: string,
  replay: ReplayRole | null,
  headers: Readonly<Record<string, string>>,
  { contract, bounds, seed, runId }: RequestContext,
): BuiltRequest<RpcDescriptor> {
  const family = contract.rpc.networks[plan.network]?.family ?? 'evm'
  const make = replay?.role === 'conflict' ? conflictOf : contentOf
  const { items, bodies } = make(plan, family, content, seed, contract)
  const sent = { ...keyOf(replay, contract, runId), ...headers }
  return {
    descriptor: { kind: 'rpc', network: plan.network, batch: plan.batchSize !== null, items, replay },
    request: {
      method: 'POST',
      path: pathOf(contract.paths.rpc, plan.network),
      headers: { ...jsonHeaders, ...sent },
      body: JSON.stringify(plan.batchSize === null ? bodies[0] : bodies),
      timeouts: bounds.timeouts.rpc,
      maxBodyBytes: bounds.maxBodyBytes,
    },
    keepsDigest: replay !== null,
    leaves: replay === null ? pointToLeave(plan.hangUp, content, seed) : undefined,
  }
}

type RpcBody = {
  readonly jsonrpc: '2.0'
  readonly id: RpcItem['id']
  readonly method: string
  readonly params: readonly unknown[]
}
type RpcContent = { readonly items: readonly RpcItem[]; readonly bodies: readonly RpcBody[] }

function contentOf(
  plan: RpcCall,
  family: Network['family'],
  content: string,
  seed: number,
  contract: Pick<Contract, 'rpc'>,
  idOffset = 0,
): RpcContent {
  const random = randomStream(seed, `rpc/${content}`)
  const items = itemsOf(plan, family, idOffset, contract, random)
  const bodies = items.map(({ id, method, failing }) => ({
    jsonrpc: '2.0' as const,
    id,
    method,
    params: failing ? ['invalid'] : (plan.params?.[method] ?? rpcParamsOf(method, random)),
  }))
  return { items: items.map((item, at) => withQuery(item, bodies[at]?.params ?? [])), bodies }
}

/** An item with what a judge needs of its parameters. */
function withQuery(item: RpcItem, [first]: readonly unknown[]): RpcItem {
  const query = item.method === 'eth_getLogs' ? toObject(first) : null
  const ofBlock = item.method === 'eth_getBlockByNumber' || item.method === 'eth_getBlockReceipts'
  const isLatest = ofBlock ? first === 'latest' : query?.fromBlock === 'latest' && query.toBlock === 'latest'
  const isUnfiltered = query !== null && query.address === undefined && query.topics === undefined
  if (!isLatest && !isUnfiltered) return item
  return { ...item, ...(isUnfiltered && { isUnfiltered }), ...(isLatest && { isLatest }) }
}

/**
 * Another body: half of the time only the last item differs, in its parameters, or in its method if it has none. Otherwise
 * only the ids differ.
 */
function conflictOf(
  plan: RpcCall,
  family: Network['family'],
  content: string,
  seed: number,
  contract: Pick<Contract, 'rpc'>,
): RpcContent {
  const { items, bodies } = contentOf(plan, family, content, seed, contract)
  const random = randomStream(seed, `rpc/${content}/other-params`)
  const at = items.findLastIndex(({ failing }, index) => !failing && (bodies[index]?.params.length ?? 0) > 0)
  const last = bodies[at]
  if (random.next() < 0.5 && last !== undefined && plan.params?.[last.method] === undefined) {
    const params = rpcParamsOf(last.method, random)
    if (!isDeepStrictEqual(params, last.params)) return { items, bodies: bodies.with(at, { ...last, params }) }
  }
  const [item, sent] = [items.at(-1), bodies.at(-1)]
  const isBare = (method: string) => plan.params?.[method] === undefined && rpcParamsOf(method, random).length === 0
  const [method] = plan.methods.find(([each]) => each !== sent?.method && isBare(each)) ?? []
  if (random.next() < 0.5 && item?.failing === false && sent?.params.length === 0 && method !== undefined)
    return { items: items.with(-1, { ...item, method }), bodies: bodies.with(-1, { ...sent, method }) }
  return contentOf(plan, family, content, seed, contract, conflictIdOffset)
}

/** The path of a network. Most runs have one, and every request needs it. */
const pathOf = memoizeLast((template: string, network: string): string => template.replace('{network}', network))

/** The ids of a conflicting request start after this number, if they differ. */
const conflictIdOffset = 1000

/**
 * Every third id is a string, in batches and across single calls, because responses must preserve the type of an id. The
 * others begin with 0, which a careless program takes for none.
 */
function itemsOf(
  plan: RpcCall,
  family: Network['family'],
  idOffset: number,
  contract: Pick<Contract, 'rpc'>,
  random: Random,
): readonly RpcItem[] {
  const size = plan.batchSize ?? 1
  const shift = plan.batchSize === null ? random.int(3) : 0
  const failing =
    plan.batchSize === null ? (random.next() < plan.failing ? [0] : []) : failingPositions(plan.failing, size, random)
  const cheap = failingMethods[family]
  const failures = plan.batchSize === null || failing.length === 0 ? [] : failuresOf(plan, family, contract)
  const items: RpcItem[] = []
  for (let index = 0; index < size; index++) {
    const fails = failing.includes(index)
    const method = !fails || failures.length > 1 ? random.weighted(fails ? failures : plan.methods) : cheap
    const id = idOffset + index + shift
    items.push({ id: id % 3 === 2 ? `r-${id}` : id, method, failing: fails })
  }
  return items
}

function failingPositions(count: number, size: number, random: Random): readonly number[] {
  const positions = Array.from({ length: size }, (_, index) => index)
  return Array.from({ length: count }, () => positions.splice(random.int(positions.length), 1)[0] ?? 0)
}

/** A method of each family that rejects the parameter `"invalid"`. Items that must fail use it. */
export const failingMethods: Readonly<Record<Network['family'], string>> = {
  evm: 'eth_getBalance',
  solana: 'getBalance',
  starknet: 'starknet_call',
}

/**
 * The methods that fail in a batch: the cheap one, and one of each other price that the batch has and whose parameters
 * cannot be `"invalid"`. So the price of a failing item shows whether it depends on its method.
 */
function failuresOf(
  { methods }: RpcCall,
  family: Network['family'],
  { rpc }: Pick<Contract, 'rpc'>,
): RpcCall['methods'] {
  const known = rpc.methods[family]
  const byPrice = new Map<unknown, string>()
  for (const [method] of methods) if (needsParameter.test(method)) byPrice.set(known[method], method)
  byPrice.delete(undefined)
  byPrice.set(known[failingMethods[family]], failingMethods[family])
  return [...byPrice.values()].map(method => [method, 1] as const)
}

/** Methods about a transaction, a block or a call, of which the first parameter says which. */
const needsParameter = /^(?:arb)?trace_(?!filter)|^debug_trace/

const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** Well-formed positional parameters for a read-only `method`; an empty list for an unknown method. */
export function rpcParamsOf(method: string, random: Random): readonly unknown[] {
  switch (method) {
    case 'eth_call':
    case 'eth_estimateGas':
      return [call(random), 'latest']
    case 'eth_getBalance':
    case 'eth_getCode':
    case 'eth_getTransactionCount':
      return [address(random), 'latest']
    case 'eth_getStorageAt':
      return [address(random), '0x0', 'latest']
    case 'eth_getBlockByNumber':
      return [block(random), false]
    case 'eth_getBlockByHash':
      return [hash(random), false]
    case 'eth_getBlockReceipts':
    case 'debug_traceBlockByNumber':
    case 'trace_block':
      return [block(random)]
    case 'eth_getTransactionReceipt':
    case 'eth_getTransactionByHash':
    case 'debug_traceTransaction':
    case 'trace_transaction':
    case 'debug_traceBlockByHash':
      return [hash(random)]
    case 'eth_getLogs': {
      const at = block(random)
      return [{ fromBlock: at, toBlock: at, address: address(random) }]
    }
    case 'eth_feeHistory':
      return ['0x5', 'latest', [25, 75]]
    case 'eth_getProof':
      return [address(random), [], 'latest']
    case 'debug_traceCall':
      return [call(random), 'latest', {}]
    case 'trace_call':
      return [call(random), ['trace'], 'latest']
    case 'trace_replayTransaction':
      return [hash(random), ['trace']]
    case 'trace_replayBlockTransactions':
      return [block(random), ['trace']]
    case 'web3_sha3':
      return [hex(8, random)]
    case 'getAccountInfo':
    case 'getBalance':
      return [pubkey(random)]
    default:
      return []
  }
}

const hexDigits = '0123456789abcdef'

function hex(digits: number, random: Random): string {
  let text = '0x'
  for (let digit = 0; digit < digits; digit++) text += hexDigits[random.int(16)]
  return text
}

const address = (random: Random): string => hex(40, random)
const hash = (random: Random): string => hex(64, random)
const block = (random: Random): string => `0x${(18_000_000 + random.int(1_000_000)).toString(16)}`
const pubkey = (random: Random): string => Array.from({ length: 44 }, () => base58[random.int(58)]).join('')
const call = (random: Random) => ({ to: address(random), data: hex(8, random) })
