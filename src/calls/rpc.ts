import type { Network } from '../contract/contract.ts'
import { type Random, randomStream } from '../lib/random.ts'
import type { ReplayRole, RpcItem } from '../observation/observation.ts'
import type { RpcCall as RpcPlan } from '../plan/plan.ts'
import { type Call, jsonHeaders, type Office } from './call.ts'
import { failingMethods, paramsOf } from './rpc-params.ts'

/**
 * A JSON-RPC call or batch. Its content depends on `content` alone, so two calls with the same number have the same
 * body, byte for byte: that is how a replay is made, and a conflict by another number.
 */
export function rpcCall(
  plan: RpcPlan,
  content: string,
  replay: ReplayRole | null,
  headers: Readonly<Record<string, string>>,
  office: Office,
): Call {
  const { contract, bounds, seed, runId } = office
  const random = randomStream(seed, `rpc/${content}`)
  const family = contract.rpc.networks[plan.network]?.family ?? 'evm'
  const items = itemsOf(plan, family, replay?.role === 'conflict' ? conflictIdOffset : 0, random)
  const bodies = items.map(({ id, method, failing }) => ({
    jsonrpc: '2.0',
    id,
    method,
    params: failing ? ['invalid'] : paramsOf(method, random),
  }))
  return {
    asked: { kind: 'rpc', network: plan.network, batch: plan.batchSize !== null, items, replay },
    request: {
      method: 'POST',
      path: contract.paths.rpc.replace('{network}', plan.network),
      headers: { ...jsonHeaders, ...(replay && { 'idempotency-key': `${runId}-${replay.group}` }), ...headers },
      body: JSON.stringify(plan.batchSize === null ? bodies[0] : bodies),
      timeouts: bounds.timeouts.rpc,
      maxBodyBytes: bounds.maxBodyBytes,
    },
  }
}

/** Ids of a conflicting request start here, so that its body differs from the first one's whatever was drawn. */
const conflictIdOffset = 1000

/** Every third id is a string, because both types must come back as they went; so is that of every third single call. */
function itemsOf(plan: RpcPlan, family: Network['family'], idOffset: number, random: Random): readonly RpcItem[] {
  const size = plan.batchSize ?? 1
  const shift = plan.batchSize === null ? random.int(3) : 0
  const failing =
    plan.batchSize === null ? (random.next() < plan.failing ? [0] : []) : failingPositions(plan.failing, size, random)
  const items: RpcItem[] = []
  for (let index = 0; index < size; index++) {
    const fails = failing.includes(index)
    const method = fails ? failingMethods[family] : random.weighted(plan.methods)
    const id = idOffset + index + 1
    items.push({ id: (index + shift) % 3 === 2 ? `r-${id}` : id, method, failing: fails })
  }
  return items
}

function failingPositions(count: number, size: number, random: Random): readonly number[] {
  const positions = Array.from({ length: size }, (_, index) => index)
  return Array.from({ length: count }, () => positions.splice(random.int(positions.length), 1)[0] ?? 0)
}
