/** An account, and its API keys. No key leaves this room, except in the headers that `authorize` makes. */
export type Caller = { readonly name: string; readonly keys: readonly string[] }

/** The headers that authenticate the caller, by its key at this position. Positions beyond the last key start again. */
export function authorize({ name, keys }: Caller, position: number): Readonly<Record<string, string>> {
  const key = keys[position % keys.length]
  if (key === undefined) throw new RangeError(`${name} has no key`)
  return { authorization: `Bearer ${key}` }
}
