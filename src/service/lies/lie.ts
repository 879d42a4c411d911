import type { ClauseId } from '../../contract/clauses.ts'
import type { Contract } from '../../contract/contract.ts'
import { is2xx } from '../../lib/numbers.ts'
import { randomStream } from '../../lib/random.ts'
import type { Behavior } from '../behavior.ts'
import type { Reply, RequestState } from '../message.ts'

/** A seeded contract violation of the service: the decisions that it replaces. */
export type Lie = {
  /** Unique, in kebab case. */
  readonly name: string
  /** What the service does, in one line. */
  readonly text: string
  readonly overrides: (honest: Behavior, contract: Contract) => Partial<Behavior>
  /** Further clauses that it violates, or appears to violate. */
  readonly alsoViolates: readonly ClauseId[]
}

export type Lies = Partial<Readonly<Record<ClauseId, readonly [Lie, ...Lie[]]>>>

/** `honest` with each lie applied in turn. A lie may have state: each service applies it once more. */
export function withOverrides(honest: Behavior, contract: Contract, lies: readonly Lie[]): Behavior {
  let behavior = honest
  for (const lie of lies) behavior = { ...behavior, ...lie.overrides(behavior, contract) }
  return behavior
}

export const lie = (
  name: string,
  text: string,
  overrides: Lie['overrides'],
  alsoViolates: readonly ClauseId[] = [],
): Lie => {
  return { name, text, overrides, alsoViolates }
}

/** A lie that replaces the finished reply. */
export const replyLie = (
  name: string,
  text: string,
  change: (reply: Reply, state: RequestState, contract: Contract) => Reply,
  alsoViolates: readonly ClauseId[] = [],
): Lie => ({
  name,
  text,
  overrides: (honest, contract) => ({ finish: (reply, state) => change(honest.finish(reply, state), state, contract) }),
  alsoViolates,
})

/** `value` with these fields replaced; undefined removes one, since JSON omits it. */
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
export const replyText = ({ body }: Reply): string => (body.kind === 'whole' ? body.text : '')

export const isErrorReply = ({ status }: Reply): boolean => status >= 400
export const isStream = ({ body }: Reply): boolean => body.kind === 'stream'
/** A reply of a node, new or replayed. */
export const isNodeReply = ({ status }: Reply, { route }: RequestState): boolean =>
  route.kind === 'rpc' && is2xx(status)
export const isReplay = ({ headers }: Reply): boolean => headers['idempotent-replayed'] !== undefined
export const isBatch = (reply: Reply): boolean => replyText(reply).startsWith('[')

/** A lie that returns 502 for two of five replies of a node with such a text, as a broken gateway might. */
export const failingSometimes = (name: string, text: string, fails: (text: string) => boolean): Lie => {
  const overrides: Lie['overrides'] = honest => {
    const random = randomStream(1, name)
    return {
      finish: (reply, state) => {
        const finished = honest.finish(reply, state)
        const isHit = isNodeReply(finished, state) && !isReplay(finished) && fails(replyText(finished))
        return isHit && random.next() < 0.4 ? withText({ ...finished, status: 502 }, badGateway) : finished
      },
    }
  }
  // It fails after the failures were counted.
  return lie(name, text, overrides, ['abuse.counts', 'abuse.message'])
}

const badGateway = '{"error":{"message":"Bad gateway"}}'
