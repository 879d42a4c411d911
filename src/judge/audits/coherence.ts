import { promisesAny } from '../../contract/promises.ts'
import { isObject, type JsonObject } from '../../lib/json.ts'
import type { Observation, ObservationOf } from '../../observation/observation.ts'
import { isRpc, type RpcDescriptor, type RpcItem } from '../../observation/requests/rpc.ts'
import { is2xx } from '../../observation/response.ts'
import { responsesIn } from '../checks/rpc-credits.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import { getOrAdd } from '../merge.ts'
import type { Audit, AuditContext } from './audit.ts'

/** Methods whose result is the number of the last block. */
const headMethods: readonly string[] = ['eth_blockNumber', 'starknet_blockNumber', 'getBlockHeight', 'getSlot']
const evmHead = 'eth_blockNumber'
/** The blocks of a network that are remembered. Those that came first are forgotten first. */
const maxBlocks = 10_000
/** Of a list of logs or receipts, and blocks whose transactions are remembered. */
const [maxMembers, maxListed] = [1_024, 16]
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
  readonly facts: Map<string, BlockFacts>
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
    request.items.forEach((item, index) => {
      const { method } = item
      const result = responses?.[index]?.result
      if (!headMethods.includes(method)) {
        const blocks = judgeBlocks(state, result, item, cut !== true, times)
        const last = item.isLatest ? Math.max(...blocks.map(block => block.number)) : -1
        if (last >= 0) judgeHead(state, evmHead, last, times, `the last block of ${method}`)
      } else {
        const number = numberOf(result)
        if (number === null) return
        judgeHead(state, method, number, times)
        if (method === asked) shown.push(number)
      }
    })
    if (shown.length > 1) judgeBatch(shown, times)
  }

  /** A response that was sent before another one ended may show an older head. */
  function judgeHead({ heads }: NetworkState, method: string, number: number, times: Times, shown = method) {
    const { sentMs, endMs, id } = times
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
    const message = `${shown} is ${number}, ${behind} behind a response that came ${Math.round(sentMs - highest.endMs)} ms before, expected at most ${headLag}`
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

  function judgeBlocks(state: NetworkState, result: unknown, item: RpcItem, isWhole: boolean, times: Times) {
    const { method, isUnfiltered = false } = item
    const isQueried = method === 'eth_getLogs'
    const blocks = blocksIn(result, isWhole)
    const hashes = new Set(blocks.map(({ hash }) => hash))
    for (const block of blocks) judgeBlock(state, block, isQueried, times)
    const isAll = isWhole && Array.isArray(result) && result.length < maxMembers
    if (method === 'eth_getBlockReceipts' && hashes.size > 1) {
      const message = `the receipts of one block are of ${hashes.size} blocks, ${[...hashes].join(' and ')}, expected one`
      reporter.fail('rpc.coherence.block', message, [times.id])
    }
    for (const hash of hashes) {
      const facts = state.facts.get(hash)
      if (facts === undefined) continue
      facts.hasQuery ||= isAll && isQueried && isUnfiltered
      facts.hasReceipts ||= isAll && method === 'eth_getBlockReceipts' && hashes.size === 1
      const wrong = contradictionIn(facts)
      if (wrong === null) reporter.pass('rpc.coherence.block')
      else if (wrong !== undefined) reporter.fail('rpc.coherence.block', `block ${hash}: ${wrong}`, [times.id])
    }
    return blocks
  }

  function judgeBlock(state: NetworkState, block: SeenBlock, isQueried: boolean, times: Times) {
    const { hash, number, members, transaction, transactions, value } = block
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
    const facts = state.facts.get(hash) ?? unknownFacts()
    remember(state.facts, hash, facts, maxListed)
    if (block.isBlock) addBlock(facts, value, transactions)
    if (transaction === null) return
    if (facts.transactions?.has(transaction) === false) {
      const message = `a receipt or log has the transaction ${transaction} of block ${hash}, expected one in this block`
      return reporter.fail('rpc.coherence.block', message, [id])
    }
    const wrong = addStatement(facts, value, isQueried)
    if (wrong !== null) reporter.fail('rpc.coherence.block', `block ${hash}: ${wrong}`, [id])
  }

  /** Once a block is deeper than a reorganization reaches, no other one has its number. */
  function judgeNumber(
    { numbers, heads }: NetworkState,
    { hash, number }: Pick<SeenBlock, 'hash' | 'number'>,
    times: Times,
  ) {
    if (reorgDepth === null) return
    const { endMs, sentMs, id } = times
    const shown = heads.get(evmHead)
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
  facts: new Map(),
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
  readonly isBlock: boolean
  readonly value: JsonObject
}

const roots = ['parentHash', 'stateRoot', 'transactionsRoot', 'receiptsRoot'] as const
const fixedMembers = [...roots, 'timestamp', 'gasUsed', 'gasLimit', 'baseFeePerGas'] as const
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
  const { transactions } = value
  const own = value.transactionHash ?? value.hash
  const transaction = !isBlock && typeof own === 'string' ? own.toLowerCase() : null
  const listed = isBlock && isWhole && Array.isArray(transactions) ? transactions.map(hashOf) : null
  const isListed = listed?.every(each => each !== null) === true
  return [{ hash, number, members, transaction, transactions: isListed ? listed : null, isBlock, value }, ...inside]
}

