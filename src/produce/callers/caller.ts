/** An account and its API keys. A key leaves this folder only in the headers that `authorize` makes. */
export type Caller = { readonly name: string; readonly keys: readonly string[] }

/** The headers that authenticate the caller with its key at this position, modulo the number of keys. */
export function authorize({ name, keys }: Caller, position: number): Readonly<Record<string, string>> {
  const key = keys[position % keys.length]
  if (key === undefined) throw new RangeError(`${name} has no key`)
  return { authorization: `Bearer ${key}` }
}
