import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { runCli } from '../../../src/cli/cli.ts'
import { randomStream } from '../../../src/lib/random.ts'
import { UsageError } from '../../../src/lib/usage-error.ts'
import { todays } from '../../support/nightly.ts'
import { recordedRun } from '../../support/recorded-run.ts'
import { readWholeLines } from '../../support/whole-lines.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-damaged-'))
const [whole, damaged] = [join(folder, 'whole'), join(folder, 'damaged')]
const logFile = 'observations.ndjson.gz'

/** One line for each kind of request and outcome, with header and footer. */
let lines: readonly string[] = []

const scenario = `
name: damaged
callers: { count: 2 }
calls:
  chat: { kind: chat, model-tier: XS, prompt-tokens: 20, max-completion-tokens: 20 }
  whole: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 20, max-completion-tokens: 20 }
  batch: { kind: rpc-batch, network: ethereum-mainnet, methods: { eth_call: 1 }, size: 3, failing-items: 1 }
  single: { kind: rpc, network: ethereum-mainnet, methods: { eth_call: 1 } }
  replay: { kind: replay, of: single, duplicates: 1 }
  image: { kind: resource, resource: image }
  models: { kind: models }
  unlisted: { kind: probe, probe: unlisted-method }
stages:
  - { name: steady, duration: 10s, shape: constant, rate: 4/s, exceed-tier: true, mix: { chat: 2, whole: 1, batch: 1, replay: 1, image: 1, models: 1, unlisted: 1 } }
  - { name: search, duration: 20s, shape: capacity, from: 1/s, to: 2/s, exceed-tier: true, good-ratio: 90%, mix: { single: 1 } }
thresholds:
  - { expect: p(50) latency of chat < 5s, why: a test }
`

beforeAll(async () => {
  await recordedRun(whole, { scenario, seed: 3 })
  const kinds = new Map<string, string>()
  for (const line of await readWholeLines(join(whole, logFile))) {
    const { request, outcome, trial, ended } = JSON.parse(line) as Record<string, Record<string, unknown> | undefined>
    const kind =
      request === undefined ? String(ended) : [request.kind, request.stream, outcome?.status, trial].join(' ')
    if (!kinds.has(kind)) kinds.set(kind, line)
  }
  lines = [...kinds.values()]
  writeLog(whole, lines)
})
afterAll(() => rmSync(folder, { recursive: true }))

const writeLog = (directory: string, written: readonly string[]) =>
  writeFileSync(join(directory, logFile), gzipSync(`${written.join('\n')}\n`))

/** What the program printed. */
let printed = ''
beforeEach(() => {
  printed = ''
  const print = (text: unknown) => {
    printed += text
    return true
  }
  vi.spyOn(process.stdout, 'write').mockImplementation(print as typeof process.stdout.write)
  vi.spyOn(process.stderr, 'write').mockImplementation(print as typeof process.stderr.write)
})
afterEach(() => {
  vi.restoreAllMocks()
})

type Path = readonly (string | number)[]

/** The paths of all members, and of the first three entries of lists. */
function pathsIn(value: unknown, path: Path = []): readonly Path[] {
  const members = Array.isArray(value) ? [...value.slice(0, 3).entries()] : Object.entries(Object(value) as object)
  if (typeof value !== 'object' || value === null) return []
  return members.flatMap(([key, member]) => [[...path, key], ...pathsIn(member, [...path, key])])
}

/** A copy with another value at `path`; undefined: without the member. */
function changed(root: unknown, path: Path, to: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return to
  const copy = (Array.isArray(root) ? [...root] : { ...(root as object) }) as Record<string | number, unknown>
  copy[step] = changed(copy[step], rest, to)
  return copy
}

const deep: unknown = JSON.parse(`${'['.repeat(150)}${']'.repeat(150)}`)
const strange = [undefined, null, -1, 0.5, 1e15, 1e308, '', 'x', '__proto__', [], {}, deep, true]

/** A mistake is a UsageError; anything else is a verdict. Neither shows a value that no reader can understand. */
async function expectNoCrash(what: string, args: readonly string[]): Promise<void> {
  const output = await runCli(args).then(
    code => {
      expect([0, 1, 3], what).toContain(code)
      return printed
    },
    cause => {
      if (!(cause instanceof UsageError)) throw new Error(`${args[0]} crashed with ${what}`, { cause })
      return cause.message
    },
  )
  expect(output, what).not.toMatch(/\bNaN|\bInfinity|\bundefined|\[object Object\]/)
  printed = ''
}