/** A block has its transactions whole, or their hashes. */
const hashOf = (transaction: unknown): string | null =>
  typeof transaction === 'string'
    ? transaction.toLowerCase()
    : isObject(transaction) && typeof transaction.hash === 'string'
      ? transaction.hash.toLowerCase()
      : null

/** What is known of the transactions of one block, by its hash. None of it ever changes. */
type BlockFacts = {
  /** Its transactions with their places; null: unknown. */
  transactions: ReadonlyMap<string, number> | null
  gasUsed: number | null
  bloom: string | null
  /** By transaction, what receipts and transactions have said about it. */
  readonly members: Map<string, Map<string, string>>
  /** By transaction and index, the logs of receipts, and those that a query found. */
  readonly logs: Map<string, string>
  readonly queried: Map<string, string>
  /** Whether the receipts of all transactions are known, and whether a query without a filter has found all logs. */
  hasReceipts: boolean
  hasQuery: boolean
  /** What was known when the parts were compared last. */
  compared: string
}

const unknownFacts = (): BlockFacts => ({
  ...{ transactions: null, gasUsed: null, bloom: null },
  ...{ members: new Map(), logs: new Map(), queried: new Map() },
  ...{ hasReceipts: false, hasQuery: false, compared: '' },
})

/** What a receipt says of its transaction. */
const ofReceipts = ['status', 'gasUsed', 'cumulativeGasUsed', 'logsBloom', 'contractAddress'] as const

/** A record may have no more of a log, and less of a Bloom filter than its hexadecimal with 0x. */
const [comparedLength, bloomLength] = [256, 514]

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value.toLowerCase() : null)

function addBlock(facts: BlockFacts, block: JsonObject, transactions: readonly string[] | null): void {
  facts.transactions ??= transactions && new Map(transactions.map((hash, place) => [hash, place]))
  facts.gasUsed ??= numberOf(block.gasUsed)
  facts.bloom ??= textOf(block.logsBloom)
}

/** Adds a receipt, a transaction or a log of a block. Returns what contradicts an earlier statement; null: nothing. */
function addStatement(facts: BlockFacts, value: JsonObject, isQueried: boolean): string | null {
  const hash = textOf(value.transactionHash ?? value.hash)
  if (hash === null || value.removed === true) return null
  const isLog = Array.isArray(value.topics)
  const members = getOrAdd(facts.members, hash, () => new Map<string, string>())
  let wrong: string | null = null
  for (const name of ['transactionIndex', ...(Array.isArray(value.logs) ? ofReceipts : [])]) {
    const said = textOf(value[name])
    const known = members.get(name)
    if (said === null || (name === 'logsBloom' && said.length !== bloomLength)) continue
    members.set(name, known ?? said)
    if (known !== undefined && known !== said)
      wrong ??= `transaction ${hash} has the ${name} ${said.slice(0, 70)}, expected ${known.slice(0, 70)} as before`
  }
  return wrong ?? (isLog ? addLog(facts, value, hash, isQueried) : null)
}

