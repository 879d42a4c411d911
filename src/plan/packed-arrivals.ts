import { deflateSync, inflateSync } from 'node:zlib'

/** One arrival of a recording: when, what and who, as positions in a mix and among the callers. */
export type PackedArrival = { readonly offsetMs: number; readonly call: number; readonly caller: number }

/**
 * Arrivals as text, for a plan: of each the microseconds since the one before, the call and the caller, as numbers of
 * seven bits a byte, compressed. Rounding is of the offset from the start, so that it does not add up.
 */
export function packArrivals(arrivals: Iterable<PackedArrival>): string {
  let bytes = Buffer.alloc(4_096)
  let length = 0
  const put = (value: number) => {
    let rest = value
    for (; rest >= 128; rest = Math.floor(rest / 128)) bytes[length++] = 128 + (rest % 128)
    bytes[length++] = rest
  }
  let beforeUs = 0
  for (const { offsetMs, call, caller } of arrivals) {
    if (length + 3 * longestNumber > bytes.length) bytes = Buffer.concat([bytes, Buffer.alloc(bytes.length)])
    const offsetUs = Math.round(offsetMs * 1_000)
    put(offsetUs - beforeUs)
    put(call)
    put(caller)
    beforeUs = offsetUs
  }
  return deflateSync(bytes.subarray(0, length)).toString('base64')
}

/** Bytes of 2⁵³, seven bits each. */
const longestNumber = 8

/** The arrivals of `packArrivals` again, one at a time and in order. */
export function* unpackArrivals(packed: string): Iterable<PackedArrival> {
  const bytes = inflateSync(Buffer.from(packed, 'base64'))
  let position = 0
  const take = () => {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[position++] ?? 0
      if (byte < 128) return value + byte * scale
      value += (byte - 128) * scale
    }
  }
  let offsetUs = 0
  while (position < bytes.length) {
    offsetUs += take()
    const [call, caller] = [take(), take()]
    yield { offsetMs: offsetUs / 1_000, call, caller }
  }
}
