import { nameOf } from './check-arguments.ts'
import type { Command, Flag } from './flags.ts'

/** Words that may follow. `files`: the shell adds the names of files. */
export type Completion = { readonly words: readonly string[]; readonly files: boolean }

/** A kind of names that are read from somewhere when they are needed. */
export type NameKind = 'scenario' | 'profile' | 'clause-or-call' | 'lie' | 'shell'

/** The names of a kind, for a command line with these words. */
export type NamesOf = (kind: NameKind, words: readonly string[]) => Promise<readonly string[]>

/** What a flag or an argument takes, by its name; any other takes a text that cannot be completed. */
const values: Readonly<Record<string, { readonly kind?: NameKind; readonly files?: true }>> = {
  scenario: { kind: 'scenario', files: true },
  scenarios: { kind: 'scenario', files: true },
  profile: { kind: 'profile', files: true },
  only: { kind: 'clause-or-call' },
  lie: { kind: 'lie' },
  shell: { kind: 'shell' },
  'run-dir': { files: true },
  'run-dirs': { files: true },
  baseline: { files: true },
  dir: { files: true },
  out: { files: true },
  shadow: { files: true },
}

const nothing: Completion = { words: [], files: false }

/** What may complete the last of the words after `turnpike`. It may be empty, or the beginning of a word. */
export async function complete(
  given: readonly string[],
  commands: readonly Command[],
  namesOf: NamesOf,
): Promise<Completion> {
  // bash passes `--flag=va` as three words.
  const words = given.filter((word, index) => word !== '=' || index === given.length - 1)
  const last = words.at(-1) ?? ''
  const current = last === '=' ? '' : last
  const starting = (all: readonly string[], begins = current): Completion => ({
    words: all.filter(word => word.startsWith(begins)),
    files: false,
  })
  const names = commands.map(nameOf)
  const [first = '', ...rest] = words.slice(0, -1)
  if (words.length <= 1) return starting([...names, 'help', '--help', '--version'])
  if (first === 'help') return rest.length === 0 ? starting(names) : nothing
  const command = commands.find(each => nameOf(each) === first)
  if (command === undefined) return nothing

  const valuesFor = async (name: string, flag: Flag, prefix = ''): Promise<Completion> => {
    if (flag.choices !== undefined) return starting(flag.choices.map(each => prefix + each))
    const { kind, files = false } = values[name] ?? {}
    const known = kind === undefined ? [] : await namesOf(kind, words)
    return { ...starting(known.map(each => prefix + each)), files }
  }

  const equals = /^--([^=]+)=/.exec(current)
  const [prefix = '', inline = ''] = equals ?? []
  const own = command.flags[inline]
  if (own !== undefined) return await valuesFor(inline, own, prefix)
  const before = /^--(.+)$/.exec(rest.at(-1) ?? '')?.[1] ?? ''
  const flag = command.flags[before]
  if (flag !== undefined && flag.type !== 'boolean') return await valuesFor(before, flag)
  if (current.startsWith('-')) return starting(freeFlags(command, rest))

  const position = positionOf(rest, command)
  const [name, argument] = Object.entries(command.arguments)[command.usage.includes('..') ? 0 : position] ?? []
  return name === undefined || argument === undefined ? nothing : await valuesFor(name, argument)
}

/** The flags that may still be given. One that is on by default can be turned off. */
const freeFlags = ({ flags }: Command, given: readonly string[]): readonly string[] => [
  ...Object.entries(flags)
    .map(([name, flag]) => ({ flag, written: flag.default === true ? `--no-${name}` : `--${name}` }))
    .filter(({ flag, written }) => flag.array === true || !given.some(word => word.split('=')[0] === written))
    .map(({ written }) => written),
  '--help',
]

/** How many arguments the words contain, without flags and their values. */
function positionOf(words: readonly string[], { flags }: Command): number {
  const isValue = (index: number) => {
    const flag = flags[/^--(.+)$/.exec(words[index - 1] ?? '')?.[1] ?? '']
    return flag !== undefined && flag.type !== 'boolean'
  }
  return words.filter((word, index) => !word.startsWith('-') && !isValue(index)).length
}
