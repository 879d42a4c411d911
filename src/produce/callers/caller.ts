/** An account and its API keys, if it has any. A key leaves this folder only in the headers that `authorize` makes. */
export type Caller = { readonly name: string; readonly keys: readonly string[] }

/** The headers that authenticate the caller with its key at this position, modulo the number of keys. None without keys. */
export function authorize({ keys }: Caller, position: number): Readonly<Record<string, string>> {
  const key = keys[position % keys.length]
  return key === undefined ? {} : { authorization: `Bearer ${key}` }
}
