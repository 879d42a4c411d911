import type { Network } from '../contract/contract.ts'
import { documentedContract } from '../contract/documented.ts'
import { moneyHeaderNames } from '../contract/headers.ts'
import { familyOf } from '../contract/statements.ts'
import { isObject, toObject } from '../lib/json.ts'
import { pico } from '../lib/money.ts'
import { is2xx } from '../lib/numbers.ts'
import type { Answer } from './asker.ts'
import {
  because,
  type Conclusion,
  cite,
  difference,
  type Fact,
  headerNumber,
  isAbsent,
  type Known,
  type Question,
  type RpcUse,
  rpcAsk,
  unknown,
  value,
} from './question.ts'

const { paths, rpc } = documentedContract

/** Calls without parameters that every node answers. */
export const standardMethods: Readonly<Record<Network['family'], string>> = {
  evm: 'eth_blockNumber',
  solana: 'getSlot',
  starknet: 'starknet_blockNumber',
}

export const rpcCall = (method: string, id = 1, params: readonly unknown[] = []) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})

/** Before the first credits header: the highest documented price of a call, with some room. */
const firstWorstPico = pico(rpc.usdPerCredit) * 30n * 4n * 2n

export const isRpcAnswer = (body: unknown): boolean =>
  isObject(body) && body.jsonrpc === '2.0' && ('result' in body || 'error' in body)

/** The first single call: through the proxy, or to a node at the address itself. */
export const singleCall: Question = {
  name: 'single RPC call',
  calls: 2,
  applies: ({ rpc: use }) => use === null,
  answer: async (known, { ask }) => {
    const network = firstNetwork(known)
    const family = familyOf(network)
    const proxied: RpcUse = { path: paths.rpc, network, family, credits: null, worstPico: firstWorstPico }
    if (known.networks.length === 0 && known.prefix === null) {
      // A node may answer at any path, so its own address comes first.
      const node: RpcUse = { ...proxied, path: '', family: 'evm', worstPico: 0n }
      const direct = await ask(rpcAsk(node, rpcCall(standardMethods.evm), 0n))
      if (is2xx(direct.status) && isRpcAnswer(direct.body)) {
        const findings = [value(['paths', 'rpc'], '', direct, 'a JSON-RPC node answers at the address itself')]
        return { findings, known: { rpc: node } }
      }
    }
    const reply = await ask(rpcAsk(proxied, rpcCall(standardMethods[family]), firstWorstPico))
    if (is2xx(reply.status) && isRpcAnswer(reply.body)) return concludeSingle(proxied, reply)
    const isMissing = isAbsent(reply) && known.networks.length === 0
    return { findings: [isMissing ? missingRpc(reply) : unknown('rpc', because(reply))] }
  },
}

const missingRpc = (reply: Answer): Fact => ({
  kind: 'missing',
  clauses: ['rpc.*', 'limit.rpc-429'],
  text: 'the RPC proxy',
  evidence: cite(reply),
})

/** The first documented EVM network that is offered, or else the first one that is. */
function firstNetwork({ networks }: Known): string {
  const documented = Object.keys(rpc.networks)
  const isEvm = (slug: string) => familyOf(slug) === 'evm'
  if (networks.length === 0) return documented[0] ?? ''
  return documented.find(slug => isEvm(slug) && networks.includes(slug)) ?? networks.find(isEvm) ?? networks[0] ?? ''
}

/** Credits and cost that a response states, under any prefix. */
export function creditsIn({ headers }: Answer): { readonly credits: number | null; readonly cost: string | null } {
  const of = (suffix: string) =>
    Object.entries(headers)
      .find(([name]) => name.endsWith(suffix))?.[1]
      .trim()
  const credits = of(`-${moneyHeaderNames.rpcCredits}`) ?? ''
  const cost = of(`-${moneyHeaderNames.rpcCostUsd}`) ?? ''
  return {
    credits: /^\d{1,9}$/.test(credits) ? Number(credits) : null,
    cost: /^\d{1,9}(\.\d{1,12})?$/.test(cost) ? cost : null,
  }
}

