import { documentedContract } from '../contract/documented.ts'
import { moneyHeaderNames } from '../contract/headers.ts'
import { probeNames, probeOf } from '../contract/probes.ts'
import { familyOf } from '../contract/statements.ts'
import { isObject } from '../lib/json.ts'
import { pico } from '../lib/money.ts'
import { is2xx } from '../lib/numbers.ts'
import { statedRequests } from '../observation/limit-scope.ts'
import { bodyText, isReplayed } from '../observation/response.ts'
import type { ReplayStep } from '../plan/plan.ts'
import { type Answer, type Ask, isRefused, statedUnder } from './asker.ts'
import { brokenClauses } from './judge-answers.ts'
import {
  because,
  type Conclusion,
  cite,
  type Fact,
  isAbsent,
  isService,
  type Known,
  probeAsk,
  type Question,
  type RpcUse,
  refusalStatus,
  rpcCall,
  unknown,
  value,
} from './question.ts'

const { rpc } = documentedContract

export const protocolProbes = probeNames.filter(name => probeOf(name).clause.startsWith('rpc.protocol.'))

/** Before the first credits header: the highest documented price of a call, with some room. */
const firstWorstPico = pico(rpc.usdPerCredit) * 30n * 4n * 2n

/** Whether a body has the members of a JSON-RPC response; that it may lack its version is a defect of a node. */
export const isRpcAnswer = (body: unknown): boolean =>
  isObject(body) && (body.jsonrpc === '2.0' || 'id' in body) && ('result' in body || 'error' in body)

/** The first single call: through the proxy, or to a node at the address itself. */
export const singleCall: Question = {
  name: 'single RPC call',
  calls: 2,
  applies: ({ rpc: use }) => use === null,
  answer: async (known, { ask }) => {
    const network = firstNetwork(known)
    const proxied = { network, family: familyOf(network), isNode: false, credits: null, worstPico: firstWorstPico }
    const unjudged: Answer[] = []
    if (known.networks.length === 0 && known.prefix === null) {
      // A node may answer at any path, so its own address comes first.
      const node = { ...proxied, family: 'evm', isNode: true, worstPico: 0n } as const
      const direct = await ask(rpcAsk(node), contract => ({ ...contract, paths: { ...contract.paths, rpc: '' } }))
      if (is2xx(direct.status) && isRpcAnswer(direct.body)) {
        const findings = [value(['paths', 'rpc'], '', direct, 'a JSON-RPC node answers at the address itself')]
        return { findings, known: { rpc: node } }
      }
      unjudged.push(direct)
    }
    const reply = await ask(rpcAsk(proxied))
    if (is2xx(reply.status) && isRpcAnswer(reply.body)) return { ...concludeSingle(proxied, reply), unjudged }
    const isMissing = isAbsent(reply) && known.networks.length === 0
    return {
      findings: [isMissing ? missingRpc(reply) : unknown('rpc', because(reply))],
      unjudged: [...unjudged, reply],
    }
  },
}

/** One or more calls, at most `worst` times as expensive as one of a standard method. */
export const rpcAsk = (use: RpcUse, more: Parameters<typeof rpcCall>[1] = {}, worst = 1): Ask => ({
  call: rpcCall(use, more),
  worstPico: use.worstPico * BigInt(worst),
})

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
export function creditsIn(answer: Answer): { readonly credits: number | null; readonly cost: string | null } {
  const credits = statedUnder(answer, `-${moneyHeaderNames.rpcCredits}`) ?? ''
  const cost = statedUnder(answer, `-${moneyHeaderNames.rpcCostUsd}`) ?? ''
  return {
    credits: /^\d{1,9}$/.test(credits) ? Number(credits) : null,
    cost: /^\d{1,9}(\.\d{1,12})?$/.test(cost) ? cost : null,
  }
}

