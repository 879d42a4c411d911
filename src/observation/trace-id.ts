import { randomStream } from '../lib/random.ts'

/** The W3C trace context of each request of a run. It depends only on the ids of run and request, so no log needs it. */
export type TraceIds = {
  /** 32 hexadecimal digits, unique to the request. */
  readonly traceId: (requestId: number) => string
  /** 16 hexadecimal digits. */
  readonly spanId: (requestId: number) => string
  /** The value of the header `traceparent`, with the flag "sampled". */
  readonly traceparent: (requestId: number) => string
}

export function traceIdsOf(runId: string): TraceIds {
  const { next } = randomStream(0, `trace ids of ${runId}`)
  const word = () => Math.floor(next() * 2 ** 32)
  const ofRun = hex(word()) + hex(word() || 1)
  const [traceKeys, spanKeys]: readonly Keys[] = [0, 1].map(() => [word(), word(), word(), word()])
  const traceId = (id: number) => ofRun + permuted(id, traceKeys ?? noKeys)
  const spanId = (id: number) => {
    const digits = permuted(id, spanKeys ?? noKeys)
    // All zeros are invalid.
    return digits === noSpan ? `${noSpan.slice(1)}1` : digits
  }
  return { traceId, spanId, traceparent: id => `00-${traceId(id)}-${spanId(id)}-01` }
}

type Keys = readonly [number, number, number, number]
const noKeys: Keys = [0, 0, 0, 0]
const noSpan = '0'.repeat(16)

/**
 * A permutation of 64 bits (a Feistel network): different ids stay different. Samplers of the target read the last digits,
 * so these must look random. Each round is written out, because this runs for every request.
 */
function permuted(id: number, keys: Keys): string {
  let left = Math.floor(id / 2 ** 32) | 0
  let right = id | 0
  left ^= mix(right ^ keys[0])
  right ^= mix(left ^ keys[1])
  left ^= mix(right ^ keys[2])
  right ^= mix(left ^ keys[3])
  return hex(left) + hex(right)
}

/** The last step of MurmurHash3 (Appleby). */
function mix(bits: number): number {
  let mixed = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}

/** The digits of each half of a word. Formatting numbers would take most of the time. */
const digits = Array.from({ length: 2 ** 16 }, (_, half) => half.toString(16).padStart(4, '0'))

const hex = (word: number): string => `${digits[word >>> 16]}${digits[word & 0xffff]}`