function concludeSingle(use: RpcUse, reply: Answer): Conclusion {
  const { credits, cost } = creditsIn(reply)
  const limit = headerNumber(reply, 'x-ratelimit-limit-requests')
  const isCredible = limit !== null && Number.isSafeInteger(limit) && limit > 0 && limit <= maxPerMinute
  const limits = isCredible
    ? value(['rpc', 'requestsPerMinute'], limit, reply, 'x-ratelimit-limit-requests')
    : limit === null
      ? unknown('rpc.requestsPerMinute', `${cite(reply)} has no x-ratelimit-limit-requests`)
      : value(['rpc', 'requestsPerMinute'], null, reply, 'no credible x-ratelimit-limit-requests')
  const body = toObject(reply.body)
  const findings: Fact[] = [limits]
  if (reply.status !== 200)
    findings.push(difference('rpc.status', `a JSON-RPC response has status ${reply.status}, and not 200`, reply))
  if (credits === null)
    findings.push(difference('rpc.credits.header', 'an RPC response states no whole number of credits', reply))
  if (cost === null) findings.push(difference('rpc.cost.header', 'an RPC response states no cost as a decimal', reply))
  if (reply.headers['x-request-id'] === undefined)
    findings.push(difference('rpc.request-id', 'an RPC response has no X-Request-ID', reply))
  if (body?.id !== 1) findings.push(difference('rpc.id', 'the id of a call is not echoed', reply))
  const worstPico = cost === null ? use.worstPico : pico(cost) * 2n
  return { findings, known: { rpc: { ...use, credits, worstPico } } }
}

const maxPerMinute = 6_000_000

/** A method that no node has, in a name that a message must repeat. */
const noMethod = 'eth_turnpikeNoSuchMethod'
const unlisted = (count: number) =>
  Array.from({ length: count }, (_, index) => rpcCall(index % 2 === 0 ? noMethod : `${noMethod}B`, index + 1))

/** Batches of methods that do not exist: a refusal names them, or the length of the batch, and costs nothing. */
export const batches: Question = {
  name: 'batches',
  calls: 9,
  applies: ({ rpc: use }) => use !== null,
  answer: async ({ rpc: use }, asker) => {
    if (use === null) return { findings: [] }
    const send = (count: number) => asker.ask(rpcAsk(use, unlisted(count), use.worstPico * BigInt(count)))
    const short = await send(2)
    if (short.status === null || short.status >= 500) return { findings: [unknown('rpc.batchLimit', because(short))] }
    const isTooLong = (reply: Answer): boolean => outcomeOf(reply) !== outcomeOf(short)
    const { low, high, last } = await searchLimit(send, isTooLong)
    const words = shortFindings(short)
    // Without the name of a method, nothing shows that a long batch was refused for its methods.
    if (high === Number.POSITIVE_INFINITY && !isTold(short))
      return {
        findings: [...words, unknown('rpc.batchLimit', `${cite(short)}: no refusal says whether a batch is too long`)],
      }
    return { findings: [...words, ...limitFindings(low, high, last)], known: { batchLimit: low } }
  },
}

/** Whether the batch ran, or its refusal names a method. */
const isTold = (answer: Answer): boolean => /^200$| named$/.test(outcomeOf(answer))

/** A refusal without the parts that depend on the batch: its status, and whether it names the method, or else its words. */
function outcomeOf({ status, bytes }: Answer): string {
  const text = bytes.toString('utf8').slice(0, 100_000)
  if (is2xx(status)) return '200'
  return text.includes(noMethod) ? `${status} named` : `${status} ${text.replaceAll(/[^a-z ]/gi, '').slice(0, 40)}`
}

function shortFindings(reply: Answer): readonly Fact[] {
  if (is2xx(reply.status))
    return [
      difference('rpc.batch.rejected', 'a batch with unsupported methods gets a 200', reply),
      difference('rpc.unsupported-method', 'an unsupported method gets a 200', reply),
    ]
  const text = reply.bytes.toString('utf8')
  const isNamed = text.includes(`${noMethod}B`) && new RegExp(`${noMethod}(?!B)`).test(text)
  return [
    ...(reply.status === 400
      ? []
      : [difference('rpc.batch.rejected', `a batch with unsupported methods gets a ${reply.status}`, reply)]),
    value(
      ['rpc', 'namesEveryMethod'],
      isNamed,
      reply,
      isNamed ? 'the message names both methods' : 'the message does not name both methods',
    ),
  ]
}