function concludeSingle(use: RpcUse, reply: Answer): Conclusion {
  const { credits, cost } = creditsIn(reply)
  const { limit } = statedRequests(reply.headers, documentedContract)
  const isCredible = limit !== null && Number.isSafeInteger(limit) && limit > 0 && limit <= maxPerMinute
  const limits = isCredible
    ? value(['rpc', 'requestsPerMinute'], limit, reply, 'x-ratelimit-limit-requests')
    : limit === null
      ? unknown('rpc.requestsPerMinute', `${cite(reply)} has no x-ratelimit-limit-requests`)
      : value(['rpc', 'requestsPerMinute'], null, reply, 'no credible x-ratelimit-limit-requests')
  const worstPico = cost === null ? use.worstPico : pico(cost) * 2n
  return { findings: [limits], known: { rpc: { ...use, credits, worstPico } } }
}

const maxPerMinute = 6_000_000

/** A batch with unsupported methods, one of which no node has. A refusal must name it. */
const mixedProbe = 'unsupported-methods-in-batch'
const noMethod = probeOf(mixedProbe).names.at(-1) ?? ''

/**
 * Batches of a method that does not exist: a refusal names it, or the length of the batch, and costs nothing. No check
 * knows that the method does not exist, so only the probes are judged.
 */
export const batches: Question = {
  name: 'batches',
  calls: 12,
  applies: ({ rpc: use }) => use !== null,
  answer: async (known, { ask }) => {
    const { rpc: use } = known
    if (use === null) return { findings: [] }
    const unjudged: Answer[] = []
    const sendOnce = async (count: number, isBeyondLimit: boolean): Promise<Answer> => {
      const reply = await ask({ ...rpcAsk(use, { methods: [[noMethod, 1]], batchSize: count }, count), isBeyondLimit })
      unjudged.push(reply)
      return reply
    }
    const send = async (count: number): Promise<Answer> => {
      if (isService(known) || count <= shortBatch) return sendOnce(count, false)
      const reply = await sendOnce(count, true)
      // A limit of items refuses it however long it waits. A single call, which may wait, tells whether others are served.
      return isRefused(reply) && is2xx((await ask(rpcAsk(use))).status) ? sendOnce(count, true) : reply
    }
    const shortSize = isService(known) ? 5 : shortBatch
    const short = isService(known) ? await ask(probeAsk(mixedProbe, use.worstPico * 5n)) : await send(shortSize)
    const named = isService(known) ? namesFacts(short, known) : []
    // If batches are not refused, a single method may not be, either.
    if (isService(known) && short.status !== 400) await ask(probeAsk('unlisted-method', use.worstPico))
    if (short.status === null || isRefused(short) || short.status >= 500)
      return { findings: [...named, unknown('rpc.batchLimit', because(short))], unjudged }
    const isTooLong = (reply: Answer): boolean => outcomeOf(reply) !== outcomeOf(short)
    const { low, high, last } = await searchLimit(shortSize, send, isTooLong)
    // Without the name of a method, nothing shows that a long batch was refused for its methods.
    if (high === Number.POSITIVE_INFINITY && !isTold(short)) {
      const why = `${cite(short)}: no refusal says whether a batch is too long`
      return { findings: [...named, unknown('rpc.batchLimit', why)], unjudged }
    }
    const limit = limitFindings(low, high, last).filter(({ kind }) => kind !== 'difference' || isService(known))
    return { findings: [...named, ...limit], known: { batchLimit: low, hasBatchLimit: high - low === 1 }, unjudged }
  },
}

/** Of a node. Its limit may count the items of a longer one, and so refuse that alone. */
const shortBatch = 2

/** Whether a limit refuses a request, and not only a batch for its length. */
export const isLimitReached = (reply: Answer): boolean => {
  const request = reply.observation?.request
  return isRefused(reply) && !(request?.kind === 'rpc' && request.items.length > shortBatch)
}

