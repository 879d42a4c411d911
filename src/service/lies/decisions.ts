import type { Contract, Network } from '../../contract/contract.ts'
import type { Behavior } from '../behavior.ts'
import type { ParsedItem, RpcResponse } from '../rpc/item.ts'
import { type LieRow, row } from './lie.ts'

/** The decisions of the service that are functions. */
type Decision = {
  [Name in keyof Behavior]: Behavior[Name] extends (...given: never) => unknown ? Name : never
}[keyof Behavior]
type Given<Name extends Decision> = Parameters<Behavior[Name]>
type Result<Name extends Decision> = ReturnType<Behavior[Name]>
type Decisions = { readonly [Name in Decision]: (...given: Given<Name>) => Result<Name> }

/** The decisions that are numbers. */
type Amount = { [Name in keyof Behavior]: Behavior[Name] extends number ? Name : never }[keyof Behavior]

export type Fields = Readonly<Record<string, unknown>>

/** A lie that changes what a decision returns. */
export const result = <Name extends Decision>(
  text: string,
  name: Name,
  change: (result: Result<Name>, ...given: Given<Name>) => Result<Name>,
): LieRow =>
  row(text, honest => {
    const { [name]: decide }: Decisions = honest as Decisions
    return { [name]: (...given: Given<Name>) => change(decide(...given), ...given) }
  })

/** A lie that changes what a decision is given. */
export const input = <Name extends Decision>(
  text: string,
  name: Name,
  change: (...given: Given<Name>) => Given<Name>,
): LieRow =>
  row(text, honest => {
    const { [name]: decide }: Decisions = honest as Decisions
    return { [name]: (...given: Given<Name>) => decide(...change(...given)) }
  })

/** The RPC proxy forwards further methods. */
export const alsoForward = (
  text: string,
  isToo: (method: string, network: Network, rpc: Contract['rpc']) => boolean,
): LieRow =>
  row(text, (honest, { rpc }) => ({
    forwards: (method, network) => honest.forwards(method, network) || isToo(method, network, rpc),
  }))

/** Other decisions on the networks with such a name. */
export const onNetworks = (
  text: string,
  which: RegExp,
  change: (honest: Behavior) => Partial<Pick<Behavior, 'forwards' | 'itemCredits'>>,
): LieRow =>
  row(text, honest => {
    const there = { ...honest, ...change(honest) }
    let decides = honest
    return {
      network: (slug, networks) => {
        decides = which.test(slug) ? there : honest
        return honest.network(slug, networks)
      },
      forwards: (...given) => decides.forwards(...given),
      itemCredits: item => decides.itemCredits(item),
    }
  })

/** Forwards a method that resembles one of the allow-list. */
export const forwardLike = (text: string, isLike: (method: string, listed: string) => boolean): LieRow =>
  alsoForward(text, (method, { family }, { methods }) =>
    Object.keys(methods[family]).some(known => isLike(method, known)),
  )

export const forwardInAnyCase = (text: string, which: RegExp): LieRow =>
  forwardLike(text, (method, listed) => which.test(listed) && method.toLowerCase() === listed.toLowerCase())

export const forwardEvmTo = (family: 'solana' | 'starknet'): LieRow =>
  alsoForward(
    `EVM methods are forwarded to ${family}.`,
    (method, network, { methods }) => network.family === family && Object.hasOwn(methods.evm, method),
  )

/** Does not forward a method. */
export const withoutMethod = (method: string): LieRow =>
  result(`${method} is not supported.`, 'forwards', (forwards, other) => forwards && other !== method)

/** A lie that replaces fields of an object that a decision returns. */
export const amend = <Name extends Decision>(
  text: string,
  name: Name,
  fields: Fields | ((...given: Given<Name>) => Fields),
): LieRow =>
  result(text, name, (decided, ...given) => {
    const changes = typeof fields === 'function' ? fields(...given) : fields
    return amended(decided, changes) as Result<Name>
  })

/** Replaces fields of the responses that fit; undefined removes one. */
export const amendResponses = (
  text: string,
  fits: (original: RpcResponse | undefined, items: readonly ParsedItem[]) => boolean,
  fields: Fields | ((items: readonly ParsedItem[]) => Fields),
): LieRow =>
  result(text, 'responses', (sent, originals, items) =>
    sent.map((response, index) => {
      if (!fits(originals[index], items)) return response
      return amended(response, typeof fields === 'function' ? fields(items) : fields)
    }),
  )

export const refuseNetwork = (slug: string): LieRow =>
  result(`${slug} is refused as unknown.`, 'network', (found, asked) => (asked === slug ? undefined : found))

/** A lie that replaces decisions, whatever they are given. */
export const always = (text: string, decisions: Partial<Behavior>): LieRow => row(text, () => decisions)

/** A lie that adds a number to one that the service goes by. */
export const addTo = (text: string, name: Amount, more: number): LieRow =>
  row(text, honest => ({ [name]: honest[name] + more }))

/** A lie that multiplies a number that the service goes by. */
export const multiply = (text: string, name: Amount, factor: number): LieRow =>
  row(text, honest => ({ [name]: honest[name] * factor }))

/** `value` with these fields replaced; undefined removes one, since JSON omits it. */
export const amended = (value: unknown, changes: Fields): unknown => ({
  ...(typeof value === 'object' ? value : {}),
  ...changes,
})

/** What a service that checks first and counts later does not see. */
export const raceMs = 5

/** Tells a lie when the latest request arrived, in Unix milliseconds. */
export function arrivalOf(honest: Behavior): { readonly atMs: () => number } & Pick<Behavior, 'windowAt'> {
  let atMs = 0
  return {
    atMs: () => atMs,
    windowAt: (previous, nowMs, windowMs) => {
      atMs = nowMs
      return honest.windowAt(previous, nowMs, windowMs)
    },
  }
}
