import type { Command, Flag } from './flags.ts'

const width = 100

const about = 'Load-tests metered, rate-limited APIs and checks every response against the documented contract.'

const exits = `Exit codes: 0 pass, 1 fail, 2 usage or configuration, 3 inconclusive, 70 internal error, 130 interrupted.
The report goes to stdout; progress and notes go to stderr.`

const aboutKeys = 'Keys come from the environment: export TURNPIKE_KEYS=key-one,key-two'

const firstSteps = `First steps:
  turnpike run smoke            Run a shipped scenario against an embedded reference service
  turnpike plan smoke           Show what it would send and spend
  turnpike help run             Show the flags of a command, with examples`

/** A line of a table: what is written, what it does, and what it takes. */
type Row = { readonly left: string; readonly describe: string; readonly takes: string }

/** The flags of the program itself and of every command. */
const general: readonly Row[] = [
  { left: '-v, --version', describe: 'Show version number', takes: '[boolean]' },
  { left: '-h, --help', describe: 'Show help', takes: '[boolean]' },
]

/** The help about all commands. */
export const mainHelp = (commands: readonly Command[]): string =>
  [
    `turnpike <command>\n\n${about}`,
    table(
      'Commands',
      commands.map(({ usage, describe }) => ({ left: `turnpike ${usage}`, describe, takes: '' })),
    ),
    table('Options', general),
    firstSteps,
    wrapped(exits),
  ].join('\n\n')

/** The help about one command. */
export function commandHelp({ usage, describe, arguments: positionals, flags, examples = [] }: Command): string {
  const ofArgument = ([name, argument]: readonly [string, Flag]): Row => {
    const isRequired = new RegExp(`<${name}[.>]`).test(usage)
    const notes = [`[${typeOf(argument)}]`, isRequired ? '[required]' : '', argument.array ? '[default: []]' : '']
    return { left: name, describe: argument.describe, takes: notes.filter(note => note !== '').join(' ') }
  }
  const ofFlag = ([name, flag]: readonly [string, Flag]): Row => ({
    left: `    --${name}`,
    describe: flag.describe,
    takes: takesOf(flag),
  })
  const shown = examples.map(([line, what]) => `  # ${what}\n  turnpike ${line}`)
  return [
    `turnpike ${usage}\n\n${describe}`,
    table('Positionals', Object.entries(positionals).map(ofArgument)),
    table('Options', [...general, ...Object.entries(flags).map(ofFlag)]),
    shown.length === 0 ? '' : wrapped(['Examples:', ...shown].join('\n')),
    'target' in flags ? aboutKeys : '',
  ]
    .filter(part => part !== '')
    .join('\n\n')
}

const typeOf = ({ type, array }: Flag): string => (array === true ? 'array' : type)

function takesOf(flag: Flag): string {
  const { choices, default: usual } = flag
  return [
    `[${typeOf(flag)}]`,
    ...(choices === undefined ? [] : [`[choices: ${choices.map(each => JSON.stringify(each)).join(', ')}]`]),
    ...(usual === undefined ? [] : [`[default: ${JSON.stringify(usual)}]`]),
  ].join(' ')
}

/** Rows with the left column as wide as its widest, and what they take at the right edge: below, where it does not fit. */
function table(heading: string, rows: readonly Row[]): string {
  if (rows.length === 0) return ''
  const widest = Math.max(...rows.map(({ left }) => left.length))
  const lines = rows.map(({ left, describe, takes }) => {
    const line = `  ${left.padEnd(widest)}  ${describe}`
    if (takes === '') return line
    const right = takes.padStart(width)
    return right.length - takes.length < line.length ? `${line}\n${right}` : line + right.slice(line.length)
  })
  return [`${heading}:`, ...lines].join('\n')
}

/** Breaks lines that are too wide between words, and indents what continues a line like its beginning. */
const wrapped = (text: string): string => text.split('\n').map(wrappedLine).join('\n')

function wrappedLine(line: string): string {
  const indent = /^ */.exec(line)?.[0] ?? ''
  const lines: string[] = []
  for (const word of line.trim().split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(indent + word)
  }
  return lines.join('\n')
}
