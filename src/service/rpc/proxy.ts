import type { Contract, Network } from '../../contract/contract.ts'
import { moneyHeadersOf } from '../../contract/headers.ts'
import type { Draw } from '../../contract/limiters.ts'
import { promisesAny } from '../../contract/promises.ts'
import { isJson, ownMember, parseUncut } from '../../lib/json.ts'
import { pico, roundPico } from '../../lib/money.ts'
import { randomStream } from '../../lib/random.ts'
import { type Account, currencyFor } from '../account.ts'
import type { Behavior } from '../behavior.ts'
import { logNormal, type ServiceLatency } from '../capacity.ts'
import type { Strike } from '../faults.ts'
import type { Identifiers } from '../identifiers.ts'
import { keyedReplies, type StoreReply } from '../keyed-replies.ts'
import type { Admission, Limiter } from '../limiter.ts'
import { errorReply, type Reply, type RequestState } from '../message.ts'
import { failureReply } from '../upstream/failure.ts'
import type { RpcUpstream } from '../upstream/rpc-upstream.ts'
import { answerByProtocol, isErrorResponse, type ParsedItem, parseItem, restoreLongIds, withLongIds } from './item.ts'
import { simulatedNode } from './node.ts'
import type { CachedReply } from './replays.ts'

type RpcProxyDeps = {
  readonly contract: Contract
  readonly behavior: Behavior
  readonly limiter: Limiter
  readonly identifiers: Identifiers
  readonly seed: number
  readonly maybeFail: Strike
  /** The reply to an account whose balance does not cover a request. */
  readonly paymentRequired: (state: RequestState, account: Account) => Reply
  readonly timing: ServiceLatency
  /** null: nodes are simulated. */
  readonly rpcUpstream: RpcUpstream | null
}

const anyNetwork = { limiter: 'rpc', network: null } as const satisfies Draw

/** `leaves` aborts when the caller disconnects. */
export type RpcHandler = (
  state: RequestState,
  account: Account,
  slug: string,
  leaves: AbortSignal,
) => Reply | Promise<Reply>

