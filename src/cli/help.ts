import type { Command, Flag } from './flags.ts'

const maxWidth = 100

/** As wide as the terminal, unless that is too wide to read. */
const widthOf = (columns: number | undefined): number => Math.min(columns || maxWidth, maxWidth)

const about = 'Load-tests metered, rate-limited APIs and checks every response against the documented contract.'

const exits = `Exit codes: 0 pass, 1 fail, 2 usage or configuration, 3 inconclusive, 70 internal error, 130 interrupted.
The report goes to stdout; progress and notes go to stderr.`

const aboutKeys = 'Keys come from the environment: export TURNPIKE_KEYS=key-one,key-two'

/** A line of a table: what is written, what it does, and what it takes. */
type Row = { readonly left: string; readonly describe: string; readonly takes: string }

const firstSteps: readonly Row[] = [
  {
    left: 'turnpike run smoke',
    describe: 'Run a shipped scenario against an embedded reference service',
    takes: '',
  },
  { left: 'turnpike plan smoke', describe: 'Show what it would send and spend', takes: '' },
  { left: 'turnpike help run', describe: 'Show the flags of a command, with examples', takes: '' },
]

/** The flags of the program itself and of every command. */
const general: readonly Row[] = [
  { left: '-v, --version', describe: 'Show version number', takes: '[boolean]' },
  { left: '-h, --help', describe: 'Show help', takes: '[boolean]' },
]

/** The help about all commands. `columns`: of the terminal, if it is one. */
export function mainHelp(commands: readonly Command[], columns?: number): string {
  const width = widthOf(columns)
  const rows = commands.map(({ usage, describe }) => ({ left: `turnpike ${usage}`, describe, takes: '' }))
  return [
    wrapped(`turnpike <command>\n\n${about}`, width),
    table('Commands', rows, width),
    table('Options', general, width),
    table('First steps', firstSteps, width),
    wrapped(exits, width),
  ].join('\n\n')
}

/** The help about one command. */
export function commandHelp(command: Command, columns?: number): string {
  const { usage, describe, arguments: positionals, flags, examples = [] } = command
  const width = widthOf(columns)
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
    wrapped(`turnpike ${usage}\n\n${describe}`, width),
    table('Positionals', Object.entries(positionals).map(ofArgument), width),
    table('Options', [...general, ...Object.entries(flags).map(ofFlag)], width),
    shown.length === 0 ? '' : wrapped(['Examples:', ...shown].join('\n'), width),
    'target' in flags ? wrapped(aboutKeys, width) : '',
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
function table(heading: string, rows: readonly Row[], width: number): string {
  if (rows.length === 0) return ''
  const widest = Math.max(...rows.map(({ left }) => left.length))
  const lines = rows.flatMap(({ left, describe, takes }) => {
    const described = linesOf(describe, width - widest - 4)
    const shown = described.map((line, index) => `  ${(index === 0 ? left : '').padEnd(widest)}  ${line}`)
    if (takes === '') return shown
    const last = shown.at(-1) ?? ''
    if (last.length + 1 + takes.length <= width)
      return [...shown.slice(0, -1), last + takes.padStart(width - last.length)]
    return [...shown, ...linesOf(takes, width).map(line => line.padStart(width))]
  })
  return [`${heading}:`, ...lines].join('\n')
}

/** Breaks lines that are too wide between words, and indents what continues a line like its beginning. */
const wrapped = (text: string, width: number): string =>
  text
    .split('\n')
    .flatMap(line => {
      const indent = /^ */.exec(line)?.[0] ?? ''
      return linesOf(line.trim(), width - indent.length).map(part => indent + part)
    })
    .join('\n')

function linesOf(text: string, width: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
