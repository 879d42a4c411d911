import type { Contract } from '../contract/contract.ts'
import { documentedContract } from '../contract/documented.ts'
import type { Clock } from '../lib/clock.ts'
import { formatPico, pico } from '../lib/money.ts'
import { is2xx } from '../lib/numbers.ts'
import {
  type Account,
  type AccountHolder,
  applyDueCharges,
  openAccount,
  remainingPicoUsd,
  walletHolder,
} from './account.ts'
import { defaultBehavior } from './behavior.ts'
import { createSlots, delayReply, type ServiceCapacity, type ServiceLatency } from './capacity.ts'
import { chatHandler } from './chat/chat.ts'
import { type Fault, faultReply, injectFaults } from './faults.ts'
import { httpDates, identifiers } from './identifiers.ts'
import { type Lie, withOverrides } from './lies/lie.ts'
import { abuseBlock, limiter } from './limiter.ts'
import { controlLimits, modelList, networkList, rateLimitLogs, rateLimits } from './lists.ts'
import {
  compressReply,
  errorReply,
  paymentRequiredReply,
  type Reply,
  type RequestState,
  type ServiceRequest,
} from './message.ts'
import { resourceHandler } from './resources.ts'
import { router } from './router.ts'
import { rpcProxy } from './rpc/proxy.ts'
import type { ChatUpstream } from './upstream/chat-upstream.ts'
import type { RpcUpstream } from './upstream/rpc-upstream.ts'
import type { Chain } from './wallets/facilitator.ts'
import { createWallets, defaultWalletSettings, type WalletSettings } from './wallets/wallets.ts'

type ServiceOptions = {
  readonly contract: Contract
  readonly clock: Clock
  readonly seed: number
  /** Opening balances of every account, as decimals. */
  readonly openingBalanceUsd: string
  readonly openingBalanceDiem: string
  readonly timing: ServiceLatency
  /** Random errors; none by default. */
  readonly faults?: readonly Fault[]
  /** The capacity; unlimited by default. */
  readonly capacity?: ServiceCapacity | null
  readonly wallets?: WalletSettings
  /** Seeded contract violations; none for the service as documented. */
  readonly lies: readonly Lie[]
  /** Servers behind the service; null: simulated, as by default. */
  readonly chatUpstream?: ChatUpstream | null
  readonly rpcUpstream?: RpcUpstream | null
}

/** The documented service without sockets: requests and replies are values, and time comes from the clock. */
export type Service = {
  readonly respond: (request: ServiceRequest) => Reply
  /**
   * For a request that takes time: a payment, the first sign-in, or one to forward, until `leaves` aborts. null: `respond`
   * replies at once.
   */
  readonly respondLater: (request: ServiceRequest, leaves?: AbortSignal) => Promise<Reply> | null
  /** The simulated chains on which wallets pay. Tests count their money. */
  readonly chains: readonly Chain[]
}

export const bodyLimitBytes = 35 * 1024 * 1024
/** Of a caller that never leaves. */
const never = new AbortController().signal
const serviceVersion = '20260801.120000'
const hostName = 'reference-1'

