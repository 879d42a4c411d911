import { promisesAny } from '../../contract/promises.ts'
import { isObject } from '../../lib/json.ts'
import type { Observation, ObservationOf } from '../../observation/observation.ts'
import { isRpc, type RpcDescriptor } from '../../observation/requests/rpc.ts'
import { is2xx } from '../../observation/response.ts'
import { responsesIn } from '../checks/rpc-credits.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import { getOrAdd } from '../merge.ts'
import type { Audit, AuditContext } from './audit.ts'

/** Methods whose result is the number of the last block. */
const headMethods: readonly string[] = ['eth_blockNumber', 'starknet_blockNumber', 'getBlockHeight', 'getSlot']
/** The blocks of a network that are remembered. Those that came first are forgotten first. */
const maxBlocks = 10_000
/** A list of logs may be as long as the target likes. */
const maxMembers = 200

/** Blocks whose transactions are remembered. */
const maxListed = 64
/** No chain has blocks faster. */
const fastestBlockMs = 200

type Times = { readonly sentMs: number; readonly endMs: number; readonly id: number }
type Head = { readonly number: number; readonly endMs: number; readonly id: number }
type Heads = { highest: Head | null; later: Head[]; seen: number; behind: number }
type Block = Pick<SeenBlock, 'number' | 'members'> & { readonly id: number }

/** What is known of the nodes of one network. */
type NetworkState = {
  /** By method, the highest head that was shown before the latest request was sent, and those that came after. */
  readonly heads: Map<string, Heads>
  /** By hash. */
  readonly blocks: Map<string, Block>
  readonly transactions: Map<string, ReadonlySet<string>>
  /** By number, the block that was seen last, and whether no reorganization could replace it any more. */
  readonly numbers: Map<number, { readonly hash: string; readonly isFinal: boolean } & Omit<Times, 'sentMs'>>
}

/** Whether the nodes of a network agree with what they said before. */
export function createCoherenceAudit(
  { contract }: Pick<AuditContext, 'contract'>,
  reporter: ClauseReporter<'coherence'>,
): Audit {
  const networks = new Map<string, NetworkState>()
  const isPromised = promisesAny(contract, ['rpc.coherence.*'])
  const { headLag, reorgDepth } = contract.rpc
  return {
    add: observation => {
      if (isPromised && isAnsweredRpc(observation)) judge(observation)
    },
    finish: () => {
      for (const { heads } of networks.values()) for (const known of heads.values()) measure(known)
    },
  }

  function judge(observation: ObservationOf<RpcDescriptor>) {
    const { request, response, sentMs, endMs, id } = observation
    if (response?.body.kind !== 'json' || sentMs === null || endMs === null) return
    const state = getOrAdd(networks, request.network, newState)
    const times = { sentMs, endMs, id }
    const { value, cut } = response.body
    const responses = responsesIn(value, request.items)
    const shown: number[] = []
    const asked = request.items.find(({ method }) => headMethods.includes(method))?.method
    request.items.forEach(({ method }, index) => {
      const result = responses?.[index]?.result
      if (!headMethods.includes(method))
        for (const block of blocksIn(result, cut !== true)) judgeBlock(state, block, times)
      else {
        const number = numberOf(result)
        if (number === null) return
        judgeHead(state, method, number, times)
        if (method === asked) shown.push(number)
      }
    })
    if (shown.length > 1) judgeBatch(shown, times)
  }

  /** A response that was sent before another one ended may show an older head. */
  function judgeHead({ heads }: NetworkState, method: string, number: number, { sentMs, endMs, id }: Times) {
    const known = getOrAdd(heads, method, (): Heads => ({ highest: null, later: [], seen: 0, behind: 0 }))
    known.highest = highestBefore(known, sentMs)
    known.later = [...known.later.filter(head => head.endMs > sentMs), { number, endMs, id }]
    const { highest } = known
    if (highest === null) return
    known.seen++
    const behind = highest.number - number
    if (behind <= headLag) return reporter.pass('rpc.coherence.head')
    known.behind++
    const size = { min: behind, max: behind, unit: 'blocks', documented: headLag }
    reporter.measured('rpc.coherence.head', { what: 'The last block went back by', ...size })
    const message = `${method} is ${number}, ${behind} behind a response that came ${Math.round(sentMs - highest.endMs)} ms before, expected at most ${headLag}`
    reporter.fail('rpc.coherence.head', message, [highest.id, id])
  }

  function measure({ seen, behind }: Heads) {
    if (behind === 0) return
    const percent = Math.max(1, Math.round((100 * behind) / seen))
    const size = { min: percent, max: percent, unit: '%', documented: 0 }
    reporter.measured('rpc.coherence.head', { what: 'The share of responses with such a block was', ...size })
  }

  /** A block may come while a node runs the items one after the other. */
  function judgeBatch(shown: readonly number[], { sentMs, endMs, id }: Times) {
    const [least, greatest] = [Math.min(...shown), Math.max(...shown)]
    const allowed = headLag + 1 + Math.floor((endMs - sentMs) / fastestBlockMs)
    if (greatest - least <= allowed) return reporter.pass('rpc.coherence.batch')
    const message = `the last block is ${least} and ${greatest} in one batch, ${greatest - least} apart, expected at most ${allowed}`
    reporter.fail('rpc.coherence.batch', message, [id])
  }

  function judgeBlock(state: NetworkState, block: SeenBlock, times: Times) {
    const { hash, number, members, transaction, transactions } = block
    const { id } = times
    judgeNumber(state, block, times)
    const { parentHash } = members
    if (parentHash !== undefined) judgeNumber(state, { hash: parentHash, number: number - 1 }, times)
    const known = state.blocks.get(hash)
    remember(state.blocks, hash, { number, id, ...known, members: { ...members, ...known?.members } }, maxBlocks)
    if (known !== undefined) {
      const ids = known.id === id ? [id] : [known.id, id]
      const wrong = differenceIn(known, block)
      if (wrong === null) reporter.pass('rpc.coherence.block')
      else reporter.fail('rpc.coherence.block', `block ${hash} has the ${wrong}`, ids)
    }
    const listed = state.transactions.get(hash)
    if (transactions !== null) remember(state.transactions, hash, new Set(transactions), maxListed)
    if (transaction === null || listed === undefined || listed.has(transaction)) return
    const message = `a receipt or log has the transaction ${transaction} of block ${hash}, expected one in this block`
    reporter.fail('rpc.coherence.block', message, [id])
  }

  /** Once a block is deeper than a reorganization reaches, no other one has its number. */
  function judgeNumber(
    { numbers, heads }: NetworkState,
    { hash, number }: Pick<SeenBlock, 'hash' | 'number'>,
    times: Times,
  ) {
    if (reorgDepth === null) return
    const { endMs, sentMs, id } = times
    const shown = heads.get('eth_blockNumber')
    const head = shown === undefined ? null : highestBefore(shown, sentMs)
    const isFinal = head !== null && head.number - headLag - number >= reorgDepth
    const known = numbers.get(number)
    const isKept = known?.hash === hash
    if (known?.isFinal === true && known.endMs <= sentMs) {
      const message = `block ${number} has the hash ${hash}, expected ${known.hash} as before: a reorganization replaces at most ${reorgDepth} blocks`
      if (isKept) reporter.pass('rpc.coherence.final')
      else reporter.fail('rpc.coherence.final', message, [known.id, id])
    }
    if (!isKept || (isFinal && !known.isFinal)) remember(numbers, number, { hash, isFinal, endMs, id }, maxBlocks)
  }
}

