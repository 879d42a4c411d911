import { createHash } from 'node:crypto'
import type { Contract, Network } from '../contract/contract.ts'
import { isJson } from '../lib/json.ts'
import { pico, roundPico } from '../lib/money.ts'
import { randomStream } from '../lib/random.ts'
import { type Account, currencyFor } from './account.ts'
import type { Behaviour } from './behaviour.ts'
import type { Strike } from './faults.ts'
import type { Identifiers } from './identifiers.ts'
import type { Entry, Limiter } from './limiter.ts'
import type { Reply } from './message.ts'
import { replayCache, type Stored } from './replays.ts'
import { rpcBill } from './rpc-bill.ts'
import { simulatedNode } from './rpc-node.ts'
import { parseRpcRequest } from './rpc-request.ts'
import { rpcTurns } from './rpc-turns.ts'
import { logNormal, type Timing } from './timing.ts'
import { insufficient, refuse, type Visit } from './visit.ts'

export type RpcProxyOptions = {
  readonly contract: Contract
  readonly behaviour: Behaviour
  readonly limiter: Limiter
  readonly identifiers: Identifiers
  readonly seed: number
  readonly strike: Strike
  readonly timing: Timing
}

/** JSON-RPC, single or batch, forwarded to a simulated node and billed in credits. */
export function rpcProxy(options: RpcProxyOptions): (visit: Visit, account: Account, slug: string) => Reply {
  const { contract, behaviour, limiter, identifiers, seed, timing, strike } = options
  const { rpc, idempotency, headerPrefix } = contract
  const networks = new Map(Object.entries(rpc.networks))
  const limits = { requests: rpc.requestsPerMinute, tokens: null }
  const node = simulatedNode(seed)
  const bill = rpcBill(rpc, behaviour)
  const delays = randomStream(seed, 'rpc-delays')
  const replays = replayCache()
  const turns = rpcTurns(rpc.oneAtATime, (visit, customMessage) =>
    limiter.reject(visit, contract.limitLogs.rpcId, { customMessage }),
  )

  return (visit, account, slug) => {
    const entry = limiter.enter(visit, account, 'rpc', limits)
    return entry.admitted ? turns(visit, account, () => answer(visit, account, slug)) : tooMany(visit, entry)
  }

  function answer(visit: Visit, account: Account, slug: string): Reply {
    if (!isJson(visit.request.headers['content-type']))
      return refuse(visit, 415, 'Content-Type must be application/json')
    const network = behaviour.network(slug, networks)
    if (network === undefined) return refuse(visit, 400, 'Unsupported RPC network')

    const key = visit.request.headers['idempotency-key']
    const fate = key === undefined ? 'ignored' : behaviour.keyFate(key)
    if (fate === 'ignored') return forward(visit, account, slug, network)
    if (fate === 'rejected') return refuse(visit, 400, `Idempotency-Key must match ${idempotency.keyPattern}`)

    const place = `${behaviour.replayScope(account, visit)}/${key}`
    const fingerprint = createHash('sha256').update(`${slug}\n`).update(visit.request.body).digest('base64')
    const finding = behaviour.findStored(replays.find(place, visit.arrivedMs), fingerprint)
    switch (finding.kind) {
      case 'conflict':
        return refuse(visit, 400, 'Idempotency-Key was used with a different body')
      case 'replay':
        return replay(visit, account, behaviour.replayed(finding.stored))
      case 'new':
        return forward(visit, account, slug, network, stored =>
          replays.keep(place, { ...stored, fingerprint, expiresMs: visit.arrivedMs + behaviour.replayTtlMs }),
        )
    }
  }

  function forward(visit: Visit, account: Account, slug: string, network: Network, keep?: Keep): Reply {
    const request = parseRpcRequest(visit.request.body, network, behaviour)
    if ('rejected' in request) {
      charge(account, behaviour.costPicoUsd(behaviour.rejectionCredits(request.supported)))
      return refuse(visit, 400, request.rejected, request.more)
    }
    if (!behaviour.covers(account, behaviour.costPicoUsd(bill.estimate(request, network))))
      return insufficient(visit, contract)
    const fault = strike(visit)
    if (fault !== null) return fault

    const responses = request.items.map(item => node(slug, network, item))
    const credits = bill.credits(request, network, responses)
    const costUsd = roundPico(behaviour.costPicoUsd(credits), rpc.costDecimals)
    charge(account, pico(costUsd))

    const answers = behaviour.responses(responses, request.items)
    const afterMs = logNormal(delays, timing.rpcMs, timing.rpcSigma)
    const relayed = {
      text: JSON.stringify(request.batched ? answers : answers[0]),
      credits,
      costUsd,
      requestId: identifiers.requestId(),
      readyMs: visit.arrivedMs + afterMs,
    }
    keep?.(relayed)
    return relay(visit, relayed, afterMs)
  }

  function replay(visit: Visit, account: Account, stored: Stored): Reply {
    charge(account, behaviour.replayChargePicoUsd(stored))
    visit.headers['idempotent-replayed'] = 'true'
    return relay(visit, stored, Math.max(0, stored.readyMs - visit.arrivedMs))
  }

  function charge(account: Account, picoUsd: bigint): void {
    if (picoUsd !== 0n) behaviour.spend(account, { currency: currencyFor(account, picoUsd), pico: picoUsd })
  }

  function relay(visit: Visit, { text, credits, costUsd, requestId }: Relayed, afterMs: number): Reply {
    visit.headers[`${headerPrefix}rpc-credits`] = String(credits)
    visit.headers[`${headerPrefix}rpc-cost-usd`] = costUsd
    visit.headers['x-request-id'] = requestId
    return { status: 200, headers: visit.headers, afterMs, body: { kind: 'whole', text } }
  }

  function tooMany(visit: Visit, { window }: Entry): Reply {
    const resetSeconds = Math.ceil(window.resetMs / 1000)
    visit.headers['x-ratelimit-limit'] = String(limits.requests)
    visit.headers['x-ratelimit-remaining'] = '0'
    visit.headers['x-ratelimit-reset'] = String(resetSeconds)
    const customMessage = `The limit of ${limits.requests} RPC requests a minute is reached. Retry at ${resetSeconds}.`
    return limiter.reject(visit, contract.limitLogs.rpcId, { customMessage })
  }
}

type Relayed = Omit<Stored, 'fingerprint' | 'expiresMs'>
type Keep = (relayed: Relayed) => void
