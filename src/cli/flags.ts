import { UsageError } from '../lib/usage-error.ts'

export { version } from '../library/shipped-files.ts'

/** A flag or an argument, in the format of yargs. */
export type Flag = {
  readonly type: 'string' | 'number' | 'boolean'
  readonly describe: string
  readonly default?: string | number | boolean
  readonly choices?: readonly string[]
  readonly array?: boolean
}

export type Values = Readonly<Record<string, unknown>>

/** One row of the table of commands. The code of a command is loaded only when it runs. */
export type Command = {
  /** In the format of yargs: `report <run-dir>`. */
  readonly usage: string
  readonly describe: string
  readonly arguments: Readonly<Record<string, Flag>>
  readonly flags: Readonly<Record<string, Flag>>
  /** Command lines for `--help`, each with its purpose. */
  readonly examples?: readonly (readonly [line: string, what: string])[]
  /** Resolves with the exit code. */
  readonly run: (values: Values) => Promise<number>
}

export const exitCodes = { pass: 0, fail: 1, usage: 2, inconclusive: 3, fault: 70, interrupted: 130 } as const

/** The exit code that `--fail-code` gives to a run that fails. Throws a UsageError if the code has another meaning. */
export function failCodeOf(values: Values): number {
  const code = number(values, 'fail-code') ?? exitCodes.fail
  const isFree = code > exitCodes.inconclusive && code <= maxExitCode && code !== exitCodes.fault
  if (Number.isInteger(code) && (code === exitCodes.fail || isFree)) return code
  throw new UsageError({
    where: '--fail-code',
    got: String(code),
    expected: `${exitCodes.fail}, or a whole number from ${exitCodes.inconclusive + 1} to ${maxExitCode} without ${exitCodes.fault}`,
    ...(code === exitCodes.pass ? { hint: 'a run that fails never looks like one that passes' } : {}),
  })
}

/** Shells use the codes after it for themselves. */
const maxExitCode = 125

/** The value of a text flag; null if it was not given. */
export const text = (values: Values, name: string): string | null => {
  const value = values[name]
  return typeof value === 'string' ? value : null
}

/** The value of a number flag; null if it was not given, NaN if it is not a number. */
export const number = (values: Values, name: string): number | null => {
  const value = values[name]
  return typeof value === 'number' ? value : null
}

/** The values of a repeatable flag. */
export const listFlag = (values: Values, name: string): readonly string[] => {
  const value = values[name]
  return Array.isArray(value) ? value.map(String) : typeof value === 'string' ? [value] : []
}

/** The value of an integer flag; `min` if it was not given. Throws a UsageError if it is out of bounds. */
export function integerFlag(
  values: Values,
  name: string,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  const value = number(values, name) ?? min
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value
  throw new UsageError({
    where: `--${name}`,
    got: String(value),
    expected: `a whole number from ${min} to ${max}`,
  })
}
