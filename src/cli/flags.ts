import { readFileSync } from 'node:fs'
import { describeValue, type Mistake, nearest, oneOf, UsageError } from '../lib/usage-error.ts'

/** A flag or an argument, in the format of yargs. */
export type Flag = {
  readonly type: 'string' | 'number' | 'boolean'
  readonly describe: string
  readonly default?: string | number | boolean
  readonly choices?: readonly string[]
  readonly array?: boolean
  readonly requiresArg?: boolean
}

export type Values = Readonly<Record<string, unknown>>

/** One row of the table of commands. The code of a command is loaded only when it runs. */
export type Command = {
  /** In the format of yargs: `report <run-dir>`. */
  readonly usage: string
  readonly describe: string
  readonly arguments: Readonly<Record<string, Flag>>
  readonly flags: Readonly<Record<string, Flag>>
  /** Resolves with the exit code. */
  readonly run: (values: Values) => Promise<number>
}

export const exitCodes = { pass: 0, fail: 1, usage: 2, inconclusive: 3, fault: 70, interrupted: 130 } as const

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

/** The version in `package.json`. */
export const version: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version

/**
 * Throws a UsageError for arguments that the parser would guess about: a flag given twice, without a value, with a value
 * of another type, misspelled, or before the command. The parser keeps the last word on commands and positional arguments.
 */
export function checkArguments(args: readonly string[], commands: readonly Command[]): void {
  const [name, ...rest] = args
  if (name === undefined || isFlag(name)) {
    checkGlobal(args)
    return
  }
  const command = commands.find(({ usage }) => usage.split(' ')[0] === name)
  // The parser explains an unknown command.
  if (command === undefined) return
  const mistakes = mistakesIn(readFlags(rest, command), command)
  if (mistakes.length > 0) throw new UsageError(mistakes)
}

const isFlag = (argument: string): boolean => /^-[^\d.]/.test(argument)

/** Without a command, only these two mean something, each on its own. */
function checkGlobal(args: readonly string[]): void {
  const [first] = args
  if (first === undefined || (args.length === 1 && (first === '--help' || first === '--version'))) return
  throw new UsageError({
    where: 'command line',
    got: `${describeValue(first)} before a command`,
    expected: 'the command first, or only --help or --version',
  })
}

/** A flag as it was written. `value` is null if there is none. */
type Given = { readonly written: string; readonly name: string; readonly value: string | null }

function readFlags(args: readonly string[], { flags }: Command): readonly Given[] {
  const given: Given[] = []
  for (let index = 0; index < args.length; index++) {
    const argument = args[index] ?? ''
    if (!isFlag(argument)) continue
    const equals = argument.indexOf('=')
    const written = equals < 0 ? argument : argument.slice(0, equals)
    const name = written.replace(/^--/, '')
    const type = ownFlag(flags, name)?.type
    const next = args[index + 1]
    const follows = next !== undefined && (type === 'boolean' ? /^(true|false)$/.test(next) : !isFlag(next))
    if (equals >= 0) given.push({ written, name, value: argument.slice(equals + 1) })
    else if (type !== undefined && follows) {
      given.push({ written, name, value: next })
      index++
    } else given.push({ written, name, value: null })
  }
  return given
}

const ownFlag = (flags: Command['flags'], name: string): Flag | undefined =>
  Object.hasOwn(flags, name) ? flags[name] : undefined

function mistakesIn(given: readonly Given[], { flags }: Command): readonly Mistake[] {
  const seen = new Set<string>()
  const mistakes: Mistake[] = []
  for (const { written, name, value } of given) {
    if (written === '--help' && value === null) continue
    const positive = name.replace(/^no-/, '')
    const isNegated = ownFlag(flags, name) === undefined && ownFlag(flags, positive)?.type === 'boolean'
    const known = isNegated ? positive : name
    const flag = written.startsWith('--') ? ownFlag(flags, known) : undefined
    if (flag === undefined) mistakes.push(unknownFlag(written, flags))
    else if (seen.has(known) && flag.array !== true)
      mistakes.push({ where: `--${known}`, got: 'the flag twice', expected: 'the flag once' })
    else {
      const problem = isNegated ? negationProblem(value) : valueProblem(value, flag)
      if (problem !== null) mistakes.push({ where: written, ...problem })
    }
    seen.add(known)
  }
  return mistakes
}

function unknownFlag(written: string, flags: Command['flags']): Mistake {
  const names = Object.keys(flags).map(name => `--${name}`)
  const expected = names.length === 0 ? 'no flag' : 'a flag that --help lists'
  return { where: 'command line', got: describeValue(written), expected, ...nearest(written, names) }
}

type Problem = Pick<Mistake, 'got' | 'expected'>

const negationProblem = (value: string | null): Problem | null =>
  value === null ? null : { got: describeValue(value), expected: 'no value after a flag that starts with --no-' }

const plainNumber = /^[+-]?(\d+\.?\d*|\.\d+)$/

function valueProblem(value: string | null, { type, choices }: Flag): Problem | null {
  if (type === 'boolean')
    return value === null || value === 'true' || value === 'false'
      ? null
      : { got: describeValue(value), expected: 'true, false or no value' }
  const expected = choices === undefined ? (type === 'number' ? 'a plain number' : 'a value') : oneOf(choices)
  if (value === null) return { got: 'nothing', expected }
  if (value.trim() === '') return { got: describeValue(value), expected }
  if (type === 'number' && !(plainNumber.test(value) && Number.isFinite(Number(value))))
    return { got: describeValue(value), expected }
  return choices === undefined || choices.includes(value) ? null : { got: describeValue(value), expected }
}
