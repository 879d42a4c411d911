import { plural } from '../lib/format.ts'
import { describeValue, type Mistake, nearest, oneOf, UsageError } from '../lib/usage-error.ts'
import { isScenario } from '../library/shipped-files.ts'
import type { Command, Flag } from './flags.ts'

/**
 * Throws a UsageError for arguments of a command that yargs refuses or would guess about: a flag that does not exist, a
 * flag given twice, without a value or with a value of another type, and surplus words.
 */
export function checkArguments(args: readonly string[], command: Command, commands: readonly Command[]): void {
  const given = readArguments(args, command)
  const mistakes = [...flagMistakes(given.flags, command, commands), ...wordMistakes(given.words, command)]
  if (mistakes.length > 0) throw new UsageError(mistakes)
}

const isFlag = (argument: string): boolean => /^-[^\d.]/.test(argument)

export const nameOf = ({ usage }: Command): string => usage.split(' ')[0] ?? ''

/** The command that the first word names. Throws a UsageError. */
export function commandOf(name: string, commands: readonly Command[]): Command {
  if (isFlag(name)) throw new UsageError(flagBeforeCommand(name, commands))
  const command = commands.find(each => nameOf(each) === name)
  if (command !== undefined) return command
  const names = commands.map(nameOf)
  const hint = isScenario(name) ? { hint: `did you mean "turnpike run ${name}"?` } : nearest(name, names)
  throw new UsageError({
    where: 'command line',
    got: describeValue(name),
    expected: 'a command that turnpike --help lists',
    ...hint,
  })
}

function flagBeforeCommand(written: string, commands: readonly Command[]): Mistake {
  const [name = ''] = written.split('=')
  const owner = ownerOf(name, commands)
  return {
    where: 'command line',
    got: `${describeValue(name)} before a command`,
    expected: 'the command first, or only --help or --version',
    ...(owner === undefined ? nearest(name, ['--help', '--version']) : { hint: flagOf(owner) }),
  }
}

/** A flag as it was written. `value` is null if there is none. */
type GivenFlag = { readonly written: string; readonly name: string; readonly value: string | null }

/** A word that belongs to no flag. `after` is the flag between it and the word before it. */
type GivenWord = { readonly word: string; readonly after: GivenFlag | null }

type Given = { readonly flags: readonly GivenFlag[]; readonly words: readonly GivenWord[] }

function readArguments(args: readonly string[], { flags }: Command): Given {
  const given: GivenFlag[] = []
  const words: GivenWord[] = []
  let last: GivenFlag | null = null
  for (let index = 0; index < args.length; index++) {
    const argument = args[index] ?? ''
    if (!isFlag(argument)) {
      words.push({ word: argument, after: words.length === 0 ? null : last })
      last = null
      continue
    }
    const equals = argument.indexOf('=')
    const written = equals < 0 ? argument : argument.slice(0, equals)
    const name = written.replace(/^--/, '')
    const type = ownFlag(flags, name)?.type
    const next = args[index + 1]
    const isOnOff = type === 'boolean' || negatedFlag(flags, name) !== undefined
    const follows = next !== undefined && (isOnOff ? type === 'boolean' && isTruthWord(next) : !isFlag(next))
    if (equals >= 0) last = { written, name, value: argument.slice(equals + 1) }
    // The word after an unknown flag is most likely its value.
    else if (follows) {
      last = { written, name, value: next }
      index++
    } else last = { written, name, value: null }
    given.push(last)
  }
  return { flags: given, words }
}

/** Words that people write after a flag that is on or off. Only the first two are accepted. */
const isTruthWord = (word: string): boolean => /^(true|false|yes|no|on|off|1|0)$/i.test(word)

const ownFlag = (flags: Command['flags'], name: string): Flag | undefined =>
  Object.hasOwn(flags, name) ? flags[name] : undefined

/** `quiet` for `no-quiet`. */
function negatedFlag(flags: Command['flags'], name: string): string | undefined {
  const positive = name.replace(/^no-/, '')
  return ownFlag(flags, name) === undefined && ownFlag(flags, positive)?.type === 'boolean' ? positive : undefined
}

function flagMistakes(given: readonly GivenFlag[], command: Command, commands: readonly Command[]): readonly Mistake[] {
  const { flags } = command
  const seen = new Set<string>()
  const mistakes: Mistake[] = []
  for (const { written, name, value } of given) {
    const negated = negatedFlag(flags, name)
    const known = negated ?? name
    const flag = written.startsWith('--') ? ownFlag(flags, known) : undefined
    if (flag === undefined) mistakes.push(unknownFlag(written, command, commands))
    else if (seen.has(known) && flag.array !== true)
      mistakes.push({ where: `--${known}`, got: 'the flag twice', expected: 'the flag once' })
    else {
      const problem = negated !== undefined ? negationProblem(value) : valueProblem(value, flag)
      if (problem !== null) mistakes.push({ where: written, ...problem })
    }
    seen.add(known)
  }
  return mistakes
}

