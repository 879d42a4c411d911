import { readFileSync } from 'node:fs'
import { UsageError } from '../lib/usage-error.ts'

/** A flag or an argument, in the words of yargs. */
export type Flag = {
  readonly type: 'string' | 'number' | 'boolean'
  readonly describe: string
  readonly default?: string | number | boolean
  readonly choices?: readonly string[]
  readonly array?: boolean
  /** How help calls the value. */
  readonly requiresArg?: boolean
}

export type Values = Readonly<Record<string, unknown>>

/** One line of the table of commands. The work is loaded only when the command is called. */
export type Command = {
  /** As yargs wants it: `report <run-dir>`. */
  readonly usage: string
  readonly describe: string
  readonly arguments: Readonly<Record<string, Flag>>
  readonly flags: Readonly<Record<string, Flag>>
  /** Resolves with the exit code. */
  readonly run: (values: Values) => Promise<number>
}

/** What a program ends with. */
export const exitCodes = { pass: 0, fail: 1, usage: 2, inconclusive: 3, fault: 70, interrupted: 130 } as const

/** The value of a flag that was given, as text. */
export const text = (values: Values, name: string): string | null => {
  const value = values[name]
  return typeof value === 'string' ? value : null
}

/** The value of a flag that was given, as a number. A value that is none is NaN. */
export const number = (values: Values, name: string): number | null => {
  const value = values[name]
  return typeof value === 'number' ? value : null
}

export const texts = (values: Values, name: string): readonly string[] => {
  const value = values[name]
  return Array.isArray(value) ? value.map(String) : typeof value === 'string' ? [value] : []
}

/** The value of a flag that is a whole number within bounds; `least` where it was not given. Throws a UsageError. */
export function wholeNumber(
  values: Values,
  name: string,
  { least, most }: { readonly least: number; readonly most: number },
): number {
  const value = number(values, name) ?? least
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value
  throw new UsageError({
    where: `--${name}`,
    got: String(value),
    expected: `a whole number from ${least} to ${most}`,
  })
}

/** The version in `package.json`. */
export const version: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