/** Whether the refusal of a batch names all of its unsupported methods. */
function namesFacts(mixed: Answer, { contract }: Known): readonly Fact[] {
  if (mixed.status !== 400) return []
  const isNamed = brokenClauses([mixed], contract).every(({ clause }) => clause !== 'rpc.unsupported-method.named')
  const evidence = isNamed ? 'the message names each method' : 'the message does not name each method'
  return [value(['rpc', 'namesEveryMethod'], isNamed, mixed, evidence)]
}

/** Whether the batch ran, or its refusal names a method. */
const isTold = (answer: Answer): boolean => /^200$| named$/.test(outcomeOf(answer))

/** A refusal without the parts that depend on the batch: its status, and whether it names the method, or else its words. */
function outcomeOf(answer: Answer): string {
  const text = textOf(answer)
  // A node may refuse a batch with a success that has one error, alone or in a list.
  if (is2xx(answer.status) && Array.isArray(answer.body) && answer.body.length > 1) return '200'
  const words = text.includes(noMethod) ? 'named' : text.replaceAll(/[^a-z ]/gi, '').slice(0, 40)
  return `${answer.status} ${words}`
}

const textOf = ({ observation }: Answer): string =>
  observation === null || observation.response === null ? '' : bodyText(observation.response)

/** Longer batches are not tried. */
const longestBatch = 1_000

/** A batch of `low` items is not too long, and one of `high` is. `last` is the answer that ended the search. */
type LimitSearch = { readonly low: number; readonly high: number; readonly last: Answer | null }

const usualLimits = [5, 10, 20, 25, 50, 100, 128, 200, 250, 256, 500, 512, 1_000] as const

/** Halves the usual limits that are left, then the range. */
function nextLength(low: number, high: number): number {
  const left = usualLimits.filter(each => each >= low && each < high)
  const middle = left[Math.floor(left.length / 2)]
  if (middle !== undefined && middle + 1 < high) return middle + 1
  if (middle !== undefined && middle > low) return middle
  return high === Number.POSITIVE_INFINITY ? longestBatch + 1 : Math.floor((low + high) / 2)
}

