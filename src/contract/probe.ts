import type { ClausesOf } from './clauses.ts'
import type { Contract, Network } from './contract.ts'

/**
 * Who sends a crafted request: the caller whose turn it is, somebody without a key, with a key that is not valid, with
 * credentials of another scheme, a user who does not pay, or one whose balance is empty.
 */
export type Sender = 'caller' | 'stranger' | 'bad-key' | 'other-scheme' | 'unpaying' | 'empty'

/** A crafted request: it exercises a clause and is promised a status. */
export type Probe = {
  readonly clause: ClausesOf<'probe'>
  readonly as: Sender
  /**
   * The limit that the request may draw on: a service need not count what it rejects. `control` is that of whatever is
   * neither a completion of a known model nor a call of the RPC proxy.
   */
  readonly draws: 'chat' | 'rpc' | 'embedding' | 'control' | null
  /** The statuses that keep the promise; none where the contract is silent, and then nothing is asserted. */
  readonly promised: (contract: Contract) => readonly number[]
  /** What the error message must name. */
  readonly names: readonly string[]
  /** The most RPC credits that the request can cost, where it may be answered and not refused. */
  readonly credits?: (contract: Contract) => number
  readonly request: (contract: Contract) => CraftedRequest
}

/** All of a request but for the credentials. */
export type CraftedRequest = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

export type Probes = Readonly<Record<string, Probe>>

export const refused = (): readonly number[] => [400]

type Members = Readonly<Record<string, unknown>>

const json = { 'content-type': 'application/json', accept: 'application/json' } as const

/** The smallest chat request that is right, with other members; one that is undefined is left out. */
export const toChat =
  (members: (contract: Contract) => Members, headers: Readonly<Record<string, string>> = {}) =>
  (contract: Contract): CraftedRequest => {
    const usual = {
      model: contract.models[0]?.id,
      messages: [{ role: 'user', content: 'hello' }],
      max_completion_tokens: 1,
    }
    return {
      method: 'POST',
      path: contract.paths.chat,
      headers: { ...json, ...headers },
      body: JSON.stringify({ ...usual, ...members(contract) }),
    }
  }

/** A request of the RPC proxy, to its first network of a family, or to another one. */
export const toRpc =
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

/** The first network of a family; a profile can add to the documented ones, and take none away. */
export const networkOf =
  (family: Network['family']) =>
  ({ rpc }: Contract): string =>
    Object.entries(rpc.networks).find(([, network]) => network.family === family)?.[0] ?? `${family}-mainnet`

/** An embedding of this input. */
export const toEmbed =
  (input: unknown) =>
  ({ resources }: Contract): CraftedRequest => {
    const embedding = Object.values(resources).find(({ draws }) => draws === 'embedding')
    return {
      method: 'POST',
      path: embedding?.path ?? '/embeddings',
      headers: json,
      body: JSON.stringify({ ...embedding?.body, input }),
    }
  }

export const rpcItem = (method: string, id = 1) => ({ jsonrpc: '2.0', id, method, params: [] })

/** The credits of one call, on the dearest network and in the dearest tier. */
export const dearestCall = ({ rpc }: Contract): number =>
  Math.max(...Object.values(rpc.networks).map(({ baseCredits }) => baseCredits)) * rpc.multipliers.large
