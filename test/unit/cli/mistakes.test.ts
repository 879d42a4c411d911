import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { runCli } from '../../../src/cli/cli.ts'
import { UsageError } from '../../../src/lib/usage-error.ts'
import type { Report } from '../../../src/report/document.ts'
import { knownLie } from '../../../src/service/lies/lies.ts'
import { recordedRun } from '../../support/recorded-run.ts'

/** A scenario without a mistake: `s.yaml` of a row that edits it. */
const scenario = `name: mine
callers: { count: 2, tier: default }
calls:
  rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
stages:
  - { name: steady, duration: 2s, shape: constant, rate: 2/s, mix: { rpc: 1 } }
thresholds:
  - { expect: violations == 0, why: It works. }
`

/** What surrounds a command line. `edit` replaces a part of the scenario. */
type Given = {
  readonly edit?: readonly [from: string, to: string]
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
}

/** The rows of mistakes.txt. Its first line describes the format. */
const rows = readFileSync(new URL('mistakes.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n\n')
  .slice(1)
  .filter(block => !block.startsWith('# '))
  .map(block => {
    const [title = '', ...lines] = block.split('\n')
    const marked = (mark: string) => lines.flatMap(line => (line.startsWith(mark) ? [line.slice(mark.length)] : []))
    const named = (mark: string) =>
      Object.fromEntries(
        marked(mark).map(line => {
          const [name = '', ...value] = line.split(' ')
          return [name, JSON.parse(value.join(' ')) as string]
        }),
      )
    const args = (marked('$ turnpike')[0]?.match(/"[^"]*"|[^ ]+/g) ?? []).map(word => word.replaceAll('"', ''))
    const edit = [marked('- ').join('\n'), marked('+ ').join('\n')] as const
    return { title, args, given: { edit, files: named('file '), env: named('env ') }, says: marked('! ').join('\n') }
  })

let target: Server
let received = 0
let port = 0
let directory = ''
const printed: string[] = []

beforeAll(async () => {
  target = createServer((_, response) => response.end())
  target.on('connection', () => void received++)
  // A reset could arrive before the response, and hide that this port speaks no TLS.
  target.on('clientError', (_, socket) => void socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n'))
  await new Promise<void>(resolve => target.listen(0, '127.0.0.1', resolve))
  port = (target.address() as AddressInfo).port
})
afterAll(() => void target.close())

beforeEach(() => {
  received = 0
  printed.length = 0
  directory = mkdtempSync(join(tmpdir(), 'turnpike-mistakes-'))
  for (const name of ['TURNPIKE_KEYS', 'TURNPIKE_KEY']) vi.stubEnv(name, undefined)
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, 'write').mockImplementation(text => printed.push(`${text}`) > 0)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
  rmSync(directory, { recursive: true })
})

const filled = (text: string): string =>
  text.replaceAll('$DIR', directory).replaceAll('$TARGET', `http://127.0.0.1:${port}/v1`).replaceAll('$PORT', `${port}`)

function write(file: string, text: string): void {
  mkdirSync(dirname(join(directory, file)), { recursive: true })
  writeFileSync(join(directory, file), filled(text))
}

/** The message of the UsageError, which ends the program with exit code 2. */
async function messageOf(
  args: readonly string[],
  { edit: [from, to] = ['', ''], files = {}, env = {} }: Given,
): Promise<string> {
  expect(scenario).toContain(from)
  write(
    's.yaml',
    scenario.replace(from, () => to),
  )
  for (const [file, text] of Object.entries(files)) write(file, text)
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  const mistake: unknown = await runCli(args.map(filled)).catch(cause => cause)
  if (!(mistake instanceof UsageError)) return expect.fail(`no mistake was reported: ${mistake} ${printed.join('')}`)
  return mistake.message.replaceAll(`${directory}/`, '').replaceAll(directory, '.').replaceAll(`${port}`, '$PORT')
}

describe('is one clear sentence, and nothing is sent:', () => {
  test.each(rows)('$title', async ({ args, given, says }) => {
    const message = await messageOf(args, given)
    expect(message).toBe(says)
    expect(message).not.toMatch(/NaN|undefined|\[object|null|non-option|Unknown argument|hush|\n/)
    expect(received).toBe(0)
    expect(printed).toEqual([])
  })
})

test('the table has each mistake once, and at least forty', () => {
  expect(new Set(rows.map(({ title }) => title)).size).toBe(rows.length)
  expect(new Set(rows.map(({ args, given }) => JSON.stringify([args, given]))).size).toBe(rows.length)
  expect(rows.length).toBeGreaterThanOrEqual(40)
})

/** No known input reaches these: other code refuses it before. */
const unreached = ['a command as --help lists it', 'a file that Turnpike wrote']

/** A form of a header is described there, for findings. */
const descriptions = /limit-headers.forms/

test('each sentence about a mistake is part of a test', () => {
  const textOf = (folder: string, files: RegExp, others = /^$/) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(file => files.test(file) && !others.test(file))
      .map(file => readFileSync(join(folder, file), 'utf8'))
      .join('\n')
  // A regular expression escapes what it quotes, and a long text has several lines.
  const plain = (text: string) => text.replace(/\\/g, '').replace(/\s+/g, ' ')
  const tests = plain(textOf('test', /\.(?:ts|txt)$/))
  const fragments = [
    ...textOf('src', /\.ts$/, descriptions).matchAll(/\b(?:got|expected|hint): ('(?:\\.|[^'\n])*'|`[^`]*`)/g),
  ]
    .flatMap(([, quoted = '']) => quoted.slice(1, -1).split(/\$\{[^}]*\}/))
    .map(fragment => plain(fragment).trim())
    .filter(fragment => fragment.length >= 10)
  expect(fragments.length).toBeGreaterThan(200)
  expect(fragments.filter(fragment => !tests.includes(fragment))).toEqual([])
  for (const each of unreached) expect(fragments).toContain(each)
})

test('the scenario that the rows edit has no mistake', async () => {
  write('s.yaml', scenario)
  expect(await runCli(['plan', join(directory, 's.yaml')])).toBe(0)
  expect(printed.join('')).toMatch(/\n {2}run +allowed\n/)
})

describe('a mistake with a recorded run is one clear sentence:', () => {
  const recorded = () => recordedRun(join(directory, 'run'), { scenario })

  test('the same run twice in a comparison', async () => {
    const run = await recorded()
    expect(await messageOf(['compare', run, run], {})).toBe(`run: got run run, as in run, expected each run once`)
  })

  test('an audit without observations', async () => {
    rmSync(join(await recorded(), 'observations.ndjson.gz'))
    expect(await messageOf(['audit', '$DIR/run'], {})).toBe(
      'run: got no recorded observations, expected a log that starts with a header line',
    )
  })

  test('a finding of a run without findings', async () => {
    expect(await messageOf(['findings', await recorded(), '1'], {})).toBe(
      'number: got "1", expected nothing, because the run has no findings',
    )
  })

  test('a finding about no single request', async () => {
    const file = join(await recorded(), 'report.json')
    const report = JSON.parse(readFileSync(file, 'utf8'))
    const finding = {
      ...{ clause: 'rpc.batch.error-price', section: '4', text: 'A', judge: 'rpc' },
      count: 1,
      message: 'B',
      examples: [],
    }
    writeFileSync(file, JSON.stringify({ ...report, verdict: 'fail', findings: [finding] }))
    expect(await messageOf(['findings', '$DIR/run', '1', '--repro'], {})).toBe(
      'finding 1: got a finding about no single request, expected one that names requests',
    )
    writeFileSync(file, JSON.stringify({ ...report, verdict: 'pass', findings: [finding] }))
    expect(await messageOf(['report', '$DIR/run'], {})).toBe(
      'run/report.json: verdict: got "pass", expected "fail", as its findings demand',
    )
  })

  test('a finding whose requests are in no record, to send again and to shrink', async () => {
    const options = { scenario: 'test/e2e/short.yaml', lies: [knownLie('failed-item-in-full')] }
    const file = join(await recordedRun(join(directory, 'run'), options), 'report.json')
    const report: Report = JSON.parse(readFileSync(file, 'utf8'))
    const lost = { requestIds: [999_999], decidedBy: [], evidence: [] }
    const findings = report.findings.map(each => ({
      ...each,
      examples: each.examples.map(example => ({ ...example, ...lost })),
    }))
    writeFileSync(file, JSON.stringify({ ...report, findings }))
    expect(await messageOf(['findings', '$DIR/run', '1', '--repro'], {})).toBe(
      'finding 1: got no recorded request, expected a run with "record: all" or "record: findings"',
    )
    expect(await messageOf(['shrink', '$DIR/run', '1', '--target', '$TARGET'], {})).toBe(
      'finding 1: got no recorded request of a call, expected a run with "record: all" or "record: findings", and a finding about the load',
    )
    expect(received).toBe(0)
  })

  test('a run whose scenario differs in one place', async () => {
    const slower = scenario.replace('rate: 2/s', 'rate: 1/s')
    const [first, second] = [await recorded(), await recordedRun(join(directory, 'second'), { scenario: slower })]
    expect(await messageOf(['compare', first, second], {})).toBe(
      'second: stages.steady.load.shape.perSecond: got 1, expected 2, as in the baseline run',
    )
  })

  test('a baseline of another scenario', async () => {
    await recorded()
    expect(await messageOf(['run', 'smoke', '--baseline', '$DIR/run'], {})).toMatch(
      /^smoke: got a plan with \d+ differences, such as callers\.count, expected the plan of the baseline run; is it the same scenario\?$/,
    )
  })
})

test('no scenario runs if the directory of a later one cannot be written', async () => {
  const args = ['run', 'smoke', 'billing', '--target', '$TARGET', '--budget-usd', '1', '--out', '$DIR/out']
  expect(await messageOf(args, { files: { 'out/billing/plan.json': '{}' } })).toBe(
    'out/billing: got a directory that holds a run, expected a new or empty directory; name another one with --out',
  )
  expect(received).toBe(0)
  expect(readdirSync(join(directory, 'out'))).toEqual(['billing'])
})

describe('a target that cannot be learned from ends with exit code 3 and one sentence:', () => {
  test.each([
    [
      'https at a port without TLS',
      'https://127.0.0.1:$PORT/v1',
      'The service does not answer at https://127.0.0.1:$PORT/v1. Did you mean http://127.0.0.1:$PORT/v1?\n',
    ],
    [
      'a port that nobody listens on',
      'http://127.0.0.1:1/v1',
      'Nothing was learned from http://127.0.0.1:1/v1: no response could be read (connect-refused: no program listens at this address).\n',
    ],
  ])('%s', async (_, address, says) => {
    expect(await runCli(['learn', '--target', filled(address)])).toBe(3)
    expect(printed.at(-1)).toBe(filled(says))
    expect(printed.length).toBeLessThanOrEqual(2)
  })
})

describe('a plan tells one story:', () => {
  const planned = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    write('s.yaml', scenario)
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
    printed.length = 0
    expect(await runCli(['plan', ...args.map(filled)])).toBe(0)
    // Long rows are wrapped.
    return printed.join('').replace(/\n {12}/g, ' ')
  }

  test.each([
    [['$DIR/s.yaml', '--target', '$TARGET', '--budget-usd', '0.0000001'], {}],
    [['$DIR/s.yaml', '--target', 'https://api.example.com/v1', '--budget-usd', '1'], {}],
    [['$DIR/s.yaml', '--target', 'https://api.example.com/v1'], { TURNPIKE_KEYS: 'k1,k2' }],
  ] as const)('it is refused with the words of the run: %j', async (args, env) => {
    const text = await planned(args, env)
    expect(text).not.toContain('may stop early')
    const refusal = await messageOf(['run', ...args], { env })
    expect(text).toContain(`  run       refused: ${refusal}\n`)
    expect(received).toBe(0)
    expect(JSON.parse(await planned([...args, '--format', 'json'], env))).toMatchObject({ refused: refusal })
  })

  test('it is allowed', async () => {
    const args = ['$DIR/s.yaml', '--target', '$TARGET', '--budget-usd', '1']
    expect(await planned(args)).toMatch(/\n {2}budget +\$1\n {2}run +allowed\n/)
    expect(JSON.parse(await planned([...args, '--format', 'json']))).toMatchObject({ refused: null })
  })
})
