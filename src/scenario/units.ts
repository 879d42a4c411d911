import { formatPico, parsePico } from '../lib/money.ts'
import { describeValue, type Mistake } from '../lib/usage-error.ts'

/**
 * Parsers for text with a unit. Each returns null for text that it does not understand. Numbers are scaled as integers, so
 * that `1.005s` is 1005 and not 1004.9999999999999.
 */
export type Rate =
  | { readonly kind: 'absolute'; readonly perSecond: number }
  /** `share` 1 is the largest rate at which no limit of the callers' tier is exceeded. */
  | { readonly kind: 'of-tier'; readonly share: number }

const msPerUnit = { h: 3_600_000n, m: 60_000n, s: 1_000n, ms: 1n } as const
const perSecondsOf = { s: 1, m: 60, h: 3_600 } as const
const bytesPerUnit = { B: 1n, kB: 1_000n, KiB: 1_024n, MB: 1_000_000n, MiB: 1_048_576n } as const

const durationParts = /^(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?$/

/** `250ms`, `5s`, `1m30s`, `2h` in milliseconds: larger units first, each at most once, no spaces. */
export function parseDuration(text: string): number | null {
  const match = durationParts.exec(text)
  if (match === null || text === '') return null
  const units = Object.values(msPerUnit)
  let total = 0n
  for (const [index, msPer] of units.entries()) {
    const amount = parsePico(match[index + 1] ?? '0')
    if (amount === null) return null
    total += amount * msPer
  }
  return finite(Number(formatPico(total)))
}

/** `20/s`, `20/m`, `8.3/s`, `1000/h` or `80% of tier`. */
export function parseRate(text: string): Rate | null {
  const share = parseShareOfTier(text)
  if (share !== null) return { kind: 'of-tier', share }
  const match = /^(\d+(?:\.\d+)?)\/([smh])$/.exec(text)
  if (match === null) return null
  const perSecond = finite(Number(match[1]) / perSecondsOf[match[2] as keyof typeof perSecondsOf])
  return perSecond === null ? null : { kind: 'absolute', perSecond }
}

/** `80% of tier` is 0.8. */
export function parseShareOfTier(text: string): number | null {
  const match = /^(\S+) of tier$/.exec(text)
  return match?.[1] === undefined ? null : parsePercent(match[1])
}

/** `1%` is 0.01. */
export function parsePercent(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)%$/.exec(text)
  // Shifting the decimal exponent in the text is exact; 99.9 / 100 is 0.9990000000000001.
  return match === null ? null : finite(Number(`${match[1]}e-2`))
}

/** A larger budget is a mistake. */
export const maxBudgetUsd = 1_000_000

/** `$0.25`, `0.25` or 0.25 as a decimal string of dollars, without trailing zeros. */
export function parseUsd(amount: string | number): string | null {
  const text = typeof amount === 'number' ? String(amount) : amount.replace(/^\$(?=\d)/, '')
  const picoUsd = parsePico(text)
  return picoUsd === null || picoUsd < 0n ? null : formatPico(picoUsd)
}

/** The value of `--budget-usd`, above 0; null for `unlimited`. */
export function parseBudget(flag: string, fail: (mistake: Omit<Mistake, 'where'>) => never): string | null {
  if (flag === 'unlimited') return null
  const amount = /^\$?\d+(\.\d+)?$/.test(flag) ? parseUsd(flag) : null
  if (amount !== null && amount !== '0' && Number(amount) <= maxBudgetUsd) return amount
  const [, number] = /^(?:USD|\$)?\s*(\d+(?:[.,]\d{1,2})?)\s*(?:USD|\$|dollars?)?$/i.exec(flag.trim()) ?? []
  const meant = number?.replace(',', '.')
  const isAmount = meant !== undefined && meant !== flag && Number(meant) > 0 && Number(meant) <= maxBudgetUsd
  return fail({
    got: describeValue(flag),
    expected: `an amount of dollars above 0 and of at most ${maxBudgetUsd}, such as 0.25, or unlimited`,
    ...(isAmount && { hint: `did you mean "${meant}"?` }),
  })
}

/** `2MiB`, `500kB` or 4096 in bytes. A fraction is allowed if it gives whole bytes. */
export function parseBytes(size: string | number): number | null {
  const match = /^(\d+(?:\.\d+)?)(B|kB|KiB|MB|MiB)$/.exec(typeof size === 'number' ? `${size}B` : size)
  const amount = match?.[1] === undefined ? null : parsePico(match[1])
  if (match === null || amount === null) return null
  const bytes = Number(formatPico(amount * bytesPerUnit[match[2] as keyof typeof bytesPerUnit]))
  return Number.isSafeInteger(bytes) ? bytes : null
}

/** A hint for `5 sec`, `"5"` or 5 in place of a duration. */
export function durationHint(written: unknown): { readonly hint?: string } {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(ms|milli|s|m|h)?[a-z]*\s*$/i.exec(String(written))
  if (match === null || typeof written === 'object') return {}
  const [, amount, unit] = match
  // A bare number most likely means milliseconds if it is large, and seconds otherwise.
  const usual = Number(amount) >= 100 ? 'ms' : 's'
  return { hint: `did you mean "${amount}${unit?.toLowerCase().replace('milli', 'ms') ?? usual}"?` }
}

/** A hint for `10rps`, `10/sec`, `80%` or 10 in place of a rate. */
export function rateHint(written: unknown): { readonly hint?: string } {
  const text = String(written).trim().toLowerCase()
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)\s*(?:(?:\/|per |rp|tp|qp)?\s*([smh])[a-z]*)?$/.exec(text) ?? []
  if (amount !== undefined) return { hint: `did you mean "${amount}/${unit}"?` }
  return parsePercent(text) === null ? {} : { hint: `did you mean "${text} of tier"?` }
}

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null)
