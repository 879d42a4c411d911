import { numberIn } from '../../lib/numbers.ts'
import type { LimitStatement, LimitStatements } from './limit-headers.ts'

type Headers = Readonly<Record<string, string>>

/** One of several policies in a header: `"burst";q=10;w=1`, or `100;w=3600`. */
export type Policy = {
  readonly text: string
  readonly name: string
  /** What it counts: `tokens` of `"daily";q=1000;qu="tokens"`; null: it does not say, which means requests. */
  readonly unit: string | null
  /** Those that are numbers; null: another value. */
  readonly parameters: ReadonlyMap<string, number | null>
}

/** Parts between marks that are not in quotes. */
const between = { ',': /(?:"(?:[^"\\]|\\.)*"|[^,])+/g, ';': /(?:"(?:[^"\\]|\\.)*"|[^;])+/g } as const
const split = (text: string, mark: keyof typeof between): readonly string[] =>
  (text.match(between[mark]) ?? []).map(part => part.trim())

/** The policies of a header, in its order. */
export function policiesIn(text: string | undefined): readonly Policy[] {
  return split(text ?? '', ',').map(part => {
    const [name = '', ...rest] = split(part, ';')
    const parameters = rest.map(each => each.split('=')).map(([key = '', value = '']) => [key, value] as const)
    const unit = parameters.find(([key]) => key === 'qu')?.[1].replaceAll('"', '') ?? null
    return { text: part, name, unit, parameters: new Map(parameters.map(([key, value]) => [key, numberIn(value)])) }
  })
}

export const countsRequests = ({ unit }: Policy): boolean => unit === null || unit === 'requests'

/** The length of the window of a policy; null: it does not say. */
export const policySeconds = ({ parameters }: Policy): number | null => parameters.get('w') ?? null

/** The policy of requests with this window. */
const ofWindow = (policies: readonly Policy[], windowMs: number): Policy | undefined =>
  policies.find(each => countsRequests(each) && policySeconds(each) === windowMs / 1_000)

const named = (policies: readonly Policy[], policy: string): Policy | undefined =>
  policies.find(({ name }) => name === `"${policy}"` || name === policy)

/** A list of numbers has no names. */
const onlyPolicy = ([first]: readonly Policy[]): string | undefined =>
  first !== undefined && numberIn(first.name) !== null ? first.text : undefined

/** The policies that a response names in the header of a policy beside the given one; empty: none. */
const namedBeside = ({ header }: LimitStatement, headers: Headers): readonly Policy[] =>
  headers[`${header}-policy`] === undefined ? [] : policiesIn(headers[`${header}-policy`])

/** The part of a header that is about the window of the profile, if it states several policies; otherwise all of it. */
export function ownPolicy(at: LimitStatement, headers: Headers, windowMs: number): string | undefined {
  const text = headers[at.header]
  if (text === undefined || at.form === 'number' || !text.includes(';')) return text
  const policies = policiesIn(text)
  if (at.policy !== undefined) return named(policies, at.policy)?.text ?? onlyPolicy(policies)
  const own = ofWindow(policies, windowMs)
  if (own !== undefined) return own.text
  const beside = namedBeside(at, headers)
  const name = ofWindow(beside, windowMs)?.name
  const found = policies.find(each => each.name === name)
  if (found !== undefined) return found.text
  const countsOthers = (policy: Policy) =>
    !countsRequests(policy) || beside.some(each => each.name === policy.name && !countsRequests(each))
  const ofRequests = policies.filter(policy => !countsOthers(policy))
  return ofRequests.length === policies.length ? text : ofRequests[0]?.text
}

/**
 * Whether what remains, and the reset, are those of another policy than that of the window: the service states the tightest
 * one, which applies.
 */
export function statesOtherPolicy(at: LimitStatements, headers: Headers, windowMs: number): boolean {
  if (at.limit?.form === 'list') {
    const [first, ...rest] = policiesIn(headers[at.limit.header])
    const own = ofWindow(rest, windowMs)
    return own !== undefined && rest.length > 1 && first !== undefined && first.name !== own.name
  }
  if (at.remaining?.form !== 'field-number') return false
  const all = namedBeside(at.remaining, headers)
  const own = ofWindow(all, windowMs)
  if (own === undefined || all.length < 2) return false
  const stated = policiesIn(headers[at.remaining.header])
  const { member } = at.remaining
  const left = ({ parameters }: Policy) => (member === null ? null : (parameters.get(member) ?? null))
  const mine = stated.find(({ name }) => name === own.name)
  return mine === undefined || (left(mine) !== 0 && stated.some(each => each !== mine && left(each) === 0))
}