/** Handles JSON-RPC, single or batch: forwards it to a node and bills it in credits. */
export function rpcProxy(options: RpcProxyDeps): RpcHandler {
  const { contract, behavior, limiter, identifiers, seed, timing, maybeFail, paymentRequired, rpcUpstream } = options
  const { rpc } = contract
  const headers = moneyHeadersOf(contract)
  const networks = new Map(Object.entries(rpc.networks))
  const node = simulatedNode(seed, rpc.reorgDepth)
  let forwarded = 0
  const bill = rpcBill(rpc, behavior)
  const delays = randomStream(seed, 'rpc-delays')
  const keyed = keyedReplies({ contract, behavior })
  const hasKeys = contract.idempotency.calls.includes('rpc')
  const isNode = rpcUpstream === null && promisesAny(contract, ['rpc.protocol.*'])
  const turns = rpcTurns(rpc.oneAtATime, (state, customMessage) => limiter.reject(state, anyNetwork, { customMessage }))

  const nodeOptions = (state: RequestState, slug: string, network: Network) => ({
    batchLimit: behavior.batchLimit,
    isKnown: (method: string) => behavior.forwards(method, network),
    run: (item: ParsedItem) => node(slug, network, item, { wallMs: state.arrivedMs, lag: 0 }),
  })

  return (state, account, slug, leaves) => {
    const admission = limiter.enter(state, account, { ...anyNetwork, network: slug })
    if (!admission.admitted) return tooMany(state, admission)
    return turns(state, account, () => respond(state, account, slug, leaves))
  }

  function respond(state: RequestState, account: Account, slug: string, leaves: AbortSignal): Reply | Promise<Reply> {
    if (!isJson(state.request.headers['content-type']))
      return errorReply(state, 415, 'Content-Type must be application/json')
    const network = behavior.network(slug, networks)
    if (network === undefined) return errorReply(state, 400, 'Unsupported RPC network')

    const handled = {
      first: (store: StoreReply | undefined) => forward(state, account, slug, network, leaves, store),
      again: (stored: CachedReply) => replay(state, account, stored),
    }
    return hasKeys ? keyed(state, account, slug, handled) : handled.first(undefined)
  }

  function forward(
    state: RequestState,
    account: Account,
    slug: string,
    network: Network,
    leaves: AbortSignal,
    store?: StoreReply,
  ): Reply | Promise<Reply> {
    const ofNode = isNode ? answerByProtocol(state.request.body, nodeOptions(state, slug, network)) : null
    if (ofNode !== null) return nodeReply(state, { ...unbilled, requestId: identifiers.requestId(), text: ofNode }, 0)
    const { body } = state.request
    const request = parseRpcRequest(rpcUpstream === null ? withLongIds(body) : body, network, behavior)
    if ('rejected' in request) {
      charge(account, behavior.costPicoUsd(behavior.rejectionCredits(request.supported)))
      return errorReply(state, 400, request.rejected, request.more)
    }
    const heldPico = behavior.costPicoUsd(bill.estimate(request, network))
    if (!behavior.canPay(account, heldPico)) return paymentRequired(state, account)
    const fault = maybeFail(state)
    if (fault !== null) return fault

    const billed = (failed: readonly boolean[], text: string, afterMs: number): Reply => {
      const credits = bill.credits(request, network, failed)
      const costUsd = roundPico(behavior.costPicoUsd(credits), rpc.costDecimals)
      charge(account, pico(costUsd))
      const requestId = identifiers.requestId()
      const reply = { text, credits, costUsd, requestId, readyMs: state.arrivedMs + afterMs }
      store?.(reply)
      return nodeReply(state, reply, afterMs)
    }
    if (rpcUpstream !== null) {
      account.heldPico += heldPico
      const release = () => {
        account.heldPico -= heldPico
      }
      return rpcUpstream.forward(slug, request, leaves).then(
        responses => {
          release()
          const texts = responses.map(({ text }) => text)
          const failed = responses.map(response => response.failed)
          return billed(failed, request.batched ? `[${texts.join(',')}]` : texts.join(''), 0)
        },
        (cause: unknown) => {
          release()
          return failureReply(state, cause, { warn: rpcUpstream.warn, leaves })
        },
      )
    }
    const turn = forwarded++
    const responses = request.items.map((item, index) =>
      node(slug, network, item, { wallMs: state.arrivedMs, lag: behavior.nodeLag(turn, index) }),
    )
    const responsesSent = behavior.responses(responses, request.items)
    const text = restoreLongIds(JSON.stringify(request.batched ? responsesSent : responsesSent[0]))
    return billed(responses.map(isErrorResponse), text, logNormal(delays, timing.rpcMs, timing.rpcSigma))
  }

  function replay(state: RequestState, account: Account, stored: CachedReply): Reply {
    charge(account, behavior.replayChargePicoUsd(stored))
    state.headers['idempotent-replayed'] = 'true'
    return nodeReply(state, stored, Math.max(0, stored.readyMs - state.arrivedMs))
  }

  function charge(account: Account, picoUsd: bigint): void {
    if (picoUsd !== 0n) behavior.charge(account, { currency: currencyFor(account, picoUsd), pico: picoUsd })
  }

  function nodeReply(state: RequestState, { text, credits, costUsd, requestId }: NodeReply, afterMs: number): Reply {
    state.headers[headers.rpcCredits] = String(credits)
    state.headers[headers.rpcCostUsd] = costUsd
    state.headers['x-request-id'] = requestId
    return { status: 200, headers: state.headers, afterMs, body: { kind: 'whole', text } }
  }

  function tooMany(state: RequestState, { resetMs, limits }: Admission): Reply {
    const resetSeconds = Math.ceil(resetMs / 1000)
    state.headers['x-ratelimit-limit'] = String(limits.requests)
    state.headers['x-ratelimit-remaining'] = '0'
    state.headers['x-ratelimit-reset'] = String(resetSeconds)
    const customMessage = `The limit of ${limits.requests} RPC requests per minute is reached. Retry at ${resetSeconds}.`
    return limiter.reject(state, anyNetwork, { customMessage })
  }
}