async function searchLimit(
  short: number,
  send: (count: number) => Promise<Answer>,
  isTooLong: (answer: Answer) => boolean,
): Promise<LimitSearch> {
  let low = short
  let high = Number.POSITIVE_INFINITY
  let last: Answer | null = null
  const guesses: number[] = [rpc.batchLimit + 1, rpc.batchLimit]
  while (high - low > 1 && low <= longestBatch) {
    const next = guesses.find(each => each > low && each < high) ?? nextLength(low, high)
    last = await send(next)
    if (last.status === null || isRefused(last) || last.status >= 500) break
    if (isTooLong(last)) {
      high = next
      // The message often states the limit.
      const numbers =
        textOf(last)
          .slice(0, 2_000)
          .match(/\d{1,9}/g) ?? []
      for (const number of numbers) guesses.unshift(Number(number) + 1, Number(number))
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
  const text = `the limit is ${range}`
  const broken = { kind: 'difference', clause: 'rpc.batch.limit', text, evidence: cite(last), always: true } as const
  return [open, value(path, low, last, range), broken]
}

/** Requests that are no valid calls. Nothing is charged for them. */
export const invalidCalls: Question = {
  name: 'invalid RPC requests',
  calls: 3,
  applies: known => known.rpc !== null && isService(known),
  answer: async ({ rpc: use }, { ask }) => {
    const send = (probe: string) => ask(probeAsk(probe, use?.worstPico ?? 0n))
    const nowhere = await send('unknown-network')
    const invalid = [await send('rpc-without-method'), await send('rpc-of-version-1')]
    return {
      findings: [statusFinding('unknownNetworkStatus', [nowhere]), statusFinding('invalidRequestStatus', invalid)],
    }
  },
}

/** What a node answers to requests that are no ordinary calls. They change nothing, and a run would judge them alike. */
export const nodeRules: Question = {
  name: 'rules of JSON-RPC',
  calls: protocolProbes.length,
  applies: ({ rpc: use }) => use?.isNode === true,
  answer: async ({ hasBatchLimit }, { ask }) => {
    for (const probe of protocolProbes)
      if (hasBatchLimit || probeOf(probe).clause !== 'rpc.protocol.batch-limit') await ask(probeAsk(probe, 0n))
    return { findings: [] }
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

/** What a repeated idempotency key gets: with the same body, with another one, at the same time, and if it is invalid. */
export const replays: Question = {
  name: 'replays',
  calls: 7,
  applies: ({ rpc: use }) => use !== null && !use.isNode,
  answer: async ({ rpc: use }, { ask, replies }) => {
    if (use === null) return { findings: [] }
    const { worstPico } = use
    const send = (first: number, step: ReplayStep, concurrent = false) => {
      const terms = { concurrent, duplicates: 1, conflictRatio: 1, otherCallerRatio: 0, otherKeyRatio: 0 }
      const call = { kind: 'replay', of: rpcCall(use), ...terms, repeatAfterMs: null } as const
      return ask({ call, step, first, worstPico })
    }
    const first = replies().length + 1
    const original = await send(first, 'original')
    if (!is2xx(original.status) || !isRpcAnswer(original.body))
      return { findings: [unknown('idempotency', because(original))] }
    const repeated = await send(first, 'duplicate')
    await send(first, 'conflict')
    const race = replies().length + 1
    const racing = await Promise.all([send(race, 'original', true), send(race, 'duplicate', true)])
    const dotted = [await ask(probeAsk('key-with-a-dot', worstPico))]
    if (is2xx(dotted[0]?.status ?? null)) dotted.push(await ask(probeAsk('key-with-a-dot', worstPico)))

    const lifetime = unknown('idempotency.ttlMs', 'would take as long as the document promises, 24 hours')
    if (!is2xx(repeated.status)) return { findings: [lifetime, unknown('idempotency', because(repeated))] }
    if (!isReplay(repeated)) return { findings: [lifetime, missingReplays(original, repeated)] }
    return { findings: [lifetime, raceFact(racing), ...dottedKeyFacts(dotted)] }
  },
}

const isReplay = ({ observation }: Answer): boolean =>
  isReplayed({ response: observation?.response ?? null }, documentedContract)

function missingReplays(original: Answer, repeated: Answer): Fact {
  const isSame = JSON.stringify(original.body) === JSON.stringify(repeated.body)
  return {
    kind: 'missing',
    clauses: ['rpc.replay.*'],
    text: `replays: a repeated request has no Idempotent-Replayed: true${isSame ? ', although the body is the same' : ''}`,
    evidence: cite(repeated),
  }
}

function raceFact(replies: readonly Answer[]): Fact {
  const path = ['idempotency', 'concurrent'] as const
  const charged = replies.filter(reply => is2xx(reply.status) && !isReplay(reply) && creditsIn(reply).credits !== 0)
  const evidence = replies.map(cite).join('; ')
  if (charged.length > 1)
    return value(path, 'best-effort', evidence, 'both of two concurrent requests were answered as the first')
  return unknown(path.join('.'), `${evidence}: one charge in a single race, which does not prove a promise`)
}

/** What a key with a dot gets, which the documented pattern excludes. If it works like a valid key, no value says so. */
function dottedKeyFacts(replies: readonly Answer[]): readonly Fact[] {
  const path = ['idempotency', 'badKey'] as const
  const [last] = replies.slice(-1)
  if (last === undefined) return []
  if (replies.length === 1 && refusalStatus(last) !== null) return [value(path, 'rejected', last, 'a key with a dot')]
  if (!is2xx(last.status)) return [unknown(path.join('.'), because(last))]
  return replies.some(isReplay) ? [] : [value(path, 'ignored', last, 'a key with a dot has no effect')]
}
