/** Writes fields in the protocol buffers wire format into a buffer that grows as needed. */
export type ProtobufWriter = {
  /** An integer from 0 to 2⁵³. */
  readonly uint: (field: number, value: number) => void
  /** A signed integer, encoded like `sint32` and `sint64`. */
  readonly sint: (field: number, value: number) => void
  readonly double: (field: number, value: number) => void
  /** A double by its bits, because JavaScript cannot represent different NaNs. */
  readonly doubleBits: (field: number, bits: bigint) => void
  readonly text: (field: number, value: string) => void
  readonly packedSints: (field: number, values: readonly number[]) => void
  /** One field with everything that `fill` writes. */
  readonly message: (field: number, fill: () => void) => void
  /** Fields that are already encoded. */
  readonly raw: (bytes: Uint8Array) => void
  readonly size: () => number
  /** Returns a copy of the written bytes and clears the writer. */
  readonly take: () => Uint8Array
}

const VARINT = 0
const EIGHT_BYTES = 1
const LENGTH_DELIMITED = 2
const MAX_VARINT_BYTES = 10

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
    makeRoom(MAX_VARINT_BYTES)
    let rest = value
    // Not with shifts, which would truncate a timestamp to 32 bits.
    for (; rest >= 128; rest = Math.floor(rest / 128)) bytes[end++] = (rest % 128) | 128
    bytes[end++] = rest
  }
  const tag = (field: number, type: number) => varint(field * 8 + type)
  const zigzag = (value: number) => varint(value < 0 ? -2 * value - 1 : 2 * value)

  const lengthDelimited = (field: number, fill: () => void) => {
    tag(field, LENGTH_DELIMITED)
    const start = end
    fill()
    // The length comes first but is known last.
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
      tag(field, LENGTH_DELIMITED)
      varint(length)
      makeRoom(length)
      end += bytes.write(value, end)
    },
    packedSints: (field, values) => lengthDelimited(field, () => values.forEach(zigzag)),
    message: lengthDelimited,
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
