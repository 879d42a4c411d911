import { chatPath } from './chat-terms.ts'
import type { ClausesOf } from './clauses.ts'
import { type Contract, type Network, resourceOf } from './contract.ts'
import type { KeyForgery } from './requests/credentials.ts'
import { isAssumed } from './sources.ts'
import { type BadSignIn, isBadSignIn } from './wallets.ts'

/**
 * The sender of a crafted request: the caller of the arrival, or one with another identity. `anonymous` sends no key, and
 * `other-scheme` sends credentials of another scheme. Three send the caller's own key in a form that the contract does not
 * have: under another scheme, alone, and in another header. `free-user` does not pay, and `zero-balance` has no balance. Only a
 * wallet can send as `wallet`, with a sign-in that must be refused, or with one sign-in in several requests at once.
 */
export type Sender =
  | 'caller'
  | 'anonymous'
  | 'bad-key'
  | 'other-scheme'
  | KeyForgery
  | 'free-user'
  | 'zero-balance'
  | 'wallet'
  | 'raced-sign-in'
  | BadSignIn

export const needsWallet = (sender: Sender): boolean =>
  sender === 'wallet' || sender === 'raced-sign-in' || isBadSignIn(sender)

/**
 * The answer of JSON-RPC 2.0, whatever the status. error: one error with one of these codes, and no list · nothing: no
 * body · response: exactly one with this id, in a list if it answers one · answer: a response with this id, or a
 * status of a refusal · refusal: no result.
 */
export type RightAnswer =
  | { readonly kind: 'error'; readonly codes: readonly number[] }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'response'; readonly id: number | string; readonly isList: boolean }
  | { readonly kind: 'answer'; readonly id: number }
  | { readonly kind: 'refusal' }

/** A crafted request that exercises a clause. The contract states its status. */
export type Probe = {
  readonly clause: ClausesOf<'probe'>
  readonly as: Sender
  /**
   * The limit that the request may draw on. A service need not count rejected requests. `control` is the limit of all
   * requests except completions of a known model and RPC calls.
   */
  readonly draws: 'chat' | 'rpc' | 'embedding' | 'control' | null
  /** The expected statuses. Empty if the contract states none; then nothing is asserted. */
  readonly promised: (contract: Contract) => readonly number[]
  /** The body of the response. Missing: only the status counts. */
  readonly right?: RightAnswer
  /** Names that the error message must mention. */
  readonly names: readonly string[]
  /** Whether its body is not JSON. Missing: it is. */
  readonly isUnreadable?: boolean
  /** How many of it are sent at once, with one sign-in. Missing: one. */
  readonly copies?: number
  /** Whether its sign-in is under the old name of the header. Missing: it is under either. */
  readonly isLegacy?: boolean
  /** The maximum cost of the request in RPC credits, if the target may accept it. */
  readonly credits?: (contract: Contract) => number
  readonly request: (contract: Contract) => CraftedRequest
}

/** A complete request without credentials. */
export type CraftedRequest = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

export type Probes = Readonly<Record<string, Probe>>

export const expect400 = (): readonly number[] => [400]

type Members = Readonly<Record<string, unknown>>

const json = { 'content-type': 'application/json', accept: 'application/json' } as const

/** The smallest valid chat request with these fields. An undefined field is removed. */
export const chatRequest =
  (members: (contract: Contract) => Members, headers: Readonly<Record<string, string>> = {}) =>
  (contract: Contract): CraftedRequest => {
    const usual = {
      model: contract.models[0]?.id,
      messages: [{ role: 'user', content: 'hello' }],
      max_completion_tokens: 1,
    }
    return {
      method: 'POST',
      path: chatPath(contract.paths.chat, contract.models[0]?.id ?? 'none'),
      headers: { ...json, ...headers },
      body: JSON.stringify({ ...usual, ...members(contract) }),
    }
  }

/** The same as a stream. */
export const chatStreamRequest: typeof chatRequest = (members, headers) =>
  chatRequest(contract => ({ stream: true, ...members(contract) }), { accept: 'text/event-stream', ...headers })

/** A request to the RPC proxy, by default for an EVM network. */
export const rpcRequest =
  (
    body: (contract: Contract) => unknown,
    headers: Readonly<Record<string, string>> = {},
    network: (contract: Contract) => string = networkOf('evm'),
  ) =>
  (contract: Contract): CraftedRequest => ({
    method: 'POST',
    path: contract.paths.rpc.replace('{network}', network(contract)),
    headers: { ...json, ...headers },
    body: JSON.stringify(body(contract)),
  })

/**
 * The network of a family at this place of the list. The list is taken again from its start if it has fewer networks. If it
 * is open which networks there are, it is the first for all places. A profile can add networks but not remove the documented ones.
 */
export const networkOf =
  (family: Network['family'], place = 0) =>
  (contract: Contract): string => {
    const ofFamily = Object.keys(contract.rpc.networks).filter(slug => contract.rpc.networks[slug]?.family === family)
    const isFirst = isAssumed(contract, 'rpc.networks')
    return ofFamily[isFirst ? 0 : place % Math.max(1, ofFamily.length)] ?? `${family}-mainnet`
  }

/** The request of a resource as the contract has it, with these fields. */
export const resourceRequest =
  (name: string, members: Members = {}) =>
  (contract: Contract): CraftedRequest => {
    const { method, path, body } = resourceOf(contract, name) ?? { method: 'POST', path: `/${name}`, body: {} }
    const content = body === null ? null : JSON.stringify({ ...body, ...members })
    return { method, path, headers: content === null ? { accept: json.accept } : json, body: content }
  }

/** An embedding request with this input. */
export const embeddingRequest =
  (input: unknown) =>
  (contract: Contract): CraftedRequest => {
    const [name] = Object.entries(contract.resources).find(([, { draws }]) => draws === 'embedding') ?? []
    return resourceRequest(name ?? 'embeddings', { input })(contract)
  }

/** A list, or another resource that a GET returns. */
export const listRequest =
  (pathOf: (contract: Contract) => string) =>
  (contract: Contract): CraftedRequest => ({
    method: 'GET',
    path: pathOf(contract),
    headers: { accept: json.accept },
    body: null,
  })

export const rpcItem = (method: string, id = 1) => ({ jsonrpc: '2.0', id, method, params: [] })

/** The credits of one call on the most expensive network in the most expensive tier. */
export const mostExpensiveCall = ({ rpc }: Contract): number =>
  Math.max(...Object.values(rpc.networks).map(({ baseCredits }) => baseCredits ?? 0)) * rpc.multipliers.large