/** The highest head of the responses that had come when a request was sent. */
const highestBefore = ({ highest, later }: Heads, sentMs: number): Head | null =>
  later.reduce<Head | null>(
    (known, head) => (head.endMs <= sentMs && head.number > (known?.number ?? -1) ? head : known),
    highest,
  )

const newState = (): NetworkState => ({
  heads: new Map(),
  blocks: new Map(),
  transactions: new Map(),
  numbers: new Map(),
})

/** Keeps the latest entries. */
function remember<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): void {
  const [oldest] = map.keys()
  if (!map.has(key) && map.size >= max && oldest !== undefined) map.delete(oldest)
  map.set(key, value)
}

const isAnsweredRpc = (observation: Observation): observation is ObservationOf<RpcDescriptor> =>
  isRpc(observation.request) && observation.outcome.kind === 'answered' && is2xx(observation.outcome.status)

/** A number, or a quantity such as `0x1f`; null if it is neither. */
function numberOf(value: unknown): number | null {
  const number = typeof value === 'string' && /^0x[0-9a-f]{1,13}$/i.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : null
}

type SeenBlock = {
  readonly hash: string
  readonly number: number
  /** What a block hash fixes, as far as the result states it. */
  readonly members: Readonly<Record<string, string>>
  /** The transaction that the result is about, and those of a whole block. */
  readonly transaction: string | null
  readonly transactions: readonly string[] | null
}

const fixedMembers = ['parentHash', 'stateRoot', 'transactionsRoot', 'receiptsRoot'] as const
const names: Readonly<Record<string, string>> = { parentHash: 'parent' }

/** What differs between two statements about one block; null: nothing. */
function differenceIn(before: Pick<SeenBlock, 'number' | 'members'>, now: SeenBlock): string | null {
  if (before.number !== now.number) return `number ${now.number}, expected ${before.number} as before`
  for (const [name, value] of Object.entries(now.members)) {
    const known = before.members[name] ?? value
    if (known !== value) return `${names[name] ?? name} ${value}, expected ${known} as before`
  }
  return null
}

/** The blocks that a result of an EVM node names: a block itself, and those of transactions, receipts and logs. */
function blocksIn(value: unknown, isWhole: boolean, depth = 0): readonly SeenBlock[] {
  if (Array.isArray(value))
    return depth > 2 ? [] : value.slice(0, maxMembers).flatMap(each => blocksIn(each, isWhole, depth + 1))
  if (!isObject(value)) return []
  const inside = [value.logs, value.transactions].flatMap(list =>
    Array.isArray(list) ? blocksIn(list, isWhole, depth + 1) : [],
  )
  const isBlock = typeof value.hash === 'string' && typeof value.parentHash === 'string'
  const hash = isBlock ? value.hash : value.blockHash
  const number = numberOf(isBlock ? value.number : value.blockNumber)
  if (typeof hash !== 'string' || number === null) return inside
  const members = Object.fromEntries(
    fixedMembers.flatMap(name => {
      const member = isBlock ? value[name] : undefined
      // Some chains state a root of zeros until they have it.
      return typeof member === 'string' && !/^0x0*$/.test(member) ? [[name, member.toLowerCase()]] : []
    }),
  )
  const { transactionHash, transactions } = value
  const transaction = !isBlock && typeof transactionHash === 'string' ? transactionHash.toLowerCase() : null
  const listed = isBlock && isWhole && Array.isArray(transactions) ? transactions.map(hashOf) : null
  const isListed = listed?.every(each => each !== null) === true
  return [{ hash, number, members, transaction, transactions: isListed ? listed : null }, ...inside]
}

/** A block has its transactions whole, or their hashes. */
const hashOf = (transaction: unknown): string | null =>
  typeof transaction === 'string'
    ? transaction.toLowerCase()
    : isObject(transaction) && typeof transaction.hash === 'string'
      ? transaction.hash.toLowerCase()
      : null