export function createService(options: ServiceOptions): Service {
  const { clock, seed, timing, lies } = options
  const contract = withModels(options.contract)
  const prefix = contract.headerPrefix
  const timestampHeader = contract.requestTimestampHeader
  const openingPicoUsd = pico(options.openingBalanceUsd)
  const openingPicoDiem = pico(options.openingBalanceDiem)
  const behavior = withOverrides(defaultBehavior(contract), contract, lies)
  const names = identifiers(seed)
  const limits = limiter(contract, behavior)
  const guard = abuseBlock(contract, behavior)
  const route = router(contract)
  const httpDate = httpDates()
  const slots = createSlots(options.capacity ?? null, seed)
  const failAtRandom = injectFaults(options.faults ?? [], seed)
  /** Requests that passed all checks. They take a slot when they succeed. */
  const admitted = new WeakSet<RequestState>()
  const shared = {
    contract,
    behavior,
    limiter: limits,
    identifiers: names,
    seed,
    timing,
    maybeFail,
    chatUpstream: options.chatUpstream ?? null,
    rpcUpstream: options.rpcUpstream ?? null,
    paymentRequired: (state: RequestState, account: Account) =>
      account.wallet === undefined
        ? paymentRequiredReply(state, contract)
        : wallets.offers.insufficient(state, account),
  }
  const chat = chatHandler(shared)
  const rpc = rpcProxy(shared)
  const resources = resourceHandler(shared)
  const networks = networkList(contract, behavior)
  const models = modelList(contract, behavior)
  const ownLimits = rateLimits(contract, behavior)
  const ownRefusals = rateLimitLogs(behavior)

  const accounts = new Map<string, Account>()
  const byAuthorization = new Map<string | undefined, Account>()
  const settings = options.wallets ?? defaultWalletSettings
  const walletCreditPicoUsd = pico(settings.creditUsd)
  const wallets = createWallets({
    contract,
    rules: behavior,
    seed,
    settings,
    accountOf: walletAccount,
    paymentId: names.requestId,
  })

  return {
    chains: wallets.chains,
    respond: request => {
      const reply = respond(request, never)
      if (reply instanceof Promise) throw new Error('a forwarded request needs respondLater')
      return reply
    },
    respondLater: (request, leaves = never) => {
      const payment = wallets.paymentOf(request)
      const { kind } = route(request.method, request.path)
      if (payment === null || kind !== 'top-up') {
        const preparation = wallets.preparation(request)
        if (preparation !== null) return preparation.then(() => respond(request, leaves))
        const forwards = kind === 'chat' ? shared.chatUpstream : kind === 'rpc' ? shared.rpcUpstream : null
        return forwards === null ? null : Promise.resolve(respond(request, leaves))
      }
      const arrivedMs = clock.wallMs()
      wallets.applyDueCredits(arrivedMs)
      const state = received(request, arrivedMs, null)
      return wallets.pay(state, payment).then(reply => send(reply, state))
    },
  }

  function respond(request: ServiceRequest, leaves: AbortSignal): Reply | Promise<Reply> {
    const arrivedMs = clock.wallMs()
    wallets.applyDueCredits(arrivedMs)
    const signIn = wallets.signIn(request, arrivedMs)
    if (signIn !== null && signIn.kind !== 'signed-in') {
      const state = received(request, arrivedMs, null)
      return send(wallets.refuseSignIn(state, signIn), state)
    }
    const account = signIn === null ? accountOf(request.headers.authorization) : walletAccount(signIn.address)
    const state = received(request, arrivedMs, account)
    if (account === null) return send(respondToAnonymous(state), state)
    applyDueCharges(account, arrivedMs, behavior.charge)
    writeBalances(account, state.headers)
    const blocked = guard.rejectBlocked(state, account)
    const finish = (reply: Reply): Reply => {
      // Nobody receives the reply to a caller that left, so it is no failure of its own.
      if (!leaves.aborted) guard.record(state, account, reply, blocked !== null)
      if (account.wallet !== undefined && is2xx(reply.status)) writeRemaining(state, account)
      return send(reply, state)
    }
    const reply = blocked ?? respondToAccount(state, account, leaves)
    return reply instanceof Promise ? reply.then(finish) : finish(reply)
  }

  function received(request: ServiceRequest, arrivedMs: number, account: Account | null): RequestState {
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      date: httpDate(arrivedMs),
      'cf-ray': names.ray(),
      [`${prefix}version`]: serviceVersion,
      [`${prefix}timestamp`]: new Date(arrivedMs).toISOString(),
    }
    const timestamp = timestampHeader === null ? undefined : request.headers[timestampHeader]
    if (timestamp !== undefined && /^\d+$/.test(timestamp)) headers[`${prefix}request-timestamp-ms`] = timestamp
    return { request, route: route(request.method, request.path), account, arrivedMs, headers }
  }

  function maybeFail(state: RequestState): Reply | null {
    const fault = failAtRandom(state)
    if (fault !== null) return fault
    if (slots.isFull(state.arrivedMs)) return faultReply(state, 503)
    admitted.add(state)
    return null
  }

  function send(reply: Reply, state: RequestState): Reply {
    if (reply.status >= 400) state.headers[`${prefix}host-name`] = hostName
    const finished = behavior.finish(reply, state)
    const encoding = behavior.encoding(state.request.headers['accept-encoding'], finished, state)
    const encoded =
      encoding === null ? finished : compressReply(finished, encoding, text => behavior.compress(text, encoding))
    return is2xx(reply.status) && admitted.has(state) ? delayReply(encoded, slots.take(state.arrivedMs)) : encoded
  }

  function respondToAccount(state: RequestState, account: Account, leaves: AbortSignal): Reply | Promise<Reply> {
    const { request, route } = state
    const tooLarge = bodyBytes(request) > bodyLimitBytes
    if (route.kind === 'rpc' && !tooLarge) return rpc(state, account, route.network, leaves)
    if (route.kind === 'chat' && !tooLarge) return chat(state, account, leaves)
    if (route.kind === 'resource' && !tooLarge) return resources(state, account, route.resource)
    if (!limits.enter(state, account, 'control', controlLimits).admitted) return limits.reject(state, 'control')
    if (tooLarge) return errorReply(state, 413, 'The request body is too large', { code: 'PAYLOAD_TOO_LARGE' })
    if (route.kind === 'rate-limits') return ownLimits(state, account)
    return route.kind === 'rate-limit-logs' ? ownRefusals(state, account) : respondPublicly(state)
  }

  /** Public routes need no key, but every route rejects a wrong one. */
  function respondToAnonymous(state: RequestState): Reply {
    const { route, request } = state
    if (needKeys.includes(route.kind) || request.headers.authorization !== undefined)
      return offersPayment(state) ? wallets.offers.discovery(state) : errorReply(state, 401, 'Authentication failed')
    return respondPublicly(state)
  }

  /** Whether a caller without credentials learns how to pay, and not just that it may not enter. */
  function offersPayment({ request }: RequestState): boolean {
    const { noKey } = contract.auth
    return request.headers.authorization === undefined && noKey.length > 0 && !noKey.includes(401)
  }

  function respondPublicly(state: RequestState): Reply {
    switch (state.route.kind) {
      case 'top-up':
        return wallets.offers.topUp(state)
      case 'wallet-balance':
        return wallets.balance(state, state.route.address)
      case 'solana-node':
        return wallets.solanaNode(state)
      case 'networks':
        return networks(state)
      case 'models':
        return models(state)
      case 'wrong-method':
        state.headers.allow = state.route.allow
        return errorReply(state, 405, 'Method not allowed')
      default:
        return errorReply(state, 404, 'Not found')
    }
  }

  function accountOf(authorization: string | undefined): Account | null {
    const known = byAuthorization.get(authorization)
    if (known !== undefined) return known
    const key = behavior.keyOf(authorization)
    const isKeyless = authorization === undefined && !contract.auth.required
    const holder = isKeyless ? keylessHolder : key === null ? null : behavior.accountHolder(key)
    if (holder === null) return null
    const id = `${holder.tier}/${holder.name}`
    const account = accounts.get(id) ?? openAccount(holder, openingPicoUsd, openingPicoDiem)
    accounts.set(id, account)
    byAuthorization.set(authorization, account)
    return account
  }

  function walletAccount(address: string): Account {
    const holder = walletHolder(address)
    const id = `${holder.tier}/${holder.name}`
    const account = accounts.get(id) ?? openAccount(holder, walletCreditPicoUsd, 0n)
    accounts.set(id, account)
    return account
  }

  /** What an inference request leaves to a wallet. */
  function writeRemaining({ route, headers }: RequestState, account: Account): void {
    const isInference = route.kind === 'chat' || route.kind === 'rpc'
    if (isInference || (route.kind === 'resource' && route.resource.isInference))
      headers['x-balance-remaining'] = formatPico(remainingPicoUsd(account, route.kind === 'chat'))
  }

  /** The balances before the request. A profile may leave out those that are zero. */
  function writeBalances({ picoUsd, picoDiem }: Account, headers: Record<string, string>): void {
    const always = contract.billing.balanceHeaders
    if (always || picoUsd !== 0n) headers[`${prefix}balance-usd`] = formatPico(picoUsd)
    if (always || picoDiem !== 0n) headers[`${prefix}balance-diem`] = formatPico(picoDiem)
  }
}

const needKeys: readonly RequestState['route']['kind'][] = ['rpc', 'chat', 'resource', 'rate-limits', 'rate-limit-logs']

/** A profile that names no models leaves them to the service. */
const withModels = (contract: Contract): Contract =>
  contract.models.length === 0 ? { ...contract, models: documentedContract.models } : contract

/** Everybody without a key, where keys are optional. */
const keylessHolder: AccountHolder = { tier: 'default', name: 'keyless', means: 'usual' }

/** The length received, or the announced one if the server stopped reading. */
function bodyBytes({ body, headers }: ServiceRequest): number {
  const received = typeof body === 'string' ? Buffer.byteLength(body) : body.length
  return Math.max(received, Number(headers['content-length'] ?? 0))
}
