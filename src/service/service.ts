import type { Contract } from '../contract/contract.ts'
import type { Clock } from '../lib/clock.ts'
import { formatPico, pico } from '../lib/money.ts'
import { type Account, openAccount, settle } from './account.ts'
import { honestBehaviour } from './behavior.ts'
import { createSlots, delayed, type ServiceCapacity, type Timing } from './capacity.ts'
import { chatCompletions } from './chat/chat.ts'
import { type Fault, failFor, injectFaults } from './faults.ts'
import { httpDates, identifiers } from './identifiers.ts'
import { bend, type Lie } from './lies/lie.ts'
import { abuseGuard, limiter } from './limiter.ts'
import { controlLimits, modelList, networkList, rateLimitLogs, rateLimits } from './lists.ts'
import { encoded, type Reply, refuse, type ServiceRequest, type Visit } from './message.ts'
import { resourceDesk } from './resources.ts'
import { router } from './router.ts'
import { rpcProxy } from './rpc/proxy.ts'

export type ServiceOptions = {
  readonly contract: Contract
  readonly clock: Clock
  readonly seed: number
  /** Of every account, a decimal. */
  readonly openingBalanceUsd: string
  readonly openingBalanceDiem: string
  readonly timing: Timing
  /** What fails now and then although nobody is at fault; none left out. */
  readonly faults?: readonly Fault[]
  /** What it can do at once; null, or left out, for a service that is never busy. */
  readonly capacity?: ServiceCapacity | null
  /** What the service gets wrong; none for the service as documented. */
  readonly lies: readonly Lie[]
}
/** The documented service without sockets: what is asked and answered are values, and time is the clock's. */
export type Service = {
  readonly answer: (request: ServiceRequest) => Reply
}
export const bodyLimitBytes = 35 * 1024 * 1024
const serviceVersion = '20260801.120000'
const hostName = 'reference-1'
export function createService(options: ServiceOptions): Service {
  const { contract, clock, seed, timing, lies } = options
  const prefix = contract.headerPrefix
  const timestampHeader = contract.requestTimestampHeader
  const openingPicoUsd = pico(options.openingBalanceUsd)
  const openingPicoDiem = pico(options.openingBalanceDiem)
  const behaviour = bend(honestBehaviour(contract), contract, lies)
  const names = identifiers(seed)
  const limits = limiter(contract, behaviour)
  const guard = abuseGuard(contract, behaviour)
  const route = router(contract)
  const httpDate = httpDates()
  const slots = createSlots(options.capacity ?? null, seed)
  const strikeAtRandom = injectFaults(options.faults ?? [], seed)
  /** What was let in, and takes a slot when it turns out that it is carried out. */
  const admitted = new WeakSet<Visit>()
  const shared = {
    contract,
    behaviour,
    limiter: limits,
    identifiers: names,
    seed,
    timing,
    strike,
  }
  const chat = chatCompletions(shared)
  const rpc = rpcProxy(shared)
  const resources = resourceDesk(shared)
  const networks = networkList(contract, behaviour)
  const models = modelList(contract, behaviour)
  const ownLimits = rateLimits(contract, behaviour)
  const ownRefusals = rateLimitLogs(behaviour)

  const accounts = new Map<string, Account>()
  const byAuthorization = new Map<string | undefined, Account>()

  return {
    answer: request => {
      const arrivedMs = clock.wallMs()
      const { authorization } = request.headers
      const account = accountOf(authorization)
      const headers: Record<string, string> = {
        'content-type': 'application/json',
        date: httpDate(arrivedMs),
        'cf-ray': names.ray(),
        [`${prefix}version`]: serviceVersion,
        [`${prefix}timestamp`]: new Date(arrivedMs).toISOString(),
      }
      const stated = timestampHeader === null ? undefined : request.headers[timestampHeader]
      if (stated !== undefined && /^\d+$/.test(stated)) headers[`${prefix}request-timestamp-ms`] = stated
      const visit = { request, route: route(request.method, request.path), account, arrivedMs, headers }
      if (account === null) return send(answerStranger(visit), visit)
      settle(account, arrivedMs, behaviour.spend)
      writeBalances(account, headers)
      const stopped = guard.stop(visit, account)
      const reply = stopped ?? answerCaller(visit, account)
      guard.record(visit, account, reply, stopped !== null)
      return send(reply, visit)
    },
  }

  function strike(visit: Visit): Reply | null {
    const fault = strikeAtRandom(visit)
    if (fault !== null) return fault
    if (slots.isFull(visit.arrivedMs)) return failFor(visit, 503)
    admitted.add(visit)
    return null
  }

  function send(reply: Reply, visit: Visit): Reply {
    if (reply.status >= 400) visit.headers[`${prefix}host-name`] = hostName
    const finished = behaviour.finish(reply, visit)
    const encoding = behaviour.encoding(visit.request.headers['accept-encoding'], finished, visit)
    const coded = encoding === null ? finished : encoded(finished, encoding, text => behaviour.compress(text, encoding))
    return reply.status === 200 && admitted.has(visit) ? delayed(coded, slots.take(visit.arrivedMs)) : coded
  }

  function answerCaller(visit: Visit, account: Account): Reply {
    const { request, route } = visit
    const tooLarge = bodyBytes(request) > bodyLimitBytes
    if (route.kind === 'rpc' && !tooLarge) return rpc(visit, account, route.network)
    if (route.kind === 'chat' && !tooLarge) return chat(visit, account)
    if (route.kind === 'resource' && !tooLarge) return resources(visit, account, route.resource)
    if (!limits.enter(visit, account, 'control', controlLimits).admitted) return limits.reject(visit, 'control')
    if (tooLarge) return refuse(visit, 413, 'The request body is too large', { code: 'PAYLOAD_TOO_LARGE' })
    if (route.kind === 'rate-limits') return ownLimits(visit, account)
    return route.kind === 'rate-limit-logs' ? ownRefusals(visit, account) : answerAnyone(visit)
  }

  /** No key is needed for what is public, but a wrong one is refused everywhere. */
  function answerStranger(visit: Visit): Reply {
    const { route, request } = visit
    if (needKeys.includes(route.kind) || request.headers.authorization !== undefined)
      return refuse(visit, 401, 'Authentication failed')
    return answerAnyone(visit)
  }

  function answerAnyone(visit: Visit): Reply {
    switch (visit.route.kind) {
      case 'networks':
        return networks(visit)
      case 'models':
        return models(visit)
      case 'wrong-method':
        visit.headers.allow = visit.route.allow
        return refuse(visit, 405, 'Method not allowed')
      default:
        return refuse(visit, 404, 'Not found')
    }
  }

  function accountOf(authorization: string | undefined): Account | null {
    const known = byAuthorization.get(authorization)
    if (known !== undefined) return known
    const key = behaviour.keyOf(authorization)
    const caller = key === null ? null : behaviour.caller(key)
    if (caller === null) return null
    const id = `${caller.tier}/${caller.name}`
    const account = accounts.get(id) ?? openAccount(caller, openingPicoUsd, openingPicoDiem)
    accounts.set(id, account)
    byAuthorization.set(authorization, account)
    return account
  }

  /** As they were before the request. A profile may ask for those only that are not zero. */
  function writeBalances({ picoUsd, picoDiem }: Account, headers: Record<string, string>): void {
    const always = contract.billing.balanceHeaders
    if (always || picoUsd !== 0n) headers[`${prefix}balance-usd`] = formatPico(picoUsd)
    if (always || picoDiem !== 0n) headers[`${prefix}balance-diem`] = formatPico(picoDiem)
  }
}
const needKeys: readonly Visit['route']['kind'][] = ['rpc', 'chat', 'resource', 'rate-limits', 'rate-limit-logs']
/** As received or, where the rest was not worth receiving, as announced. */
function bodyBytes({ body, headers }: ServiceRequest): number {
  const received = typeof body === 'string' ? Buffer.byteLength(body) : body.length
  return Math.max(received, Number(headers['content-length'] ?? 0))
}
