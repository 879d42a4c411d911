import { promisesAny } from '../../contract/promises.ts'
import { isObject } from '../../lib/json.ts'
import type { Observation, ObservationOf } from '../../observation/observation.ts'
import { isRpc, type RpcDescriptor } from '../../observation/requests/rpc.ts'
import { is2xx } from '../../observation/response.ts'
import { responsesIn } from '../checks/rpc-credits.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import type { Audit, AuditContext } from './audit.ts'

/** Methods whose result is the number of the last block. */
const headMethods: readonly string[] = ['eth_blockNumber', 'starknet_blockNumber', 'getBlockHeight', 'getSlot']
/** The blocks of a network that are remembered. Those that came first are forgotten first. */
const maxBlocks = 10_000
/** A list of logs may be as long as the target likes. */
const maxMembers = 200

type Head = { readonly number: number; readonly endMs: number; readonly id: number }
type Block = { readonly number: number; readonly parent: string | null; readonly id: number }

/** What is known of the nodes of one network. */
type NetworkState = {
  /** By method, the highest head that was shown before the latest request was sent, and those that came after. */
  readonly heads: Map<string, { highest: Head | null; later: Head[] }>
  /** By hash. */
  readonly blocks: Map<string, Block>
}

/** Whether the nodes of a network agree with what they said before. */
export function createCoherenceAudit(
  { contract }: Pick<AuditContext, 'contract'>,
  reporter: ClauseReporter<'coherence'>,
): Audit {
  const networks = new Map<string, NetworkState>()
  const isPromised = promisesAny(contract, ['rpc.coherence.*'])
  const { headLag } = contract.rpc
  return {
    add: observation => {
      if (isPromised && isAnsweredRpc(observation)) judge(observation)
    },
    finish: () => {},
  }

  function judge(observation: ObservationOf<RpcDescriptor>) {
    const { request, response, sentMs, endMs, id } = observation
    if (response?.body.kind !== 'json' || sentMs === null || endMs === null) return
    const state = networks.get(request.network) ?? { heads: new Map(), blocks: new Map() }
    networks.set(request.network, state)
    const responses = responsesIn(response.body.value, request.items)
    request.items.forEach(({ method }, index) => {
      const result = responses?.[index]?.result
      if (headMethods.includes(method)) judgeHead(state, method, numberOf(result), { sentMs, endMs, id })
      else for (const block of blocksIn(result)) judgeBlock(state, block, id)
    })
  }

  /** A response that was sent before another one ended may show an older head. */
  function judgeHead(
    { heads }: NetworkState,
    method: string,
    number: number | null,
    { sentMs, endMs, id }: { readonly sentMs: number; readonly endMs: number; readonly id: number },
  ) {
    if (number === null) return
    const known = heads.get(method) ?? { highest: null, later: [] }
    heads.set(method, known)
    for (const head of known.later)
      if (head.endMs <= sentMs && head.number > (known.highest?.number ?? -1)) known.highest = head
    known.later = [...known.later.filter(head => head.endMs > sentMs), { number, endMs, id }]
    const { highest } = known
    if (highest === null) return
    const behind = highest.number - number
    if (behind <= headLag) return reporter.pass('rpc.coherence.head')
    const message = `${method} is ${number}, ${behind} behind a response that came ${Math.round(sentMs - highest.endMs)} ms before, expected at most ${headLag}`
    reporter.fail('rpc.coherence.head', message, [highest.id, id])
  }

  function judgeBlock({ blocks }: NetworkState, { hash, number, parent }: SeenBlock, id: number) {
    const known = blocks.get(hash)
    if (known === undefined) {
      const [oldest] = blocks.keys()
      if (blocks.size >= maxBlocks && oldest !== undefined) blocks.delete(oldest)
      blocks.set(hash, { number, parent, id })
      return
    }
    const ids = known.id === id ? [id] : [known.id, id]
    const fail = (what: string, got: unknown, before: unknown) =>
      reporter.fail('rpc.coherence.block', `block ${hash} has the ${what} ${got}, expected ${before} as before`, ids)
    if (known.number !== number) return fail('number', number, known.number)
    if (known.parent !== null && parent !== null && known.parent !== parent) return fail('parent', parent, known.parent)
    if (known.parent === null && parent !== null) blocks.set(hash, { ...known, parent })
    reporter.pass('rpc.coherence.block')
  }
}

const isAnsweredRpc = (observation: Observation): observation is ObservationOf<RpcDescriptor> =>
  isRpc(observation.request) && observation.outcome.kind === 'answered' && is2xx(observation.outcome.status)

/** A number, or a quantity such as `0x1f`; null if it is neither. */
function numberOf(value: unknown): number | null {
  const number = typeof value === 'string' && /^0x[0-9a-f]{1,13}$/i.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : null
}

type SeenBlock = { readonly hash: string; readonly number: number; readonly parent: string | null }

/** The blocks that a result of an EVM node names: a block itself, and those of transactions, receipts and logs. */
function blocksIn(value: unknown, depth = 0): readonly SeenBlock[] {
  if (Array.isArray(value))
    return depth > 2 ? [] : value.slice(0, maxMembers).flatMap(each => blocksIn(each, depth + 1))
  if (!isObject(value)) return []
  const inside = [value.logs, value.transactions].flatMap(list =>
    Array.isArray(list) ? blocksIn(list, depth + 1) : [],
  )
  const isBlock = typeof value.hash === 'string' && typeof value.parentHash === 'string'
  const hash = isBlock ? value.hash : value.blockHash
  const number = numberOf(isBlock ? value.number : value.blockNumber)
  if (typeof hash !== 'string' || number === null) return inside
  const parent = isBlock && typeof value.parentHash === 'string' ? value.parentHash : null
  return [{ hash, number, parent }, ...inside]
}
