import type { Account } from './account.ts'
import { chatHandler } from './chat/chat.ts'
import { creditBalance } from './credit-headers.ts'
import { modelList, networkList, rateLimitLogs, rateLimits } from './lists.ts'
import { errorReply, type Reply, type RequestState } from './message.ts'
import { resourceHandler } from './resources.ts'
import type { Route } from './router.ts'
import { rpcProxy } from './rpc/proxy.ts'
import type { Wallets } from './wallets/wallets.ts'

type RouteOf<Kind extends Route['kind']> = Extract<Route, { readonly kind: Kind }>

/** What everybody may request, without a key. With an account, it counts as a control request. */
type PublicEndpoint<Of extends Route> = {
  readonly access: 'public'
  readonly respond: (state: RequestState, route: Of) => Reply
  /** Answers a request with a payment. */
  readonly pay?: (state: RequestState, payment: string) => Promise<Reply>
}

/** What needs an account. */
type AccountEndpoint<Of extends Route> = {
  readonly access: 'account'
  /** `own`: its handler counts its requests · `control`: they count as control requests. */
  readonly counts: 'own' | 'control'
  /** Whether a success is inference, so that it states what it leaves to a wallet. */
  readonly isInference: (route: Of) => boolean
  /** Whether its charge falls due when the response is complete. */
  readonly isChargedLater: boolean
  /** Whether requests are forwarded to an upstream, and so take time. */
  readonly isForwarded: boolean
  /** `leaves` aborts when the caller disconnects. */
  readonly respond: (state: RequestState, account: Account, route: Of, leaves: AbortSignal) => Reply | Promise<Reply>
}

type Endpoint<Of extends Route> = PublicEndpoint<Of> | AccountEndpoint<Of>

type EndpointDeps = Parameters<typeof chatHandler>[0] &
  Parameters<typeof rpcProxy>[0] &
  Parameters<typeof resourceHandler>[0] & { readonly wallets: Wallets; readonly openingPicoUsd: bigint }

/** Which part of the service answers the requests of each kind of route. */
export function createEndpoints(deps: EndpointDeps): (route: Route) => Endpoint<Route> {
  const { contract, behavior, wallets, chatUpstream, rpcUpstream } = deps
  const chat = chatHandler(deps)
  const rpc = rpcProxy(deps)
  const resources = resourceHandler(deps)
  const limits = rateLimits(contract, behavior)
  const refusals = rateLimitLogs(behavior)
  const credits = creditBalance(contract, deps.openingPicoUsd)

  const rows: { readonly [Kind in Route['kind']]: Endpoint<RouteOf<Kind>> } = {
    chat: {
      access: 'account',
      counts: 'own',
      isInference: () => true,
      isChargedLater: true,
      isForwarded: chatUpstream !== null,
      respond: (state, account, _, leaves) => chat(state, account, leaves),
    },
    rpc: {
      access: 'account',
      counts: 'own',
      isInference: () => true,
      isChargedLater: false,
      isForwarded: rpcUpstream !== null,
      respond: (state, account, { network }, leaves) => rpc(state, account, network, leaves),
    },
    resource: {
      access: 'account',
      counts: 'own',
      isInference: ({ resource }) => resource.isInference,
      isChargedLater: false,
      isForwarded: false,
      respond: (state, account, { resource }) => resources(state, account, resource),
    },
    'rate-limits': controlEndpoint(limits),
    'rate-limit-logs': controlEndpoint(refusals),
    balance: controlEndpoint(credits),
    networks: { access: 'public', respond: networkList(contract, behavior) },
    models: { access: 'public', respond: modelList(contract, behavior) },
    'top-up': { access: 'public', respond: wallets.offers.topUp, pay: wallets.pay },
    'wallet-balance': { access: 'public', respond: (state, { address }) => wallets.balance(state, address) },
    'solana-node': { access: 'public', respond: wallets.solanaNode },
    'wrong-method': {
      access: 'public',
      respond: (state, { allow }) => {
        state.headers.allow = allow
        return errorReply(state, 405, 'Method not allowed')
      },
    },
    unknown: { access: 'public', respond: state => errorReply(state, 404, 'Not found') },
  }
  // The row of a kind takes the routes of this kind.
  return route => rows[route.kind] as Endpoint<Route>
}

/** A list for an account. */
const controlEndpoint = (respond: (state: RequestState, account: Account) => Reply): AccountEndpoint<Route> => ({
  access: 'account',
  counts: 'control',
  isInference: () => false,
  isChargedLater: false,
  isForwarded: false,
  respond,
})
