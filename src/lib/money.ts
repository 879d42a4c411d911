import { isDecimal } from './numbers.ts'

/**
 * Money as integers of 10⁻¹² units ("pico"), because a token costs less than a nano-dollar and sums of floats are not
 * exact. Names state the currency (`picoUsd`, `picoDiem`). Amounts of different currencies are never added.
 */
const PICO_DIGITS = 12

/** An amount in a text has at most this many digits before the point. Larger amounts are not plausible, and sums of these are finite. */
export const maxWholeDigits = 100

/**
 * `"0.0000125"`, `1.25e-5` or `"-3"` as pico-units; null if it is not a decimal number, needs more than 12 decimals, or
 * is a text with more than 100 digits before the point.
 */
export const parsePico = (value: string | number): bigint | null => parseAmount(value, false)

/** The same for what a target states: floating-point noise after the 12th decimal is rounded. */
export const nearestPico = (value: string | number): bigint | null => parseAmount(value, true)

function parseAmount(value: string | number, isRounded: boolean): bigint | null {
  const text = String(value)
  const short = shortPico(text)
  if (short !== null) return short
  const amount = text.length > maxTextLength ? null : anyPico(text, isRounded)
  return amount !== null && typeof value === 'string' && absDifference(amount, 0n) >= maxAmount ? null : amount
}

const maxAmount = 10n ** BigInt(maxWholeDigits + PICO_DIGITS)
/** Longer than any amount, also with a sign, zeros and an exponent, and quick to read. */
const maxTextLength = 400

/** The number of digits that a double holds exactly. */
const maxDigits = 15
/** The value of the last digit, by the number of decimals. */
const digitValues = Array.from({ length: PICO_DIGITS + 1 }, (_, decimals) => 10n ** BigInt(PICO_DIGITS - decimals))

/** A short decimal without sign and exponent, like nearly all amounts; null for any other text. */
function shortPico(text: string): bigint | null {
  if (text.length > maxDigits || !isDecimal(text)) return null
  const point = text.indexOf('.')
  const digitValue = digitValues[point < 0 ? 0 : text.length - 1 - point]
  return digitValue === undefined ? null : BigInt(withoutPoint(text)) * digitValue
}

function withoutPoint(decimal: string): number {
  let value = 0
  for (let at = 0; at < decimal.length; at++) {
    const digit = decimal.charCodeAt(at) - 48
    if (digit >= 0) value = value * 10 + digit
  }
  return value
}

function anyPico(text: string, isRounded: boolean): bigint | null {
  const match = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text.trim())
  if (match === null) return null
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  const digits = BigInt(whole + fraction)
  const shift = PICO_DIGITS - fraction.length + Number(exponent)
  const scale = 10n ** BigInt(Math.abs(shift))
  if (shift < 0 && digits % scale !== 0n && !isRounded) return null
  const amount = shift < 0 ? (digits + scale / 2n) / scale : digits * scale
  return sign === '-' ? -amount : amount
}

/** Like `parsePico` for trusted text: throws a RangeError instead of returning null. */
export function pico(value: string | number): bigint {
  const amount = parsePico(value)
  if (amount === null) throw new RangeError(`not a decimal amount: ${value}`)
  return amount
}

/** A plain decimal without exponent and without trailing zeros: `"0.0000125"`, `"-3"`. */
export function formatPico(amount: bigint): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(PICO_DIGITS + 1, '0')
  const fraction = digits.slice(-PICO_DIGITS).replace(/0+$/, '')
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -PICO_DIGITS)}${fraction === '' ? '' : `.${fraction}`}`
}

/** A decimal with exactly `decimals` digits after the point, ties rounded away from zero. `decimals` ≤ 12. */
export function roundPico(amount: bigint, decimals: number): string {
  const unit = 10n ** BigInt(PICO_DIGITS - decimals)
  const magnitude = ((amount < 0n ? -amount : amount) + unit / 2n) / unit
  const digits = magnitude.toString().padStart(decimals + 1, '0')
  const sign = amount < 0n && magnitude > 0n ? '-' : ''
  if (decimals === 0) return sign + digits
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

export const cent = pico('0.01')

/** An amount in pico-USD, rounded up to whole cents. */
export const wholeCents = (amount: bigint): bigint => ((amount + cent - 1n) / cent) * cent

/** |a − b|. */
export const absDifference = (a: bigint, b: bigint): bigint => (a > b ? a - b : b - a)

/** The cost of some units, which may be a fraction, at a price per `per` units. Rounded up. */
export function costOfUnits(units: number, price: bigint, per = 1n): bigint {
  // Floating-point error is ignored: 210.00000000000003 is 210.
  const whole = BigInt(Math.ceil(Number(units.toPrecision(12))))
  return (whole * price + per - 1n) / per
}
