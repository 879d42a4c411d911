const rateBytes = 136
const mask64 = (1n << 64n) - 1n

const roundConstants: readonly bigint[] = constants()
/** How far each lane rotates, by its position x + 5y. */
const rotations: readonly bigint[] = offsets()

/** Keccak-256 with the padding of Ethereum, which `node:crypto` does not have. For short texts: it is slow. */
export function keccak256(input: Uint8Array): string {
  const padded = new Uint8Array(Math.floor(input.length / rateBytes + 1) * rateBytes)
  padded.set(input)
  padded[input.length] = 1
  padded[padded.length - 1] = (padded[padded.length - 1] ?? 0) | 0x80
  const view = new DataView(padded.buffer)
  let state: readonly bigint[] = Array<bigint>(25).fill(0n)
  for (let block = 0; block < padded.length; block += rateBytes)
    state = permuted(
      state.map((lane, index) => (index * 8 < rateBytes ? lane ^ view.getBigUint64(block + index * 8, true) : lane)),
    )
  const digest = Buffer.alloc(32)
  for (const [index, lane] of state.slice(0, 4).entries()) digest.writeBigUInt64LE(lane, index * 8)
  return `0x${digest.toString('hex')}`
}

function permuted(start: readonly bigint[]): readonly bigint[] {
  let lanes = start
  const lane = (x: number, y: number) => lanes[(x % 5) + 5 * (y % 5)] ?? 0n
  const each = (value: (x: number, y: number) => bigint) =>
    Array.from({ length: 25 }, (_, index) => value(index % 5, Math.floor(index / 5)))
  for (const constant of roundConstants) {
    const columns = Array.from({ length: 5 }, (_, x) => lane(x, 0) ^ lane(x, 1) ^ lane(x, 2) ^ lane(x, 3) ^ lane(x, 4))
    const parity = (x: number) => (columns[(x + 4) % 5] ?? 0n) ^ rotated(columns[(x + 1) % 5] ?? 0n, 1n)
    lanes = each((x, y) => lane(x, y) ^ parity(x))
    // The lane that comes to (x, y) was at (x + 3y, x).
    lanes = each((x, y) => rotated(lane(x + 3 * y, x), rotations[((x + 3 * y) % 5) + 5 * x] ?? 0n))
    lanes = each((x, y) => lane(x, y) ^ (~lane(x + 1, y) & mask64 & lane(x + 2, y)))
    lanes = lanes.map((value, index) => (index === 0 ? value ^ constant : value))
  }
  return lanes
}

const rotated = (lane: bigint, by: bigint): bigint => ((lane << by) | (lane >> (64n - by))) & mask64

function offsets(): readonly bigint[] {
  const found = Array<bigint>(25).fill(0n)
  let [x, y] = [1, 0]
  for (let step = 0; step < 24; step++) {
    found[x + 5 * y] = BigInt((((step + 1) * (step + 2)) / 2) % 64)
    ;[x, y] = [y, (2 * x + 3 * y) % 5]
  }
  return found
}

/** Bits of a linear feedback shift register, at the positions 2^j - 1. */
function constants(): readonly bigint[] {
  let register = 1
  return Array.from({ length: 24 }, () => {
    let constant = 0n
    for (let j = 0; j < 7; j++) {
      if (register & 1) constant |= 1n << BigInt(2 ** j - 1)
      register = (register << 1) ^ (register & 0x80 ? 0x171 : 0)
    }
    return constant
  })
}