const commands: Readonly<Record<string, readonly (readonly string[])[]>> = {
  [logFile]: [['audit', damaged, '--format', 'html']],
  'plan.json': [['audit', damaged]],
  'contract.json': [['audit', damaged]],
  'slices.json': [['compare', damaged, whole]],
  'report.json': [
    ['report', damaged, '--format', 'html'],
    ['report', damaged, '--format', 'junit'],
    ['findings', damaged],
    ['clauses', damaged],
    ['compare', whole, damaged],
  ],
}

function damage(file: string, change: (json: unknown) => unknown, line: number): void {
  rmSync(damaged, { recursive: true, force: true })
  cpSync(whole, damaged, { recursive: true })
  if (file === logFile) writeLog(damaged, lines.with(line, JSON.stringify(change(JSON.parse(lines[line] ?? '')))))
  else writeFileSync(join(damaged, file), JSON.stringify(change(JSON.parse(readFileSync(join(whole, file), 'utf8')))))
}

describe('a run directory with a strange value anywhere is refused or judged', () => {
  /** Half of them each day. */
  const times = { [logFile]: 40, 'plan.json': 16, 'contract.json': 8, 'slices.json': 8, 'report.json': 10 }

  test.each(Object.entries(times))('in %s', async (file, count) => {
    const all = Array.from({ length: count }, (_, time) => time)
    for (const time of todays(all, 2)) {
      const random = randomStream(1, `${file}/${time}`)
      const line = random.int(lines.length)
      const json: unknown = JSON.parse(file === logFile ? (lines[line] ?? '') : readFileSync(join(whole, file), 'utf8'))
      const paths = pathsIn(json)
      const path = paths[random.int(paths.length)] ?? []
      const value = strange[random.int(strange.length)]
      damage(file, root => changed(root, path, value), line)
      const what = `${file} line ${line + 1}: ${path.join('.')} = ${JSON.stringify(value)?.slice(0, 20)}`
      for (const args of commands[file] ?? []) await expectNoCrash(what, args)
    }
  })
})

test('a member called __proto__ is refused in a contract that knows all its members', async () => {
  rmSync(damaged, { recursive: true, force: true })
  cpSync(whole, damaged, { recursive: true })
  const file = join(damaged, 'contract.json')
  writeFileSync(file, readFileSync(file, 'utf8').replace('"chat": {', '"chat": { "__proto__": 1,'))
  await expect(runCli(['audit', damaged])).rejects.toThrow(
    /contract\.json: got Unrecognized key: "__proto__", expected/,
  )
})

describe('a number of a log is refused that no run has', () => {
  test.each([
    [0, 'startedAtMs', 9e15],
    [0, 'startedAtMs', -1],
    [1, 'key', 1e15],
    [1, 'trial', 1e15],
    [1, 'dueMs', 1e300],
    [1, 'sentMs', -1e300],
  ])('line %i: %s = %d', async (line, name, value) => {
    damage(logFile, root => changed(root, [name], value), line)
    const place = `${join(damaged, logFile)}: line ${line + 1}: ${name}: got ${value}`
    await expect(runCli(['audit', damaged])).rejects.toThrow(place)
  })
})

test('an amount of a report is refused that is no decimal', async () => {
  damage('report.json', root => changed(root, ['series', 'spend', 'claimedUsd', 1], 'x'), 0)
  await expect(runCli(['report', damaged, '--format', 'html'])).rejects.toThrow('series.spend.claimedUsd.1: got "x"')
})

test('a number is refused that percentages turn into infinity', async () => {
  damage('report.json', root => changed(root, ['calls', 0, 'goodRatio'], 1e308), 0)
  await expect(runCli(['report', damaged])).rejects.toThrow('report.json: got a number beyond 1e290')
})

describe('a path that leads nowhere is refused', () => {
  const loop = join(folder, 'loop')
  beforeAll(() => symlinkSync('loop', loop))

  test.each(['audit', 'report', 'findings', 'clauses'])('as the directory for %s', async command => {
    await expect(runCli([command, loop])).rejects.toThrow(`${loop}: got ELOOP`)
    await expect(runCli([command, 'x'.repeat(5_000)])).rejects.toThrow('got ENAMETOOLONG')
  })

  test('as a log', async () => {
    damage('plan.json', plan => plan, 0)
    rmSync(join(damaged, logFile))
    symlinkSync(logFile, join(damaged, logFile))
    await expect(runCli(['audit', damaged])).rejects.toThrow(`${logFile}: got no regular file, expected a log file`)
  })
})