function addLog(facts: BlockFacts, log: JsonObject, hash: string, isQueried: boolean): string | null {
  const index = numberOf(log.logIndex)
  if (index === null) return null
  const at = `${index} of ${hash}`
  const content = [textOf(log.address), log.topics, textOf(log.data)?.slice(0, comparedLength)]
  const said = JSON.stringify(content).toLowerCase()
  const known = facts.logs.get(at) ?? facts.queried.get(at) ?? said
  ;(isQueried ? facts.queried : facts.logs).set(at, known)
  return known === said ? null : `log ${at} has another address, topic or content than before`
}

/** What contradicts each other in a block of which the parts are known; null: nothing. undefined: nothing is new. */
function contradictionIn(facts: BlockFacts): string | null | undefined {
  const { transactions, members, logs, queried, hasReceipts, hasQuery } = facts
  const known = [transactions?.size, facts.gasUsed, facts.bloom, members.size, logs.size, queried.size, hasQuery]
  const now = `${known} ${hasReceipts}`
  if (now === facts.compared || (transactions === null && !hasReceipts)) return undefined
  facts.compared = now
  const hasReceipt = (hash: string) => members.get(hash)?.has('cumulativeGasUsed') === true
  const isKnown = (hash: string) => transactions?.has(hash) ?? hasReceipt(hash)
  const foreign = [...members.keys()].find(hash => !isKnown(hash))
  if (foreign !== undefined) {
    const all = transactions === null ? 'that has a receipt' : `of the ${transactions.size} in the block`
    return `a receipt or log has the transaction ${foreign}, expected one ${all}`
  }
  for (const [hash, place] of transactions ?? []) {
    const stated = members.get(hash)?.get('transactionIndex')
    if (stated !== undefined && Number(stated) !== place)
      return `transaction ${hash} has the transactionIndex ${stated}, expected its place ${place} in the block`
    if (hasReceipts && !hasReceipt(hash)) return `the receipts lack that of ${hash}, expected one for each transaction`
  }
  if (!hasReceipts) return members.size > 0 ? null : undefined
  const added = [...queried.keys()].find(at => !logs.has(at))
  if (added !== undefined) return `a query finds log ${added}, expected only the ${logs.size} logs of its receipts`
  const lost = hasQuery ? [...logs.keys()].find(at => !queried.has(at)) : undefined
  if (lost !== undefined)
    return `a query for all logs lacks log ${lost}, expected the ${logs.size} logs of its receipts`
  return gasIn(facts) ?? bloomIn(facts)
}

/** Receipts count up the gas of a block. A refund may lower what one of them states. Some chains count nothing. */
function gasIn({ members, gasUsed }: BlockFacts): string | null {
  const receipts = [...members].flatMap(([hash, each]) => {
    const [used, upTo] = [numberOf(each.get('gasUsed')), numberOf(each.get('cumulativeGasUsed'))]
    return used === null || upTo === null ? [] : [{ hash, used, upTo }]
  })
  let before = 0
  for (const { hash, used, upTo } of receipts.toSorted((a, b) => a.upTo - b.upTo)) {
    if (upTo > 0 && used > upTo - before)
      return `the receipt of ${hash} has the gas ${used}, expected at most ${upTo - before}, by which cumulativeGasUsed rises`
    before = upTo
  }
  if (gasUsed === null || before === 0 || before === gasUsed) return null
  return `the last receipt has the cumulativeGasUsed ${before}, expected ${gasUsed} as the gas of the block`
}

/** The Bloom filter of a block has the bits of those of its receipts. Some chains have zeros in place of one. */
function bloomIn({ members, bloom }: BlockFacts): string | null {
  const all = [...members.values()].map(each => bloomBits(each.get('logsBloom') ?? null))
  const ofBlock = bloomBits(bloom)
  const sum = all.reduce<bigint | null>((bits, each) => (bits === null || each === null ? null : bits | each), 0n)
  if (!ofBlock || !sum || ofBlock === sum) return null
  const got = (sum & ~ofBlock) === 0n ? 'has more than the' : 'lacks'
  return `the logsBloom ${got} bits of its receipts, expected those of all their logs`
}

/** null: it was not kept whole, or is none. */
const bloomBits = (bloom: string | null): bigint | null =>
  bloom?.length === bloomLength && /^0x[0-9a-f]+$/.test(bloom) ? BigInt(bloom) : null
