import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import xterm, { type IBufferCell } from '@xterm/headless'

export type Size = { readonly columns: number; readonly rows: number }

/** Adjacent cells of one look. `color`: an index into the 16 colors of a terminal; null: its text color. */
export type Run = {
  readonly text: string
  readonly color: number | null
  readonly bold: boolean
  readonly dim: boolean
}

/** The screen of a terminal, with everything that has scrolled off it. */
export type Screen = {
  readonly write: (text: string) => Promise<void>
  readonly resize: (size: Size) => void
  /** The rows with text, without blanks at their ends. */
  readonly lines: () => readonly string[]
  /** What is visible, without the empty rows at the end. */
  readonly runs: () => readonly (readonly Run[])[]
  readonly cursorIsShown: () => boolean
}

/** A terminal emulator: xterm.js, which editors and web consoles use. */
export function createScreen({ columns, rows }: Size): Screen {
  const terminal = new xterm.Terminal({
    cols: columns,
    rows,
    scrollback: 5_000,
    convertEol: true,
    allowProposedApi: true,
  })
  let cursorIsShown = true
  for (const [final, shows] of [
    ['h', true],
    ['l', false],
  ] as const)
    terminal.parser.registerCsiHandler({ prefix: '?', final }, params => {
      if (params[0] === 25) cursorIsShown = shows
      return false
    })
  const rowsOf = <Row>(read: (line: NonNullable<ReturnType<typeof terminal.buffer.active.getLine>>) => Row): Row[] => {
    const { active } = terminal.buffer
    return Array.from({ length: active.length }, (_, row) => active.getLine(row)).flatMap(line =>
      line === undefined ? [] : [read(line)],
    )
  }
  const lines = () => {
    const all = rowsOf(line => line.translateToString(true))
    return all.slice(0, all.findLastIndex(line => line !== '') + 1)
  }
  return {
    write: text => new Promise(resolve => terminal.write(text, resolve)),
    resize: size => terminal.resize(size.columns, size.rows),
    lines,
    runs: () =>
      rowsOf(line => {
        const cells = Array.from({ length: line.length }, (_, column) => line.getCell(column))
        return joined(cells.flatMap(cell => (cell === undefined ? [] : [runOf(cell)])))
      }).slice(terminal.buffer.active.baseY, lines().length),
    cursorIsShown: () => cursorIsShown,
  }
}

const runOf = (cell: IBufferCell): Run => ({
  text: cell.getChars() || ' ',
  color: cell.isFgDefault() ? null : cell.getFgColor(),
  bold: cell.isBold() !== 0,
  dim: cell.isDim() !== 0,
})

function joined(cells: readonly Run[]): readonly Run[] {
  const runs: Run[] = []
  for (const cell of cells) {
    const last = runs.at(-1)
    if (last !== undefined && last.color === cell.color && last.bold === cell.bold && last.dim === cell.dim)
      runs[runs.length - 1] = { ...last, text: last.text + cell.text }
    else runs.push(cell)
  }
  return runs
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The built program in a pseudo-terminal. */
export type InTerminal = {
  readonly screen: Screen
  /** Changes the size of the terminal just after the program has drawn, so that it does not draw meanwhile. */
  readonly resize: (size: Size) => Promise<void>
  /** Resolves when the whole output matches. */
  readonly shown: (pattern: RegExp) => Promise<void>
  /** Everything that the program has written. */
  readonly written: () => string
  readonly ended: Promise<number | null>
  /** Types ^C. */
  readonly interrupt: () => void
  readonly kill: () => void
}

type Surroundings = { readonly environment?: Readonly<Record<string, string>>; readonly directory?: string }

/** Starts the program with `script` of util-linux. The arguments need no quotes. */
export function startInTerminal(
  args: readonly string[],
  size: Size,
  { environment = {}, directory = root }: Surroundings = {},
): InTerminal {
  const left = ['CI', 'TURNPIKE_KEYS', 'NO_COLOR', 'FORCE_COLOR', 'GITHUB_ACTIONS']
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !left.includes(name)))
  const screen = createScreen(size)
  const program = [process.execPath, `${root}dist/main.js`, ...args].join(' ')
  const command = `tty; stty cols ${size.columns} rows ${size.rows}; exec ${program}`
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    cwd: directory,
    env: { ...inherited, TERM: 'xterm-256color', SHELL: '/bin/sh', ...environment },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  // It runs already when a size is to change, because a terminal changes its screen and its size at once.
  const shell = spawn('/bin/sh', { stdio: ['pipe', 'pipe', 'ignore'] })
  let output = ''
  let device: string | null = null
  const listeners = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    // The first line is the answer of `tty`.
    const start = output.indexOf('\n') + 1
    if (device === null && start === 0) return
    const shown = device === null ? output.slice(start) : text
    device ??= output.slice(0, start).trim()
    void screen.write(shown)
    for (const listener of listeners) listener()
  })
  const ended = new Promise<number | null>(resolve => child.once('close', resolve))
  void ended.then(() => shell.kill())
  return {
    screen,
    ended,
    resize: async next => {
      await once(child.stdout, 'data')
      await screen.write('')
      screen.resize(next)
      shell.stdin.write(`stty -F ${device} cols ${next.columns} rows ${next.rows}; echo\n`)
      await once(shell.stdout, 'data')
    },
    shown: pattern =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (pattern.test(output)) resolve()
        }
        listeners.add(look)
        look()
        void ended.then(() => reject(new Error(`the program ended without showing ${pattern}: ${output}`)))
      }),
    interrupt: () => void child.stdin.write('\u0003'),
    written: () => output,
    kill: () => void child.kill('SIGKILL'),
  }
}