function unknownFlag(written: string, command: Command, commands: readonly Command[]): Mistake {
  const names = Object.keys(command.flags).map(name => `--${name}`)
  const owner = ownerOf(written, commands)
  const letter = /^-[a-z]$/i.test(written) ? names.find(name => name[2] === written[1]?.toLowerCase()) : undefined
  const hint =
    owner !== undefined && written.startsWith('--') ? { hint: flagOf(owner) } : nearest(letter ?? written, names)
  const expected = names.length === 0 ? 'no flag' : `a flag that turnpike ${nameOf(command)} --help lists`
  return { where: 'command line', got: describeValue(written), expected, ...hint }
}

/** The command that has this flag: `run` rather than another one. */
function ownerOf(written: string, commands: readonly Command[]): Command | undefined {
  const owners = commands.filter(({ flags }) => ownFlag(flags, written.replace(/^--/, '')) !== undefined)
  return owners.find(owner => nameOf(owner) === 'run') ?? owners[0]
}

const flagOf = (owner: Command): string => `it is a flag of turnpike ${nameOf(owner)}`

type Problem = Omit<Mistake, 'where'>

const negationProblem = (value: string | null): Problem | null =>
  value === null ? null : { got: describeValue(value), expected: 'no value after a flag that starts with --no-' }

const plainNumber = /^[+-]?(\d+\.?\d*|\.\d+)$/

function valueProblem(value: string | null, { type, choices, describe }: Flag): Problem | null {
  if (type === 'boolean')
    return value === null || value === 'true' || value === 'false'
      ? null
      : { got: describeValue(value), expected: 'true, false or no value' }
  if (choices !== undefined) {
    if (value !== null && choices.includes(value)) return null
    return { got: describeGiven(value), expected: oneOf(choices), ...nearest(value ?? '', choices) }
  }
  const expected = type === 'number' ? 'a plain number' : `a value: ${describe}`
  if (value === null || value.trim() === '') return { got: describeGiven(value), expected }
  if (type === 'number' && !(plainNumber.test(value) && Number.isFinite(Number(value))))
    return { got: describeGiven(value), expected, ...withoutUnit(value) }
  return null
}

/** A hint for `20ms` or `10%` in place of a number of milliseconds, or of a ratio. */
function withoutUnit(value: string): { readonly hint?: string } {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*(ms|%)$/.exec(value) ?? []
  if (amount === undefined) return {}
  const number = unit === '%' ? Number(`${amount}e-2`) : amount
  return { hint: `did you mean "${number}"?` }
}

const describeGiven = (value: string | null): string => (value === null ? 'nothing' : describeValue(value))

/** An address may contain a password. */
export const surplusWord = (word = ''): Pick<Mistake, 'got'> => ({
  got: word.includes('@') ? 'a surplus word with an @' : `the surplus word ${describeValue(word)}`,
})

/** Too few words, too many, or words that are not together. */
function wordMistakes(words: readonly GivenWord[], command: Command): readonly Mistake[] {
  const { usage, arguments: known, flags } = command
  const where = `turnpike ${nameOf(command)}`
  const [argument, ...others] = Object.values(known).map(({ describe }) => describe.replace(/^(A|The) /, inLowerCase))
  const isList = usage.includes('..')
  const needed = usage.split('<').length - 1
  if (words.length < needed && argument !== undefined) {
    const all = [argument, ...others].slice(0, needed)
    const expected = needed === 1 ? argument : `${needed} arguments: ${all.join(', then ')}`
    const got = words.length === 0 ? 'nothing' : plural(words.length, 'argument')
    return [{ where, got, expected: `${expected}, as turnpike ${nameOf(command)} --help shows` }]
  }
  const max = isList ? Number.POSITIVE_INFINITY : Object.keys(known).length
  return words.flatMap(({ word, after }, index): readonly Mistake[] => {
    if (after !== null && (isList || index >= max)) return [surplusAfter(after, word, command)]
    if (index < max) return []
    const expected =
      argument === undefined
        ? 'flags only'
        : others.length === 0
          ? `one argument: ${argument}`
          : `at most ${max} arguments: ${[argument, ...others].join(', then ')}`
    const hint =
      /^https?:[^@]*$/.test(word) && flags.target !== undefined ? { hint: `did you mean "--target ${word}"?` } : {}
    return [{ where, ...surplusWord(word), expected, ...hint }]
  })
}

const inLowerCase = (text: string): string => text.toLowerCase()

function surplusAfter({ written, name, value }: GivenFlag, word: string, command: Command): Mistake {
  const flag = ownFlag(command.flags, name)
  const expected = value === null ? 'no value' : 'one value'
  const repeated = flag?.array === true ? { hint: `for a second value, write ${written} again` } : {}
  const together = command.usage.includes('..') ? { hint: 'write all arguments before the flags' } : {}
  return { where: written, ...surplusWord(word), expected, ...together, ...repeated }
}
