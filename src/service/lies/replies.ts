import type { Contract } from '../../contract/contract.ts'
import { fullHeaderName } from '../../contract/headers.ts'
import { isObject, parseJson } from '../../lib/json.ts'
import { is2xx } from '../../lib/numbers.ts'
import { randomStream } from '../../lib/random.ts'
import type { Reply, RequestState, ServiceRequest } from '../message.ts'
import type { Route } from '../router.ts'
import type { Fields } from './decisions.ts'
import { type LieOverrides, type LieRow, row } from './lie.ts'

type OfReply<Value> = (reply: Reply, state: RequestState, contract: Contract) => Value
export type ReplyTest = OfReply<boolean>
export type ReplyChange = OfReply<Reply>
/** Another value of a header, or how it follows from the value. */
type HeaderChange = string | ((value: string, ...given: Parameters<ReplyChange>) => string)

/** Changes the finished replies that fit. */
export const changeReplies =
  (fits: ReplyTest, ...changes: readonly ReplyChange[]): LieOverrides =>
  (honest, contract) => ({
    finish: (reply, state) => {
      const finished = honest.finish(reply, state)
      if (!fits(finished, state, contract)) return finished
      return changes.reduce((changed, change) => change(changed, state, contract), finished)
    },
  })

/** A lie that changes the finished replies that fit. */
export const replies = (text: string, fits: ReplyTest, ...changes: readonly ReplyChange[]): LieRow =>
  row(text, changeReplies(fits, ...changes))

/** A lie that gives a header another value, where it is present. */
export const header = (text: string, name: string, change: HeaderChange): LieRow =>
  replies(text, isAny, setHeader(name, change))

/** A lie that leaves headers out of every reply. */
export const withoutHeaders = (text: string, ...names: readonly string[]): LieRow =>
  replies(text, isAny, dropHeaders(...names))

export const isAny: ReplyTest = () => true
export const isErrorReply = ({ status }: Reply): boolean => status >= 400
export const isStream = ({ body }: Reply): boolean => body.kind === 'stream'
/** Whether a request asks for a stream, whatever it gets. */
export const asksForStream = ({ body }: ServiceRequest): boolean => /"stream":\s*true/.test(body.toString())
export const isForStream: ReplyTest = (_, { request }) => asksForStream(request)
export const isForBatch: ReplyTest = (_, { request }) => request.body.toString().startsWith('[')
export const isBatch = (reply: Reply): boolean => replyText(reply).startsWith('[')
export const isReplay = ({ headers }: Reply): boolean => headers['idempotent-replayed'] !== undefined
/** A reply of a node, new or replayed. */
export const isNodeReply = ({ status }: Reply, { route }: RequestState): boolean =>
  route.kind === 'rpc' && is2xx(status)

export const hasStatus =
  (wanted: number): ReplyTest =>
  ({ status }) =>
    status === wanted

/** Replies of one kind of route, with one status if it is given. */
export const isOf =
  (kind: Route['kind'], wanted: number | null = null): ReplyTest =>
  ({ status }, { route }) =>
    route.kind === kind && (wanted === null || status === wanted)

/** Replies whose body has this text. */
export const says =
  (part: string): ReplyTest =>
  reply =>
    replyText(reply).includes(part)

export const all =
  (...tests: readonly ReplyTest[]): ReplyTest =>
  (reply, state, contract) =>
    tests.every(test => test(reply, state, contract))

export const not =
  (test: ReplyTest): ReplyTest =>
  (reply, state, contract) =>
    !test(reply, state, contract)

/** `{prefix}` in the name of a header stands for the prefix of the service's own headers, here and below. */
export const dropHeaders =
  (...dropped: readonly string[]): ReplyChange =>
  (reply, _, contract) => {
    const names = dropped.map(name => fullHeaderName(name, contract))
    const headers = Object.fromEntries(Object.entries(reply.headers).filter(([name]) => !names.includes(name)))
    return { ...reply, headers }
  }

