import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Lie } from '../../../src/service/lies/lie.ts'
import { lieByName } from '../../../src/service/lies/lies.ts'
import { freePort } from '../../support/free-port.ts'
import { ownEnvironment } from '../../support/installed.ts'
import { freshDirectory } from '../../support/turnpike.ts'
import type { Page, Step } from './page.ts'

/** What a page's commands meet: the program, files of the reader's own, and servers. */
export type World = {
  /** The built program, for commands that send nothing; and with shorter scenarios, for those that send. */
  readonly programs: { readonly full: string; readonly short: string }
  /** Whether it keeps what its page promises, so that an ordinary run does not fail. */
  readonly isHonest: boolean
  /** Fills the reader's folder with what no page writes. */
  readonly furnish: (folder: string) => void
  /** The address of the service that the page has at this one. */
  readonly targetAt: (address: string) => Promise<string>
  /** The address of a server that takes whatever metrics it gets. */
  readonly sink: string
  /** In place of the keys of a page. */
  readonly keys: readonly string[]
  readonly walletKeys: readonly string[]
}

export type Outcome = {
  readonly place: string
  readonly command: string
  /** `null` for a server that runs until the reader ends it. */
  readonly code: number | null
  readonly said: string
  /** Why it was not run. */
  readonly skipped?: string
  /** What is wrong. */
  readonly wrong?: string
}

/** Programs of others. A reader has them; here other tests start them, or nothing does. */
const ofOthers: Readonly<Record<string, string>> = {
  npm: 'test/slow/installed runs it with the packed package',
  docker: 'needs a Docker daemon',
  prometheus: 'test/real starts it',
  'prometheus-pushgateway': 'test/real starts it',
  k6: 'test/real/from-others runs it',
  locust: 'test/real/from-others runs it',
  guidellm: 'needs all of its Python packages',
  rsync: 'needs other machines',
}

const servers = ['service', 'ui', 'calibration-server']
const usualPorts: Readonly<Record<string, string>> = { service: '8402', ui: '8401', 'calibration-server': '8403' }
/** Commands that end with a verdict. All others succeed. */
const withVerdict = ['run', 'diff', 'compare', 'report', 'audit', 'shrink', 'calibrate', 'prove']
/** All proofs take minutes, and a part of them shows that the command works. No run measures its first second. */
const bounds: Readonly<Record<string, string>> = {
  run: ' --no-warm-up',
  prove: " --only 'chat.stream.usage' --no-sensitivity",
  shrink: ' --max-time 8s',
  calibrate: ' --seconds 3',
}
/** Their loads are short. */
const sending = ['run', 'diff']
const timeoutMs = 240_000

type Prepared = {
  readonly step: Step
  readonly text: string
  /** The command of Turnpike, or an empty text. */
  readonly name: string
  readonly expected: readonly number[]
  readonly skipped: string | undefined
  readonly prelude: string
}

/** Reads a page from its top to its end, and does what it says. Commands that share no file run at the same time. */
export async function tellStory(page: Page, world: World): Promise<readonly Outcome[]> {
  const folder = freshDirectory()
  world.furnish(folder)
  // A file that a page shows is there from the beginning; where it changes, from there on.
  for (const step of page.steps.toReversed()) if (step.kind === 'file') write(join(folder, step.name), step)
  const children: ChildProcess[] = []
  try {
    const outcomes: Promise<Outcome>[] = []
    const begun: Begun[] = []
    const said: Promise<Outcome>[] = []
    const lying = new Map<string, Lie>()
    const address = addressesOf(page, world)
    let prelude = `turnpike() { '${process.execPath}' "$PROGRAM" "$@"; }\nnpx() { "$@"; }\n`
    // What a page says about keys, its reader has done.
    if (page.text.includes('TURNPIKE_KEYS')) prelude += `export TURNPIKE_KEYS=${world.keys.join()}\n`
    for (const step of page.steps) {
      if (step.kind === 'section') said.length = 0
      if (step.kind === 'file' || step.kind === 'change') {
        await Promise.all(begun.map(({ done }) => done))
        write(join(folder, step.name), step)
      }
      if (step.kind === 'shown' && world.isHonest) {
        const texts = (await Promise.all(said)).map(each => each.said)
        outcomes.push(Promise.resolve(compared(page, step, texts)))
      }
      if (step.kind !== 'command') continue
      const text = await address(step)
      if (/^(export|set) /.test(text)) {
        prelude += `${text}\n`
        outcomes.push(Promise.resolve({ place: placeOf(page, step), command: step.text, code: 0, said: '' }))
        continue
      }
      // With another target, only what is sent to it, and what that needs.
      if (!world.isHonest && !concernsTarget(text, begun)) continue
      const prepared = prepare(step, text, { prelude, world, lying })

      const base = { place: placeOf(page, step), command: step.text, code: null, said: '' }
      const isInit = prepared.name === 'init'
      const waits = begun
        .filter(each => each.writes.some(name => text.includes(name)) || (isInit && each.text.includes('turnpike/')))
        .map(each => each.done)
      const done = Promise.all(waits).then(before => {
        const without = before.find(each => each.skipped !== undefined)
        if (without !== undefined) return { ...base, skipped: `needs what ${without.place} makes` }
        // It overwrites nothing, and the page shows it in several ways.
        if (isInit)
          for (const name of ['turnpike', '.github', '.env.example'])
            rmSync(join(folder, name), { recursive: true, force: true })
        return perform(page, prepared, folder, children)
      })
      begun.push({ text, writes: writesOf(prepared), done })
      outcomes.push(done)
      said.push(done)
    }
    return await Promise.all(outcomes)
  } finally {
    for (const { pid, exitCode } of children) if (pid !== undefined && exitCode === null) end(pid)
  }
}

