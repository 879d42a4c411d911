import { type Random, randomStream } from '../../lib/random.ts'

const wordDigits = 64
/** Multicall3 `aggregate3`, which client libraries use to send many calls as one. */
const aggregate3 = '82ad56cb'
const maxCalls = 1_000
/** How deep such calls may contain others. Each of them is decoded recursively. */
const maxNesting = 4

/** The result of a call, as 0x and words of 32 bytes. `data` begins with 0x. A word is a small number. */
export function callResult(seed: number, to: string, data: string, nesting = 0): string {
  const digits = data.slice(2).toLowerCase()
  const calls = digits.startsWith(aggregate3) && nesting < maxNesting ? innerCalls(digits.slice(8)) : null
  return calls === null
    ? `0x${returned(digits.slice(0, 8), randomStream(seed, `call/${to}/${digits}`))}`
    : `0x${encodedResults(calls.map(call => callResult(seed, call.to, call.data, nesting + 1).slice(2)))}`
}

/** By the selectors of ERC-20. */
function returned(selector: string, random: Random): string {
  switch (selector) {
    case '06fdde03': // name()
      return text('Reference Coin')
    case '95d89b41': // symbol()
      return text('REF')
    case '313ce567': // decimals()
      return word(18)
    default:
      return word(random.int(2 ** 31))
  }
}

type InnerCall = { readonly to: string; readonly data: string }

/** The calls of `aggregate3((address,bool,bytes)[])`; null if these are none, or share their bytes. */
function innerCalls(digits: string): readonly InnerCall[] | null {
  const number = (byte: number) => {
    const at = digits.slice(byte * 2, byte * 2 + wordDigits)
    const value = at.length === wordDigits ? Number(`0x${at}`) : Number.NaN
    return value * 2 <= digits.length ? value : Number.NaN
  }
  const list = number(0)
  const count = number(list)
  if (!(count <= maxCalls)) return null
  const calls: InnerCall[] = []
  let total = 0
  for (let index = 0; index < count; index++) {
    const tuple = list + 32 + number(list + 32 + index * 32)
    const data = tuple + number(tuple + 64)
    const bytes = number(data)
    total += bytes
    if (Number.isNaN(tuple) || Number.isNaN(data) || !(total * 2 <= digits.length)) return null
    calls.push({
      to: `0x${digits.slice(tuple * 2 + 24, tuple * 2 + wordDigits)}`,
      data: `0x${digits.slice((data + 32) * 2, (data + 32 + bytes) * 2)}`,
    })
  }
  return calls
}

/** `(bool success, bytes returnData)[]`. */
function encodedResults(results: readonly string[]): string {
  const tuples = results.map(result => word(1) + word(64) + bytes(result))
  let offset = tuples.length * 32
  const offsets = tuples.map(tuple => {
    const own = word(offset)
    offset += tuple.length / 2
    return own
  })
  return [word(32), word(tuples.length), ...offsets, ...tuples].join('')
}

const word = (value: number): string => value.toString(16).padStart(wordDigits, '0')

/** The length, then the bytes in whole words. */
const bytes = (hex: string): string =>
  word(hex.length / 2) + hex.padEnd(Math.ceil(hex.length / wordDigits) * wordDigits, '0')

const text = (value: string): string => word(32) + bytes(Buffer.from(value).toString('hex'))
