/** Printed in place of a missing value. */
export const NO_VALUE = '–'

/** `850 µs`, `12.3 ms`, `412 ms`, `1.24 s`, `2m05s`: three significant digits. */
export function formatDuration(ms: number | null): string {
  if (ms === null) return NO_VALUE
  if (ms < 0) return `-${formatDuration(-ms)}`
  if (ms < 0.9995) return `${Math.round(ms * 1000)} µs`
  if (ms < 999.5) return `${threeDigits(ms)} ms`
  if (ms < 99_950) return `${threeDigits(ms / 1000)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m${twoDigits(seconds % 60)}s`
  return `${Math.floor(seconds / 3600)}h${twoDigits(Math.floor((seconds % 3600) / 60))}m`
}

/** `12,345`; a fraction has three significant digits. */
export function count(value: number | null): string {
  if (value === null) return NO_VALUE
  return Number.isInteger(value) ? groupThousands(String(value)) : threeDigits(value)
}

/** Takes text, since the number may be too large for a float. Decimals are not grouped. */
export const groupThousands = (decimal: string): string => decimal.replace(/\B(?<![.,]\d*)(?=(\d{3})+(?!\d))/g, ',')

/** `98.2 %`. Rounding never yields 100 % or 0 % for any other value. */
export function formatRatio(value: number | null): string {
  if (value === null) return NO_VALUE
  const percent = value * 100
  const rounded = Math.round(percent * 10) / 10
  if (rounded === 100 && percent < 100) return '99.9+ %'
  if (rounded === 0 && percent > 0) return '<0.1 %'
  return `${rounded} %`
}

/** `12.5/s`. */
export const formatRate = (perSecond: number | null): string =>
  perSecond === null ? NO_VALUE : `${count(perSecond === 0 ? 0 : Number(threeDigits(perSecond)))}/s`

export type Unit = 'ms' | 'count' | 'ratio' | 'per-second' | 'credits' | 'usd'

/** More digits than elsewhere, so that a value and its bound do not look equal. */
export function formatExact(value: number, unit: Unit): string {
  switch (unit) {
    case 'ms':
      return `${fiveDigits(value)} ms`
    case 'ratio':
      return `${fiveDigits(value * 100)} %`
    case 'per-second':
      return `${fiveDigits(value)}/s`
    case 'usd':
      return `$${value}`
    case 'count':
    case 'credits':
      return String(value)
  }
}

/** A smaller difference from the value does not show in three digits. */
const shownShare = 0.01

/** A value with the range of its true value: `91 ms (50 ms to 91 ms)`. Only the value if the range is that narrow. */
export function formatWithError(value: number, lowest: number, highest: number, unit: Unit): string {
  const exactly = formatExact(value, unit)
  if (Math.max(value - lowest, highest - value) <= Math.abs(value) * shownShare) return exactly
  const end = (each: number, round: (value: number) => number) => {
    if (!Number.isFinite(each)) return 'any value'
    return each === value ? exactly : formatExact(roundOutward(each, round), unit)
  }
  return `${exactly} (${end(lowest, Math.floor)} to ${end(highest, Math.ceil)})`
}

/** Three significant digits, rounded so that a range between such ends holds the whole range. */
function roundOutward(value: number, round: (value: number) => number): number {
  const nearest = Number(value.toPrecision(3))
  if (value === 0 || Math.abs(nearest - value) <= Math.abs(value) * 1e-9) return nearest
  const digits = 2 - Math.floor(Math.log10(Math.abs(value)))
  return Number((round(value * 10 ** digits) / 10 ** digits).toPrecision(3))
}

/** `1 request`, `12 requests`. */
export const plural = (value: number, noun: string, nouns = `${noun}s`): string =>
  `${count(value)} ${value === 1 ? noun : nouns}`

/** Three significant digits without an exponent; numbers from 100 on keep all digits before the point. */
export function threeDigits(value: number): string {
  const magnitude = Math.abs(value)
  if (magnitude >= 99.95) return String(Math.round(value))
  if (magnitude < 1e-6) return value.toFixed(12).replace(/\.?0+$/, '')
  return String(Number(value.toPrecision(3)))
}

const fiveDigits = (value: number): string => String(Number(value.toPrecision(value >= 10_000 ? 9 : 5)))

const twoDigits = (value: number): string => String(value).padStart(2, '0')

const maxQuoteLength = 80

/** Each member takes at least one character, so what this cuts is not quoted. */
const cutMembers = (_: string, value: unknown): unknown =>
  (typeof value === 'string' || Array.isArray(value)) && value.length > maxQuoteLength
    ? value.slice(0, maxQuoteLength)
    : value

/** A value as JSON, short enough for a sentence. */
export function quote(value: unknown): string {
  const text = value === undefined ? 'nothing' : (JSON.stringify(value, cutMembers) ?? String(value))
  return text.length > maxQuoteLength ? `${text.slice(0, maxQuoteLength - 3)}...` : text
}

/** Bytes in powers of 1,000: `210 MB`, `8.6 GB`. */
export const formatBytes = (bytes: number): string =>
  bytes < 1e9 ? `${threeDigits(bytes / 1e6)} MB` : `${threeDigits(bytes / 1e9)} GB`
