/** A power of two, far more than a target sends. */
const places = 256
/** Names of a length that is worth remembering. */
const longest = 64
/** The names that headers have had, so far as no other has taken their place. */
const known: ({ readonly bytes: Uint8Array; readonly name: string } | undefined)[] = Array(places).fill(undefined)

/**
 * A header's name in lower case, of bytes as they came. A target sends the same few over and over: to compare bytes with
 * those of the name that was last in this place is several times cheaper than to make a string of them.
 */
export function headerName(bytes: Uint8Array): string {
  const { length } = bytes
  const place = ((bytes[0] ?? 0) * 7 + (bytes[length - 1] ?? 0) * 31 + (bytes[length >> 1] ?? 0) + length) % places
  const last = known[place]
  if (last !== undefined && areSame(last.bytes, bytes)) return last.name
  const name = Buffer.from(bytes).toString('latin1').toLowerCase()
  if (length <= longest) known[place] = { bytes: Uint8Array.from(bytes), name }
  return name
}

function areSame(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false
  return true
}
