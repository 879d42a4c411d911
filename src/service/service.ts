import type { Contract } from '../contract/contract.ts'
import { documentedContract } from '../contract/documented.ts'
import { balanceRemainingHeader, type HeaderRule, headerRulesOf, moneyHeadersOf } from '../contract/headers.ts'
import { controlDraw } from '../contract/limiters.ts'
import type { AddedSecrets } from '../contract/requests/additions.ts'
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
import { createCreditHeaders } from './credit-headers.ts'
import { createDialect, createReader, createReplayMark } from './dialect.ts'
import { createEndpoints } from './endpoints.ts'
import { type Fault, faultReply, injectFaults } from './faults.ts'
import { createFurtherLimits } from './further-limits.ts'
import { httpDates, identifiers } from './identifiers.ts'
import { type Lie, withOverrides } from './lies/lie.ts'
import { abuseBlock, drawOf, limiter } from './limiter.ts'
import {
  compressReply,
  errorReply,
  paymentRequiredReply,
  type Reply,
  type RequestState,
  type ServiceRequest,
} from './message.ts'
import { router } from './router.ts'
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
  /** What the secret headers must hold that the profile adds to each request; one without an entry may hold anything. */
  readonly addedSecrets?: AddedSecrets
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
const hostName = 'reference-1'

