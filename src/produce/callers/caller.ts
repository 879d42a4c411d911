/** An account and its API keys, if it has any. A key leaves this folder only in the headers that `authorize` makes. */
export type Caller = { readonly name: string; readonly keys: readonly string[] }

type Headers = Readonly<Record<string, string>>

const noKey: Headers = {}
/** The headers of each key of a caller. Every request needs them. */
const known = new WeakMap<Caller, readonly Headers[]>()

/** The headers that authenticate the caller with its key at this position, modulo the number of keys. None without keys. */
export function authorize(caller: Caller, position: number): Headers {
  let headers = known.get(caller)
  if (headers === undefined) {
    headers = caller.keys.map(key => ({ authorization: `Bearer ${key}` }))
    known.set(caller, headers)
  }
  return headers[position % headers.length] ?? noKey
}