type Begun = { readonly text: string; readonly writes: readonly string[]; readonly done: Promise<Outcome> }

const concernsTarget = (text: string, begun: readonly Begun[]): boolean =>
  /https?:|> |--out | (init|import) ?/.test(text) ||
  begun.some(({ writes }) => writes.some(name => text.includes(name)))

/** Whether a command of the page sends to a server that the page does not start. */
export function namesTarget({ steps }: Page): boolean {
  const started = new Set(steps.flatMap(({ text }) => serverPortOf(text) ?? []))
  return steps.some(
    ({ kind, text }) =>
      kind === 'command' &&
      (text.includes('<old>') ||
        [...text.matchAll(/(?:--target|diff) \S*https?:\/\/[^:/ ]*:?(\d*)/g)].some(
          ([, port = '']) => !started.has(port),
        )),
  )
}

const placeOf = ({ file }: Page, { line }: Step): string => `${file}:${line}`

function end(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

function write(path: string, step: Step & { readonly kind: 'file' | 'change' }): void {
  mkdirSync(dirname(path), { recursive: true })
  let text = step.kind === 'file' ? step.text : readFileSync(path, 'utf8')
  for (const line of step.kind === 'file' ? [] : step.text.trimEnd().split('\n')) {
    const key = /^\s*[\w-]+:/.exec(line)?.[0] ?? line
    text = text
      .split('\n')
      .map(each => (each.startsWith(key) ? line : each))
      .join('\n')
  }
  writeFileSync(path, text)
}

/** Files, folders and ports that later commands of the page may need. */
function writesOf({ text, name }: Prepared): readonly string[] {
  const named = [...text.matchAll(/(?:> |--out )(\S+)/g)].map(([, path = '']) => path)
  const port = /--port (\d+)/.exec(text)?.[1]
  return [
    ...named,
    ...(text.startsWith('rsync ') ? [text.split(/[ /]+/).at(-2) ?? ''] : []),
    ...(servers.includes(name) && port !== undefined ? [port] : []),
    ...(name === 'init' ? [' turnpike/', ' init'] : []),
    ...(name === 'import' ? [/import (\w+)/.exec(text)?.[1] ?? ''] : []),
  ]
}

/** Replaces addresses, ports, keys and placeholders of a command by what there is. */
function addressesOf(page: Page, world: World): (step: Step) => Promise<string> {
  const ports = new Map<string, string>()
  const portFor = async (port: string, isNew: boolean) => {
    if (isNew || !ports.has(port)) ports.set(port, String(await freePort()))
    return ports.get(port) ?? port
  }
  const started = new Set(page.steps.flatMap(({ text }) => serverPortOf(text) ?? []))
  return async ({ text: given }) => {
    let compared = 0
    let text = given
      .replaceAll(/runs\/(?:<\w+>|last\b|[a-z]+day\b|2026\w+-1a2b3c-nightly(?=\s|$))/g, () =>
        // Only runs of one scenario can be compared.
        /^turnpike compare|run nightly/.test(given.replace('npx ', ''))
          ? `runs/nightly-${++compared}`
          : given.includes('--baseline')
            ? 'runs/nightly'
            : 'runs/recorded',
      )
      .replace('<old> <new>', 'http://127.0.0.1:1/old http://127.0.0.1:1/new')
      .replace('/data/runs', 'runs')
      .replaceAll(/\bkey-(one|two|three|four)\b/g, (_, name) => {
        const keys = given.includes('WALLET') ? world.walletKeys : world.keys
        return keys[['one', 'two', 'three', 'four'].indexOf(name)] ?? ''
      })
      .replaceAll(/(--(?:remote-write|push-gateway|otlp)) https?:\/\/[^/\s]+/g, `$1 ${world.sink}`)
    const own = serverPortOf(text)
    if (own !== undefined) {
      const port = await portFor(own, true)
      text = /--port \d+/.test(text) ? text.replace(/--port \d+/, `--port ${port}`) : `${text} --port ${port}`
    }
    for (const [all, flag = '', host = ''] of text.matchAll(/(--ui|--metrics) ([\w.]*:)?\d+/g))
      text = text.replace(all, `${flag} ${host}${await freePort()}`)
    for (const [url = ''] of text.matchAll(/(?<= )https?:\/\/[^\s'"]+/g)) {
      const port = /^http:\/\/127\.0\.0\.1:(\d+)/.exec(url)?.[1]
      if (port !== undefined && started.has(port)) text = text.replace(port, await portFor(port, false))
      else if (!url.startsWith(world.sink)) text = text.replace(url, await world.targetAt(url))
    }
    return text
  }
}

function serverPortOf(text: string): string | undefined {
  const name = nameOf(text)
  if (!servers.includes(name) || text.includes('--list-lies')) return undefined
  return /--port (\d+)/.exec(text)?.[1] ?? usualPorts[name]
}

const nameOf = (text: string): string => /^(?:npx )?turnpike ([\w-]+)/.exec(text)?.[1] ?? ''

function prepare(
  step: Step,
  given: string,
  { prelude, world, lying }: { readonly prelude: string; readonly world: World; readonly lying: Map<string, Lie> },
): Prepared {
  const [program = ''] = given.replace(/^(\w+=\S+ )+/, '').split(' ')
  const name = nameOf(given)
  const bound = bounds[name] ?? ''
  const text = given.includes(bound.split(' ')[1] ?? '') ? given : `${given}${bound}`
  const skipped = /--redis\b/.test(text)
    ? 'test/real runs it, with Redis and workers'
    : text.includes('--top-up ')
      ? 'test/slow/e2e/x402-server pays, with chains of its own'
      : (ofOthers[program] ??
        (text.includes('/examples/') ? 'test/slow/installed/recipes runs it by night' : undefined))
  const port = /--port (\d+)/.exec(text)?.[1]
  const lie = lieByName(/--lie ([\w-]+)/.exec(text)?.[1] ?? '')
  if (port !== undefined && lie !== undefined) lying.set(port, lie)
  const [, met] = [...lying].find(([each]) => text.includes(`:${each}/`)) ?? []
  const shown = `PROGRAM=${sending.includes(name) && met === undefined ? world.programs.short : world.programs.full}\n`
  return {
    step,
    text,
    name,
    skipped,
    prelude: `${shown}${prelude}`,
    expected: expectedOf(text, name, world, met),
  }
}

function expectedOf(text: string, name: string, { isHonest }: World, met: Lie | undefined): readonly number[] {
  if (!withVerdict.includes(name)) return [0]
  const failing = Number(/--fail-code (\d+)/.exec(text)?.[1] ?? 1)
  if (name !== 'run' || text.includes('--baseline')) return [0, failing, 3]
  // On a busy machine, what is sent at once may arrive too far apart for a race.
  if (met !== undefined) return met.text.includes('within 5 ms') ? [0, failing, 3] : [failing]
  return isHonest || !text.includes('--target') ? [0, 3] : [0, failing, 3]
}

async function perform(page: Page, prepared: Prepared, folder: string, children: ChildProcess[]): Promise<Outcome> {
  const { step, text, name, expected, skipped } = prepared
  const base = { place: placeOf(page, step), command: step.text }
  if (skipped !== undefined) return { ...base, code: null, said: '', skipped }
  const first = await ended(prepared, folder, children)
  // A target that states no price needs what the refusal says.
  const { code, said } =
    first.code === 2 && /or --budget-usd unlimited|--budget-usd: got nothing/.test(first.said)
      ? await ended({ ...prepared, text: withoutBudget(text) }, folder, children)
      : first
  if (code !== null && expected.includes(code)) return { ...base, code, said }
  const shown = said.length > 1_200 ? `…${said.slice(-1_200)}` : said
  return {
    ...base,
    code,
    said,
    wrong: `${name || text} ended with ${code}, expected ${expected.join(' or ')}: ${shown}`,
  }
}

const withoutBudget = (text: string): string => `${text.replace(/ --budget-usd \S+/, '')} --budget-usd unlimited`

/** A server counts as ended with 0 as soon as it has said where it is. */
async function ended(
  { text, prelude }: Prepared,
  folder: string,
  children: ChildProcess[],
): Promise<{ readonly code: number | null; readonly said: string }> {
  const isServer = serverPortOf(text) !== undefined
  const child = spawn('bash', ['-c', `${prelude}${text}`], {
    cwd: folder,
    detached: true,
    env: { ...ownEnvironment(), HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  let said = ''
  const code = await new Promise<number | null>(resolve => {
    const timer = setTimeout(() => child.pid !== undefined && end(child.pid), timeoutMs)
    const hear = (bytes: Buffer) => {
      said += bytes
      if (!isServer || !/https?:\/\/127\.0\.0\.1:\d+/.test(said)) return
      clearTimeout(timer)
      resolve(0)
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    child.once('close', of => {
      clearTimeout(timer)
      resolve(isServer && of === 0 ? null : of)
    })
  })
  return { code, said }
}

/** Up to numbers and to where lines break. */
const plainly = (text: string): string => text.replace(/[\d,.]*\d/g, 'N').replace(/\s+/g, ' ')

function compared(page: Page, step: Step, texts: readonly string[]): Outcome {
  const base = { place: placeOf(page, step), command: 'what is printed', code: 0, said: '' }
  if (texts.some(text => plainly(text).includes(plainly(step.text).trim()))) return base
  return { ...base, wrong: `no command above it prints this: ${step.text}` }
}
