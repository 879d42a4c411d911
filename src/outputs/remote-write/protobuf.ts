/** Writes fields in the wire format of protocol buffers, one after the other, into memory that grows as needed. */
export type ProtobufWriter = {
  /** A whole number from 0 to 2⁵³. */
  readonly uint: (field: number, value: number) => void
  /** A whole number of either sign, as `sint32` and `sint64` have it. */
  readonly sint: (field: number, value: number) => void
  readonly double: (field: number, value: number) => void
  /** A double by its bits, for a NaN that says something is no number to JavaScript. */
  readonly doubleBits: (field: number, bits: bigint) => void
  readonly text: (field: number, value: string) => void
  readonly packedSints: (field: number, values: readonly number[]) => void
  /** Whatever `fill` writes, as one field. */
  readonly message: (field: number, fill: () => void) => void
  /** Fields that were written before. */
  readonly raw: (bytes: Uint8Array) => void
  readonly size: () => number
  /** A copy of what was written; the writer begins anew. */
  readonly take: () => Uint8Array
}

const VARINT = 0
const EIGHT_BYTES = 1
const COUNTED = 2
const LONGEST_VARINT = 10

export function createProtobufWriter(firstSize = 1024): ProtobufWriter {
  let bytes = Buffer.alloc(firstSize)
  let end = 0

  const makeRoom = (more: number) => {
    if (end + more <= bytes.length) return
    const larger = Buffer.alloc(Math.max(2 * bytes.length, end + more))
    bytes.copy(larger, 0, 0, end)
    bytes = larger
  }

  const varint = (value: number) => {
    makeRoom(LONGEST_VARINT)
    let rest = value
    // Not by shifts, which would cut a timestamp to 32 bits.
    for (; rest >= 128; rest = Math.floor(rest / 128)) bytes[end++] = (rest % 128) | 128
    bytes[end++] = rest
  }
  const tag = (field: number, type: number) => varint(field * 8 + type)
  const zigzag = (value: number) => varint(value < 0 ? -2 * value - 1 : 2 * value)

  const counted = (field: number, fill: () => void) => {
    tag(field, COUNTED)
    const start = end
    fill()
    // The length stands first and is known last.
    const length = end - start
    varint(length)
    const lengthSize = end - start - length
    bytes.copyWithin(start + lengthSize, start, start + length)
    end = start
    varint(length)
    end += length
  }

  return {
    uint: (field, value) => {
      tag(field, VARINT)
      varint(value)
    },
    sint: (field, value) => {
      tag(field, VARINT)
      zigzag(value)
    },
    double: (field, value) => {
      tag(field, EIGHT_BYTES)
      makeRoom(8)
      end = bytes.writeDoubleLE(value, end)
    },
    doubleBits: (field, bits) => {
      tag(field, EIGHT_BYTES)
      makeRoom(8)
      end = bytes.writeBigUInt64LE(bits, end)
    },
    text: (field, value) => {
      const length = Buffer.byteLength(value)
      tag(field, COUNTED)
      varint(length)
      makeRoom(length)
      end += bytes.write(value, end)
    },
    packedSints: (field, values) => counted(field, () => values.forEach(zigzag)),
    message: counted,
    raw: written => {
      makeRoom(written.length)
      bytes.set(written, end)
      end += written.length
    },
    size: () => end,
    take: () => {
      const written = new Uint8Array(bytes.subarray(0, end))
      end = 0
      return written
    },
  }
}
