import type { ClauseId } from '../../contract/clauses.ts'
import type { Contract } from '../../contract/contract.ts'
import type { Behavior } from '../behavior.ts'
import type { Reply, RequestState } from '../message.ts'

/** A seeded contract violation of the service: the decisions that it replaces. */
export type Lie = {
  /** Unique, in kebab case. */
  readonly name: string
  /** What the service does, in one line. */
  readonly text: string
  readonly bend: (honest: Behavior, contract: Contract) => Partial<Behavior>
  /** Further clauses that it violates, or appears to violate. */
  readonly alsoBreaks: readonly ClauseId[]
}

export type Lies = Partial<Readonly<Record<ClauseId, readonly [Lie, ...Lie[]]>>>

/** `honest` with each lie applied in turn. A lie may have state: it is applied anew for each service. */
export function bend(honest: Behavior, contract: Contract, lies: readonly Lie[]): Behavior {
  let behaviour = honest
  for (const lie of lies) behaviour = { ...behaviour, ...lie.bend(behaviour, contract) }
  return behaviour
}

export const lie = (name: string, text: string, bend: Lie['bend'], alsoBreaks: readonly ClauseId[] = []): Lie => {
  return { name, text, bend, alsoBreaks }
}

/** A lie that replaces the finished reply. */
export const replyLie = (
  name: string,
  text: string,
  change: (reply: Reply, visit: RequestState, contract: Contract) => Reply,
  alsoBreaks: readonly ClauseId[] = [],
): Lie => ({
  name,
  text,
  bend: (honest, contract) => ({ finish: (reply, visit) => change(honest.finish(reply, visit), visit, contract) }),
  alsoBreaks,
})

/** `value` with these members replaced; undefined removes one, since JSON leaves it out. */
export const amended = (value: unknown, changes: Readonly<Record<string, unknown>>): unknown => ({
  ...(typeof value === 'object' ? value : {}),
  ...changes,
})

export function withoutHeaders(reply: Reply, ...names: readonly string[]): Reply {
  const headers = Object.fromEntries(Object.entries(reply.headers).filter(([name]) => !names.includes(name)))
  return { ...reply, headers }
}

/** `reply` with another value of a header that it has. */
export function withHeader(reply: Reply, name: string, value: string | ((value: string) => string)): Reply {
  const present = reply.headers[name]
  if (present === undefined) return reply
  return { ...reply, headers: { ...reply.headers, [name]: typeof value === 'string' ? value : value(present) } }
}

/** `reply` with these headers added or replaced. */
export const withHeaders = (reply: Reply, headers: Reply['headers']): Reply => ({
  ...reply,
  headers: { ...reply.headers, ...headers },
})

export const withText = (reply: Reply, text: string): Reply => ({ ...reply, body: { kind: 'whole', text } })

/** The text of a reply that is sent whole. */
export const textOf = ({ body }: Reply): string => (body.kind === 'whole' ? body.text : '')

export const isError = ({ status }: Reply): boolean => status >= 400
export const isStream = ({ body }: Reply): boolean => body.kind === 'stream'
/** A reply of a node, new or replayed. */
export const isRelayed = ({ status }: Reply, { route }: RequestState): boolean => route.kind === 'rpc' && status === 200
export const isReplay = ({ headers }: Reply): boolean => headers['idempotent-replayed'] !== undefined
export const isBatch = (reply: Reply): boolean => textOf(reply).startsWith('[')
