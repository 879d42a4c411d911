import type { Reply, RequestState } from '../message.ts'

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

/** `reply` with headers over those that it has. */
export const withHeaders = (reply: Reply, headers: Reply['headers']): Reply => ({
  ...reply,
  headers: { ...reply.headers, ...headers },
})

export const withText = (reply: Reply, text: string): Reply => ({ ...reply, body: { kind: 'whole', text } })

/** The text of a reply that is sent whole. */
export const textOf = ({ body }: Reply): string => (body.kind === 'whole' ? body.text : '')

export const isError = ({ status }: Reply): boolean => status >= 400
export const isStream = ({ body }: Reply): boolean => body.kind === 'stream'
/** An answer of a node, fresh or repeated. */
export const isRelayed = ({ status }: Reply, { route }: RequestState): boolean => route.kind === 'rpc' && status === 200
export const isReplay = ({ headers }: Reply): boolean => headers['idempotent-replayed'] !== undefined
export const isBatch = (reply: Reply): boolean => textOf(reply).startsWith('[')
