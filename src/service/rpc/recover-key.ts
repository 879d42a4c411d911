type Point = { readonly x: bigint; readonly y: bigint }

const prime = 2n ** 256n - 2n ** 32n - 977n
const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const generator: Point = {
  x: 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n,
  y: 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n,
}

/**
 * The public key (64 bytes) that made an ECDSA signature on secp256k1; null if there is none. It takes some
 * milliseconds, for what a client sends now and then, and needs no package. No secret goes in.
 */
export function recoverPublicKey(
  digest: bigint,
  { r, s, yParity }: { readonly r: bigint; readonly s: bigint; readonly yParity: number },
): Buffer | null {
  if (r <= 0n || r >= order || s <= 0n || s >= order) return null
  const square = mod(r ** 3n + 7n, prime)
  const root = power(square, (prime + 1n) / 4n)
  if (mod(root * root, prime) !== square) return null
  const y = root % 2n === BigInt(yParity) ? root : prime - root
  const inverse = inverseOf(r, order)
  if (r === generator.x) return null
  const key = weightedSum({ x: r, y }, mod(s * inverse, order), generator, mod(-digest * inverse, order))
  return key === null
    ? null
    : Buffer.from([key.x, key.y].map(each => each.toString(16).padStart(64, '0')).join(''), 'hex')
}

const mod = (value: bigint, by: bigint): bigint => ((value % by) + by) % by

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  let square = base
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = (result * square) % prime
    square = (square * square) % prime
  }
  return result
}

/** By the extended algorithm of Euclid. */
function inverseOf(value: bigint, by: bigint): bigint {
  let [low, high] = [mod(value, by), by]
  let [lowFactor, highFactor] = [1n, 0n]
  while (low > 1n) {
    const quotient = high / low
    ;[low, high] = [high - quotient * low, low]
    ;[lowFactor, highFactor] = [highFactor - quotient * lowFactor, lowFactor]
  }
  return mod(lowFactor, by)
}

/** The sum of two points with different x: those of a signature and of the curve, but for one chance in 2^256. */
function sum(a: Point, b: Point): Point {
  const slope = (b.y - a.y) * inverseOf(b.x - a.x, prime)
  const x = mod(slope * slope - a.x - b.x, prime)
  return { x, y: mod(slope * (a.x - x) - a.y, prime) }
}

/** A point (x/z², y/z³), so that only the last step divides. */
type Projective = { readonly x: bigint; readonly y: bigint; readonly z: bigint }

/** a · m + b · n, both factors bit by bit at the same time; null for the point at infinity. */
function weightedSum(a: Point, m: bigint, b: Point, n: bigint): Point | null {
  const both = sum(a, b)
  let total: Projective | null = null
  for (let bit = 255n; bit >= 0n; bit--) {
    const [inM, inN] = [(m >> bit) & 1n, (n >> bit) & 1n]
    total = total && doubled(total)
    if (inM || inN) total = plus(total, inM && inN ? both : inM ? a : b)
  }
  if (total === null) return null
  const inverse = inverseOf(total.z, prime)
  return { x: mod(total.x * inverse ** 2n, prime), y: mod(total.y * inverse ** 3n, prime) }
}

function doubled({ x, y, z }: Projective): Projective {
  const [a, b] = [(x * x) % prime, (y * y) % prime]
  const d = (4n * x * b) % prime
  const e = 3n * a
  const newX = mod(e * e - 2n * d, prime)
  return { x: newX, y: mod(e * (d - newX) - 8n * b * b, prime), z: (2n * y * z) % prime }
}

function plus(total: Projective | null, { x, y }: Point): Projective | null {
  if (total === null) return { x, y, z: 1n }
  const square = (total.z * total.z) % prime
  const h = mod(x * square - total.x, prime)
  const r = mod(y * square * total.z - total.y, prime)
  if (h === 0n) return r === 0n ? doubled(total) : null
  const h2 = (h * h) % prime
  const h3 = (h2 * h) % prime
  const newX = mod(r * r - h3 - 2n * total.x * h2, prime)
  return { x: newX, y: mod(r * (total.x * h2 - newX) - total.y * h3, prime), z: (total.z * h) % prime }
}