/** Longer batches are not tried. */
const longestBatch = 1_000

/** A batch of `low` items is not too long, and one of `high` is. `last` is the answer that ended the search. */
type LimitSearch = { readonly low: number; readonly high: number; readonly last: Answer | null }

async function searchLimit(
  send: (count: number) => Promise<Answer>,
  isTooLong: (answer: Answer) => boolean,
): Promise<LimitSearch> {
  let low = 2
  let high = Number.POSITIVE_INFINITY
  let last: Answer | null = null
  const guesses: number[] = [rpc.batchLimit + 1, rpc.batchLimit]
  while (high - low > 1 && low <= longestBatch) {
    const guess = guesses.find(each => each > low && each < high)
    const between =
      high === Number.POSITIVE_INFINITY ? Math.min(low * 4, longestBatch + 1) : Math.floor((low + high) / 2)
    const next = guess ?? between
    last = await send(next)
    if (last.status === null || last.status === 429 || last.status >= 500) break
    if (isTooLong(last)) {
      high = next
      // The message often states the limit.
      for (const number of last.bytes
        .toString('utf8')
        .slice(0, 2_000)
        .match(/\d{1,9}/g) ?? [])
        guesses.unshift(Number(number) + 1, Number(number))
    } else low = next
  }
  return { low, high, last }
}

function limitFindings(low: number, high: number, last: Answer | null): readonly Fact[] {
  const path = ['rpc', 'batchLimit'] as const
  if (last === null) return []
  if (high - low === 1) return [value(path, low, last, `a batch of ${high} items is too long`)]
  const range = high === Number.POSITIVE_INFINITY ? `at least ${low}` : `from ${low} to ${high - 1}`
  const open = unknown(
    path.join('.'),
    `${range}; ${last.status === null ? because(last) : 'longer batches were not tried'}`,
  )
  if (low <= rpc.batchLimit && high > rpc.batchLimit) return [open]
  // The documented limit is certainly wrong, so the profile states one that holds.
  return [open, value(path, low, last, range), difference('rpc.batch.limit', `the limit is ${range}`, last)]
}

/** Requests that are no valid calls. Nothing is charged for them. */
export const invalidCalls: Question = {
  name: 'invalid RPC requests',
  calls: 3,
  applies: ({ rpc: use }) => use !== null,
  answer: async ({ rpc: use, prefix, networks }, { ask }) => {
    if (use === null || (prefix === null && networks.length === 0)) return { findings: [] }
    const send = (body: unknown, network = use.network) => ask(rpcAsk({ ...use, network }, body, use.worstPico))
    const method = standardMethods[use.family]
    const nowhere = await send(rpcCall(method), 'atlantis-mainnet')
    const invalid = [
      await send({ jsonrpc: '2.0', id: 1, params: [] }),
      await send({ ...rpcCall(method), jsonrpc: '1.0' }),
    ]
    return {
      findings: [statusFinding('unknownNetworkStatus', [nowhere]), statusFinding('invalidRequestStatus', invalid)],
    }
  },
}

/** The status of all these refusals; null where there is not a single one. */
function statusFinding(name: 'unknownNetworkStatus' | 'invalidRequestStatus', replies: readonly Answer[]): Fact {
  const failed = replies.find(({ status }) => status === null || status === 429 || status >= 500)
  if (failed !== undefined) return unknown(`rpc.${name}`, because(failed))
  const statuses = new Set(replies.map(({ status }) => status))
  const [status = null] = statuses
  const isOne = statuses.size === 1 && status !== null && status >= 400
  return value(['rpc', name], isOne ? status : null, replies.map(cite).join('; '))
}

/** For a finding that needs a number of credits: why there is none. */
export const uncharged = (reply: Answer): string =>
  is2xx(reply.status) ? `${cite(reply)} states no credits` : because(reply)

export const hasResult = ({ status, body }: Answer): boolean => is2xx(status) && isObject(body) && 'result' in body