const unbilled = { credits: 0, costUsd: '0', readyMs: 0 } as const

type NodeReply = Omit<CachedReply, 'fingerprint' | 'expiresMs'>

/**
 * Handles the RPC requests of an account one at a time, if the contract has this rule. A request waits for earlier
 * ones, or is rejected if the wait is too long.
 */
export function rpcTurns(
  rule: Contract['rpc']['oneAtATime'],
  reject: (state: RequestState, customMessage: string) => Reply,
): <R extends Reply | Promise<Reply>>(state: RequestState, account: Account, respond: () => R) => R | Reply {
  const busyUntilMs = new WeakMap<Account, number>()
  return (state, account, respond) => {
    if (rule === null) return respond()
    const waitMs = Math.max(0, (busyUntilMs.get(account) ?? 0) - state.arrivedMs)
    if (waitMs > rule.waitMs) return reject(state, rule.message)
    const reply = respond()
    if (reply instanceof Promise) throw new Error('turns need replies whose time is known')
    const afterMs = waitMs + reply.afterMs
    busyUntilMs.set(account, state.arrivedMs + afterMs)
    return { ...reply, afterMs }
  }
}

type RpcBill = {
  /** The credits of the request if every item succeeds. */
  readonly estimate: (request: RpcRequest, network: Network) => number
  /** `failed`: which items got an error, in their order. */
  readonly credits: (request: RpcRequest, network: Network, failed: readonly boolean[]) => number
}

/** Credits per item: the base of the chain times the multiplier of the method's tier, or less if it failed. */
function rpcBill({ multipliers, methods }: Contract['rpc'], behavior: Behavior): RpcBill {
  const multiplier = (method: string, { family }: Network) => {
    return multipliers[ownMember(methods[family], method) ?? 'standard']
  }
  return {
    estimate: ({ items }, network) =>
      items.reduce((total, { method }) => total + (network.baseCredits ?? 0) * multiplier(method, network), 0),
    credits: ({ items, batched }, network, failed) =>
      behavior.totalCredits(
        items.map(({ method }, index) =>
          behavior.itemCredits({
            method,
            family: network.family,
            baseCredits: network.baseCredits ?? 0,
            multiplier: multiplier(method, network),
            failed: failed[index] === true,
            batched,
          }),
        ),
      ),
  }
}

type RpcRequest = { readonly items: readonly ParsedItem[]; readonly batched: boolean }

type RpcRejection = {
  readonly rejected: string
  readonly more?: Readonly<Record<string, unknown>>
  /** How many of its items could have run. */
  readonly supported: number
}

/** The items of a body, single or batch, or why the request is rejected: for example a method that `network` lacks. */
function parseRpcRequest(
  body: Buffer | string,
  network: Network,
  behavior: Pick<Behavior, 'batchLimit' | 'forwards' | 'named' | 'runs'>,
): RpcRequest | RpcRejection {
  const value = parseUncut(body)
  if (value === undefined) return { rejected: 'Invalid JSON request', supported: 0 }
  const batched = Array.isArray(value)
  const values: readonly unknown[] = batched ? value : [value]
  if (values.length === 0) return { rejected: 'A batch must not be empty', supported: 0 }
  if (values.length > behavior.batchLimit) {
    return { rejected: `A batch must not have more than ${behavior.batchLimit} items`, supported: 0 }
  }

  const items: ParsedItem[] = []
  for (const [index, value] of values.entries()) {
    const item = parseItem(value)
    if (typeof item === 'string') {
      const more = { issues: [{ path: [index], message: item }] }
      return { rejected: 'Invalid JSON-RPC request', more, supported: 0 }
    }
    items.push(item)
  }

  const unsupported = items.flatMap(({ method }) => (behavior.forwards(method, network) ? [] : [method]))
  if (behavior.runs(unsupported.length, items.length)) return { items, batched }
  const names = behavior.named([...new Set(unsupported)])
  const rejected = ['Unsupported RPC method', ...(names.length === 0 ? [] : [names.join(', ')])].join(': ')
  return { rejected, supported: items.length - unsupported.length }
}
