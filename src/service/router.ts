import { isChatPath } from '../contract/chat-terms.ts'
import type { Contract, Resource } from '../contract/contract.ts'
import { referenceSolanaNode } from '../contract/wallets.ts'
import { isObject } from '../lib/json.ts'

export type Route =
  | { readonly kind: 'chat' }
  | { readonly kind: 'rpc'; readonly network: string }
  | { readonly kind: 'networks' }
  | { readonly kind: 'models' }
  | { readonly kind: 'rate-limits' }
  | { readonly kind: 'rate-limit-logs' }
  | { readonly kind: 'balance' }
  | { readonly kind: 'resource'; readonly resource: Resource }
  | { readonly kind: 'top-up' }
  | { readonly kind: 'solana-node' }
  | { readonly kind: 'wallet-balance'; readonly address: string }
  | { readonly kind: 'wrong-method'; readonly allow: string }
  | { readonly kind: 'unknown' }

const unknown: Route = { kind: 'unknown' }

/** The routes of the contract as a function of method and path. */
export function router({
  paths: written,
  resources,
  rpc,
  wallets,
  billing,
}: Contract): (method: string, path: string) => Route {
  const paths = { ...written, chat: withoutQuery(written.chat), rpc: withoutQuery(written.rpc) }
  const gets = new Map<string, Route>([
    [paths.networks, { kind: 'networks' }],
    [paths.models, { kind: 'models' }],
    [paths.rateLimits, { kind: 'rate-limits' }],
    [paths.rateLimitLogs, { kind: 'rate-limit-logs' }],
  ])
  if (billing.balance.path !== null) gets.set(billing.balance.path, { kind: 'balance' })
  const posts = new Map<string, Route>()
  for (const resource of Object.values(resources)) {
    const routes = resource.method === 'GET' ? gets : posts
    if (!routes.has(resource.path)) routes.set(resource.path, { kind: 'resource', resource })
  }
  if (!posts.has(wallets.topUp.path)) posts.set(wallets.topUp.path, { kind: 'top-up' })
  if (!posts.has(referenceSolanaNode)) posts.set(referenceSolanaNode, { kind: 'solana-node' })
  const [beforeAddress = '', afterAddress = ''] = wallets.balancePath.split('{walletAddress}')
  const [before = '', after = null] = paths.rpc.split('{network}')
  const [onlyNetwork = ''] = Object.keys(rpc.networks)

  const posted = (path: string): Route => {
    if (isChatPath(paths.chat, path)) return { kind: 'chat' }
    const resource = posts.get(path)
    if (resource !== undefined) return resource
    // A node has one network, which no path names.
    if (after === null)
      return path === paths.rpc || (path === '/' && paths.rpc === '') ? { kind: 'rpc', network: onlyNetwork } : unknown
    if (gets.has(path) || !path.startsWith(before) || !path.endsWith(after)) return unknown
    const network = path.slice(before.length, path.length - after.length)
    return network === '' || network.includes('/') ? unknown : { kind: 'rpc', network }
  }

  const balanceOf = (path: string): Route => {
    const isBalance = path.startsWith(beforeAddress) && path.endsWith(afterAddress)
    const address = isBalance ? path.slice(beforeAddress.length, path.length - afterAddress.length) : ''
    return /^(0x[a-fA-F0-9]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$/.test(address)
      ? { kind: 'wallet-balance', address }
      : unknown
  }

  return (method, path) => {
    const bare = withoutQuery(path)
    const get = gets.get(bare) ?? balanceOf(bare)
    const post = posted(bare)
    if (method === 'POST' && post !== unknown) return post
    if ((method === 'GET' || method === 'HEAD') && get !== unknown) return get
    if (get === unknown && post === unknown) return unknown
    return { kind: 'wrong-method', allow: get === unknown ? 'POST' : 'GET' }
  }
}

const withoutQuery = (path: string): string => path.split('?', 1)[0] ?? ''

/** The model that a body names, without the options that may follow: `model:option=value`. */
export function namedModel(body: unknown): string {
  const named = isObject(body) && typeof body.model === 'string' ? body.model : ''
  const colon = named.indexOf(':')
  return colon < 0 ? named : named.slice(0, colon)
}