export function createService(options: ServiceOptions): Service {
  const { clock, seed, timing, lies } = options
  const { spoken: contract, translate } = createDialect(withModels(options.contract))
  const openingPicoUsd = pico(options.openingBalanceUsd)
  const markReplay = createReplayMark(contract)
  const withCredits = createCreditHeaders(contract, openingPicoUsd)
  const understand = createReader(contract, options.addedSecrets ?? {})
  const prefix = contract.headerPrefix
  const timestampHeader = contract.requestTimestampHeader
  const { usdBalance, diemBalance } = moneyHeadersOf(contract)
  const samples = samplesOf(contract, ['every', 'present'])
  const accountSamples = samplesOf(contract, ['account'])
  const inferenceSamples = samplesOf(contract, ['inference'])
  const openingPicoDiem = pico(options.openingBalanceDiem)
  const behavior = withOverrides(defaultBehavior(contract), contract, lies)
  const names = identifiers(seed)
  /** Their headers are those of the profile. */
  const further = createFurtherLimits(options.contract, behavior)
  const limits = limiter(contract, behavior, further)
  const guard = abuseBlock(contract, behavior, limits)
  const route = router(contract)
  const httpDate = httpDates()
  const slots = createSlots(options.capacity ?? null, seed)
  const failAtRandom = injectFaults(options.faults ?? [], seed)
  /** Requests that passed all checks. They take a slot when they succeed. */
  const admitted = new WeakSet<RequestState>()
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

  const endpointOf = createEndpoints({
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
    wallets,
    openingPicoUsd,
  })

  return {
    chains: wallets.chains,
    respond: sent => {
      const reply = respond(understand(sent), never)
      if (reply instanceof Promise) throw new Error('a forwarded request needs respondLater')
      return reply
    },
    respondLater: (sent, leaves = never) => {
      const request = understand(sent)
      const payment = wallets.paymentOf(request)
      const endpoint = endpointOf(route(request.method, request.path))
      if (payment !== null && endpoint.access === 'public' && endpoint.pay !== undefined) {
        const arrivedMs = clock.wallMs()
        wallets.applyDueCredits(arrivedMs)
        const state = received(request, arrivedMs, null)
        return endpoint.pay(state, payment).then(reply => send(reply, state))
      }
      const preparation = wallets.preparation(request)
      if (preparation !== null) return preparation.then(() => respond(request, leaves))
      const isForwarded = endpoint.access === 'account' && endpoint.isForwarded
      return isForwarded ? Promise.resolve(respond(request, leaves)) : null
    },
  }

  function respond(request: ServiceRequest, leaves: AbortSignal): Reply | Promise<Reply> {
    const arrivedMs = clock.wallMs()
    if (request.unreadable !== undefined) {
      const state = received(request, arrivedMs, null)
      return send(errorReply(state, request.unreadable, 'This is not a valid HTTP request'), state)
    }
    wallets.applyDueCredits(arrivedMs)
    const signIn = wallets.signIn(request, arrivedMs)
    if (signIn !== null && signIn.kind !== 'signed-in') {
      const state = received(request, arrivedMs, null)
      return send(wallets.refuseSignIn(state, signIn), state)
    }
    const account = signIn === null ? accountOf(request.headers.authorization) : walletAccount(signIn.address)
    const state = received(request, arrivedMs, account)
    if (request.lacks) return send(errorReply(state, 400, `The ${request.lacks} is missing`), state)
    if (account === null) return send(respondToAnonymous(state), state)
    applyDueCharges(account, arrivedMs, behavior.charge)
    writeBalances(account, state.headers)
    const blocked = guard.rejectBlocked(state, account)
    const finish = (reply: Reply): Reply => {
      // A caller that left does not receive the reply, so this is not another failure.
      if (!leaves.aborted) guard.record(state, account, reply, blocked !== null)
      if (account.wallet !== undefined && is2xx(reply.status)) writeRemaining(state, account)
      return send(reply, state)
    }
    const reply = blocked ?? respondToAccount(state, account, leaves)
    return reply instanceof Promise ? reply.then(finish) : finish(reply)
  }

  function received(request: ServiceRequest, arrivedMs: number, account: Account | null): RequestState {
    const requested = route(request.method, request.path)
    const endpoint = endpointOf(requested)
    const isInference = endpoint.access === 'account' && endpoint.isInference(requested)
    const headers: Record<string, string> = {
      ...samples,
      ...(account === null ? {} : accountSamples),
      ...(isInference ? inferenceSamples : {}),
      date: httpDate(arrivedMs),
      'cf-ray': names.ray(),
      [`${prefix}timestamp`]: new Date(arrivedMs).toISOString(),
    }
    const timestamp = timestampHeader === null ? undefined : request.headers[timestampHeader]
    if (timestamp !== undefined && /^\d+$/.test(timestamp)) headers[`${prefix}request-timestamp-ms`] = timestamp
    return { request, route: requested, account, arrivedMs, headers }
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
    const endpoint = endpointOf(state.route)
    const isChargedLater = endpoint.access === 'account' && endpoint.isChargedLater
    const said = withCredits(markReplay(behavior.finish(reply, state)), state, isChargedLater)
    const finished = { ...said, headers: further.write(translate(said.headers, said.status, state.arrivedMs), state) }
    const encoding = behavior.encoding(state.request.headers['accept-encoding'], finished, state)
    const encoded =
      encoding === null ? finished : compressReply(finished, encoding, text => behavior.compress(text, encoding))
    return is2xx(reply.status) && admitted.has(state) ? delayReply(encoded, slots.take(state.arrivedMs)) : encoded
  }

  function respondToAccount(state: RequestState, account: Account, leaves: AbortSignal): Reply | Promise<Reply> {
    const { request, route } = state
    const endpoint = endpointOf(route)
    const isTooLarge = bodyBytes(request) > bodyLimitBytes
    const countsItself = endpoint.access === 'account' && endpoint.counts === 'own' && !isTooLarge
    if (!countsItself) {
      const draw = isTooLarge ? controlDraw : drawOf(state, contract)
      if (!limits.enter(state, account, draw).admitted) return limits.reject(state, draw)
    }
    if (isTooLarge) return errorReply(state, 413, 'The request body is too large', { code: 'PAYLOAD_TOO_LARGE' })
    return endpoint.access === 'public'
      ? endpoint.respond(state, route)
      : endpoint.respond(state, account, route, leaves)
  }

  /** Public routes need no key, but every route rejects a wrong one. */
  function respondToAnonymous(state: RequestState): Reply {
    const endpoint = endpointOf(state.route)
    if (endpoint.access === 'public' && state.request.headers.authorization === undefined)
      return endpoint.respond(state, state.route)
    return offersPayment(state) ? wallets.offers.discovery(state) : errorReply(state, 401, 'Authentication failed')
  }

  /** Whether a caller without credentials learns how to pay, and not just that it may not enter. */
  function offersPayment({ request }: RequestState): boolean {
    const { noKey } = contract.auth
    return request.headers.authorization === undefined && noKey.length > 0 && !noKey.includes(401)
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
    const endpoint = endpointOf(route)
    if (endpoint.access === 'account' && endpoint.isInference(route))
      headers[balanceRemainingHeader] = formatPico(remainingPicoUsd(account, endpoint.isChargedLater))
  }

  /** The balances before the request. A profile may leave out those that are zero. */
  function writeBalances({ picoUsd, picoDiem }: Account, headers: Record<string, string>): void {
    const always = contract.billing.balanceHeaders
    if (always || picoUsd !== 0n) headers[usdBalance] = formatPico(picoUsd)
    if (always || picoDiem !== 0n) headers[diemBalance] = formatPico(picoDiem)
  }
}

/** The headers of these rules with their samples. */
function samplesOf(contract: Contract, on: readonly HeaderRule<string>['on'][]): Readonly<Record<string, string>> {
  const { headers, 'conditional-headers': conditional } = headerRulesOf(contract)
  const rules = [...headers, ...conditional].filter(rule => on.includes(rule.on))
  return Object.fromEntries(rules.flatMap(({ name, sample }) => (sample === null ? [] : [[name, sample]])))
}

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