/** Gives a header another value, where it is present. */
export const setHeader =
  (template: string, change: HeaderChange): ReplyChange =>
  (reply, state, contract) => {
    const name = fullHeaderName(template, contract)
    const present = reply.headers[name]
    if (present === undefined) return reply
    const value = typeof change === 'string' ? change : change(present, reply, state, contract)
    return { ...reply, headers: { ...reply.headers, [name]: value } }
  }

/** Gives a header the value that it had first. */
export function keepFirst(template: string): ReplyChange {
  let first: string | undefined
  return setHeader(template, value => {
    first ??= value
    return first
  })
}

/** Adds or replaces a header. */
export const addHeader =
  (template: string, value: string | OfReply<string>): ReplyChange =>
  (reply, state, contract) => {
    const added = typeof value === 'string' ? value : value(reply, state, contract)
    return { ...reply, headers: { ...reply.headers, [fullHeaderName(template, contract)]: added } }
  }

export const setStatus =
  (status: number): ReplyChange =>
  reply => ({ ...reply, status })

export const setText =
  (text: string): ReplyChange =>
  reply =>
    withText(reply, text)

/** Replaces fields of a body that is a JSON object; undefined removes one. */
export const setFields =
  (fields: Fields | ((body: Fields, state: RequestState) => Fields)): ReplyChange =>
  (reply, state) => {
    const body = parseJson(replyText(reply))
    if (!isObject(body)) return reply
    const changes = typeof fields === 'function' ? fields(body, state) : fields
    return withText(reply, JSON.stringify({ ...body, ...changes }))
  }

/** Changes a header that is a number. */
export const plus =
  (more: number) =>
  (value: string): string =>
    String(Number(value) + more)

/** A lie that states a header of the replies that fit again in the next one: 1, 1, 3, 3, and so on. */
export const repeatHeader = (text: string, name: string, fits: (reply: Reply) => boolean = () => true): LieRow =>
  row(text, honest => {
    let last = ''
    return {
      finish: (reply, state) => {
        const finished = honest.finish(reply, state)
        const { [name]: value } = finished.headers
        if (value === undefined || !fits(finished)) return finished
        const shown = last === '' ? value : last
        last = last === '' ? value : ''
        return { ...finished, headers: { ...finished.headers, [name]: shown } }
      },
    }
  })

/** A lie that gives all replies to an account that fit the header of the first one. */
export const keepFirstHeader = (text: string, name: string, fits: (reply: Reply) => boolean = () => true): LieRow =>
  row(text, honest => {
    const first = new Map<string, string>()
    return {
      finish: (reply, state) => {
        const finished = honest.finish(reply, state)
        const { [name]: value } = finished.headers
        if (state.account === null || value === undefined || !fits(finished)) return finished
        const shown = first.get(state.account.name) ?? value
        first.set(state.account.name, shown)
        return { ...finished, headers: { ...finished.headers, [name]: shown } }
      },
    }
  })

/** A lie that returns 502 for two of five replies of a node with such a text, as a broken gateway might. */
export const failSometimes = (text: string, stream: string, fails: (text: string) => boolean): LieRow =>
  row(text, honest => {
    const random = randomStream(1, stream)
    return {
      finish: (reply, state) => {
        const finished = honest.finish(reply, state)
        const isHit =
          isNodeReply(finished, state) && !isReplay(finished) && fails(replyText(finished)) && random.next() < 0.4
        return isHit ? withText({ ...finished, status: 502 }, '{"error":{"message":"Bad gateway"}}') : finished
      },
    }
  })

/** The text of a reply that is sent whole. */
export const replyText = ({ body }: Reply): string => (body.kind === 'whole' ? body.text : '')

export const withText = (reply: Reply, text: string): Reply => ({ ...reply, body: { kind: 'whole', text } })
