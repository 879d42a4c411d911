import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import {
  atMostLines,
  type Door,
  type Edge,
  effectsAtEdges,
  namedForTheirIdea,
  noCycle,
  noDeadFile,
  noIdleDependency,
  notInCode,
  notInText,
  oneDoor,
  type Place,
  type Rule,
  seesOnly,
  testsMirrorSources,
  usesAllItSees,
} from './support/architecture-rules.ts'
import { withRooms } from './support/render-rooms.ts'
import type { SourceFile } from './support/source-code.ts'

/** The places of `src` from left to right, and the whole of what each may import: the diagram of the program. */
const places: readonly Place[] = [
  { name: 'lib', sees: [], because: 'It holds no word of the domain.' },
  { name: 'contract', sees: ['lib'], because: 'What the document says is data, and knows nobody who reads it.' },
  { name: 'scenario', sees: ['lib', 'contract'], because: 'It is what a person writes; only plan and cli see it.' },
  {
    name: 'capacity',
    sees: [],
    because:
      'How a search goes on from what was seen: the half that sends and the half that judges follow the same rules.',
  },
  {
    name: 'plan',
    sees: ['lib', 'contract', 'scenario', 'capacity'],
    because: 'It decides everything: past it there is no optional field, no default, and no unit in a string.',
  },
  {
    name: 'arrivals',
    sees: ['lib', 'capacity', 'plan/plan.ts', 'plan/rate-line.ts', 'plan/packed-arrivals.ts'],
    because: 'When what is due follows from plan and seed alone: what the plan says of a shape, it also unfolds.',
  },
  { name: 'observation', sees: ['lib', 'contract'], because: 'The waist: it does not know who makes the records.' },
  { name: 'transport', sees: ['lib', 'plan/plan.ts', 'observation'], because: 'The wire knows nothing of calls.' },
  { name: 'callers', sees: ['lib', 'plan/plan.ts'], because: 'The only place that holds a secret.' },
  {
    name: 'calls',
    sees: ['lib', 'contract', 'plan/plan.ts', 'arrivals', 'observation', 'transport', 'callers'],
    because: 'Where an arrival becomes a request, and an answer becomes an observation.',
  },
  {
    name: 'drivers',
    sees: ['lib', 'capacity', 'arrivals', 'observation'],
    because: 'A scheduler that sees neither wire nor plan is tested without time and network.',
  },
  { name: 'checks', sees: ['lib', 'contract', 'observation'], because: 'The judging half runs from a file alone.' },
  { name: 'audits', sees: ['lib', 'contract', 'observation', 'checks'], because: 'As the checks, over many records.' },
  {
    name: 'metrics',
    sees: [
      'lib',
      'contract',
      'capacity',
      'plan/plan.ts',
      'plan/provable-percentile.ts',
      'observation',
      'checks',
      'audits',
    ],
    because:
      'It judges thresholds, which the plan states, proves percentiles as the forecast promised them, and counts credits.',
  },
  {
    name: 'compare',
    sees: ['contract', 'plan/plan.ts', 'metrics'],
    because: 'Whether a run is worse than others follows from what they keep; how it is told is for the report.',
  },
  {
    name: 'report',
    sees: [
      ...['lib', 'contract', 'plan/plan.ts', 'plan/describe-load.ts', 'plan/rate-line.ts', 'observation', 'checks'],
      ...['audits', 'metrics', 'compare'],
    ],
    because: 'A renderer turns results into text: a new format is one file, and nothing that sends is needed for it.',
  },
  {
    name: 'push',
    sees: ['lib', 'observation', 'transport', 'metrics', 'report'],
    because:
      'What is known of a run goes out to whoever watches; the judging half knows no network, and hears nothing back.',
  },
  { name: 'service', sees: ['lib', 'contract'], because: 'Two independent readings: no arithmetic is shared.' },
  {
    name: 'evidence.ts',
    sees: ['contract/probes.ts', 'plan/plan.ts', 'observation', 'calls', 'report'],
    because: 'A request that nobody kept is made again for the report.',
  },
  {
    name: 'judging',
    sees: [
      ...['lib', 'contract', 'plan/plan.ts', 'arrivals/share.ts', 'observation', 'checks', 'audits', 'metrics'],
      ...['report', 'evidence.ts'],
    ],
    because: 'The judging half as one piece, for a run that goes, one that is read again, and one that many shared.',
  },
  {
    name: 'run',
    sees: [
      ...['lib', 'contract', 'plan/plan.ts', 'plan/spend.ts', 'arrivals', 'observation', 'transport', 'callers'],
      ...['calls', 'drivers', 'audits/charge.ts', 'audits/failure.ts', 'metrics', 'report', 'judging'],
      ...['service/server.ts', 'service/service.ts'],
    ],
    because: 'The composition root: it hands each part its part of the plan, prices what is sent, and rehearses.',
  },
  {
    name: 'certificate',
    sees: ['lib', 'contract', 'plan/table.ts', 'observation', 'transport', 'metrics'],
    because: 'It holds stamps against times of writing: it sees what is stamped, and not how a run comes about.',
  },
  {
    name: 'cli',
    sees: [
      ...['lib', 'contract', 'scenario', 'plan', 'observation', 'transport', 'callers', 'metrics', 'compare'],
      ...['report', 'push', 'service', 'judging', 'run', 'arrivals/share.ts', 'certificate'],
    ],
    because:
      'It reads a command line, calls one function, and writes. It starts the reference service that a run is against.',
  },
  { name: 'main.ts', sees: ['lib', 'cli'], because: 'The one catch-all and the exit code.' },
]

/** One package, one door: its types stay behind it, and it can be replaced in an afternoon. */
const doors: Readonly<Record<string, Door>> = {
  autocannon: {
    files: ['src/transport/autocannon-lanes.ts'],
    because: 'connections that are kept busy; what it says of itself stays behind it',
  },
  'hdr-histogram-js': { files: ['src/metrics/histogram.ts'], because: 'numbers go in and percentiles come out' },
  leven: { files: ['src/lib/usage-error.ts'], because: 'it guesses the word that was meant' },
  pino: { files: ['src/lib/log.ts'], because: 'the log' },
  'prom-client': { files: ['src/metrics/prometheus.ts'], because: 'it sees numbers when Prometheus asks' },
  snappyjs: { files: ['src/push/scribe.ts'], because: 'remote write is compressed so, and no other way' },
  undici: {
    files: ['src/transport/connections.ts', 'src/transport/exchange.ts', 'src/transport/failure-of.ts'],
    because: 'connections, the five instants of an exchange, and the codes of its errors',
  },
  yaml: { files: ['src/contract/profile.ts', 'src/scenario/source.ts'], because: 'the two files that people write' },
  yargs: { files: ['src/cli/cli.ts'], because: 'the command line' },
  zod: {
    files: [
      'src/contract/chat-terms.ts',
      'src/contract/quantities.ts',
      ...['src/contract/contract.ts', 'src/scenario', 'src/service/chat-request.ts'],
      ...['src/report/capacity-schema.ts', 'src/report/figures-schema.ts', 'src/report/report-schema.ts'],
      ...['src/report/slices-schema.ts', 'src/report/series-schema.ts', 'src/report/comparison/comparison-schema.ts'],
    ],
    because: 'outside data enters as a profile, as a scenario, as a report, and as the request of a stranger',
  },
  'node:child_process': { files: ['src/cli/own-process.ts'], because: 'a server in a process of its own' },
  'node:crypto': {
    files: [
      ...['src/calls/read-answer.ts', 'src/cli/run-command.ts', 'src/report/html/page.ts', 'src/service/rpc-proxy.ts'],
    ],
    because: 'fingerprints of bodies, and of the style that a page allows; the chance in the name of a run',
  },
  'node:fs': {
    files: [
      ...['src/callers/callers.ts', 'src/cli/version.ts', 'src/contract/profile.ts', 'src/observation/log.ts'],
      ...['src/cli/github-actions.ts', 'src/report/run-directory.ts', 'src/scenario/load.ts'],
    ],
    because: 'keys, profile, and scenario come in; log, report and the summary of a CI step go out',
  },
  'node:fs/promises': {
    files: ['src/observation/log.ts', 'src/report/run-directory.ts'],
    because: 'what is written while a run goes',
  },
  'node:http': { files: ['src/metrics/metrics-server.ts', 'src/service/server.ts'], because: 'the two servers' },
  'node:net': {
    files: [
      ...['src/certificate/bare-reader.ts', 'src/certificate/metronome.ts'],
      ...['src/service/server.ts', 'src/transport/autocannon-lanes.ts', 'src/transport/connections.ts'],
      'src/transport/direct-reads.ts',
    ],
    because: 'addresses, how the far end of a connection went away, and what is measured without anything between',
  },
  'node:v8': { files: ['src/run/crew.ts', 'src/run/rehearse.ts'], because: 'when garbage is collected' },
  'node:vm': { files: ['src/run/rehearse.ts'], because: 'what collects garbage is found nowhere else' },
  'node:worker_threads': {
    files: ['src/run/crew.ts', 'src/run/thread.ts'],
    because: 'the two ends of a thread',
  },
  'node:perf_hooks': { files: ['src/metrics/event-loop.ts'], because: 'the delay of our own event loop' },
}

const harmless = ['node:events', 'node:path', 'node:readline', 'node:url', 'node:util', 'node:zlib']

/** Time, chance and the process are touched here; everything else runs under virtual time and can be replayed. */
const edges: Readonly<Record<string, Edge>> = {
  'src/lib/clock.ts': { touches: ['clock', 'timer'], because: 'the one clock, which is handed to all' },
  'src/lib/spare-time.ts': { touches: ['clock', 'timer'], because: 'when the event loop has nothing better to do' },
  'src/lib/machine-clock.ts': { touches: ['process'], because: 'the clock that all processes of a machine share' },
  'src/main.ts': { touches: ['process'], because: 'arguments in, exit code out, and what the catch-all says' },
  'src/cli/affordable.ts': { touches: ['process'], because: 'shows what a refused run would have cost, on stderr' },
  'src/cli/certify-command.ts': { touches: ['process'], because: 'writes the certificate to stdout' },
  'src/cli/clauses-command.ts': { touches: ['process'], because: 'writes its table to stdout' },
  'src/cli/github-actions.ts': { touches: ['process'], because: 'asks whether a run is a step there, and tells it' },
  'src/cli/interrupts.ts': { touches: ['process'], because: 'listens for ^C' },
  'src/cli/load-keys.ts': { touches: ['process'], because: 'reads the keys from the environment' },
  'src/cli/plan-command.ts': { touches: ['process'], because: 'writes the plan to stdout' },
  'src/cli/run-command.ts': {
    touches: ['clock', 'process'],
    because: 'names the run by its time; reads secrets of receivers',
  },
  'src/cli/schema-command.ts': { touches: ['process'], because: 'writes the schema to stdout' },
  'src/cli/serve-until-told.ts': { touches: ['process'], because: 'says where a server listens; ends on a signal' },
  'src/cli/service-command.ts': { touches: ['process'], because: 'writes the lies to stdout' },
  'src/cli/show-report.ts': { touches: ['process'], because: 'writes the report to stdout, as wide as that is' },
  'src/cli/watch-run.ts': { touches: ['process'], because: 'shows progress on stderr, as a terminal or a pipe' },
}

const longTables = {
  'test/architecture.test.ts': 'this document',
}

const tools = {
  '@biomejs/biome': 'npm run lint',
  typescript: 'npm run build',
  tsx: 'npm run bench',
}

type Kept = {
  readonly says: string
  readonly rule: Rule
  /** Files that break the rule when they are added to the tree: path → text. */
  readonly planted: readonly (readonly [path: string, text: string])[]
}

const rules: readonly Kept[] = [
  {
    says: 'imports only look left, and only at what the table of places allows',
    rule: seesOnly(places),
    planted: [
      ['src/lib/spy.ts', "import type { Plan } from '../plan/plan.ts'"],
      ['src/contract/spy.ts', "import { loadScenario } from '../scenario/load.ts'"],
      ['src/arrivals/spy.ts', "import type { Scenario } from '../scenario/scenario.ts'"],
      ['src/report/spy.ts', "import { parseUsd } from '../scenario/units.ts'"],
      ['src/observation/spy.ts', "import type { Exchange } from '../transport/transport.ts'"],
      ['src/drivers/spy.ts', "import type { Transport } from '../transport/transport.ts'"],
      ['src/drivers/spy.ts', "import type { StagePlan } from '../plan/plan.ts'"],
      ['src/checks/spy.ts', "import { rpcCall } from '../calls/rpc.ts'"],
      ['src/checks/spy.ts', "import type { Results } from '../audits/results.ts'"],
      ['src/audits/spy.ts', "import { driveOpen } from '../drivers/open.ts'"],
      ['src/metrics/spy.ts', "import { makePlan } from '../plan/make-plan.ts'"],
      ['src/metrics/spy.ts', "import { createDraw } from '../arrivals/arrivals.ts'"],
      ['src/metrics/spy.ts', "import { createOutbox } from '../push/outbox.ts'"],
      ['src/push/spy.ts', "import type { Cab } from '../drivers/driver.ts'"],
      ['src/report/spy.ts', "import { buildCall } from '../calls/build-call.ts'"],
      ['src/report/spy.ts', "const { send } = await import('../transport/undici-transport.ts')"],
      ['src/service/spy.ts', "import { credits } from '../checks/rpc-credits.ts'"],
      ['src/metrics/spy.ts', "export { createService } from '../service/service.ts'"],
      ['src/cli/spy.ts', "import '../main.ts'"],
      ['src/commerce/spy.ts', 'export const place = null'],
    ],
  },
  {
    says: 'one package has one door',
    rule: oneDoor(doors, harmless),
    planted: [
      ['src/calls/spy.ts', "import { request } from 'undici'"],
      ['src/transport/spy.ts', "import { Agent } from 'undici'"],
      ['src/report/spy.ts', "import { z } from 'zod'"],
      ['src/service/spy.ts', "import { z } from 'zod/v4'"],
      ['src/report/spy.ts', "import { siwe } from '@wallet/siwe'"],
      ['src/checks/spy.ts', "import { readFileSync } from 'node:fs'"],
      ['src/lib/spy.ts', "const { createHash } = await import('node:crypto')"],
    ],
  },
  {
    says: 'time, chance, console, network and process are touched at the named edges only',
    rule: effectsAtEdges(edges),
    planted: [
      ['src/checks/spy.ts', 'export const nowMs = Date.now()'],
      ['src/service/spy.ts', 'export const today = new Date( )'],
      ['src/metrics/spy.ts', 'export const nowMs = performance.now()'],
      ['src/arrivals/spy.ts', 'export const pick = () => Math.random()'],
      ['src/drivers/spy.ts', 'setTimeout(() => {}, 10)'],
      ['src/drivers/spy.ts', 'export const tick = setInterval'],
      ['src/drivers/spy.ts', 'setImmediate(() => {})'],
      ['src/drivers/spy.ts', 'export const signal = AbortSignal.timeout(10)'],
      ['src/callers/spy.ts', 'export const { KEY } = process.env'],
      ['src/run-spy.ts', 'process.exit(1)'],
      ['src/report/spy.ts', 'export const { stdout } = process'],
      ['src/judge-spy.ts', "process.on('exit', () => {})"],
      ['src/report/spy.ts', 'console.log(1)'],
      ['src/calls/spy.ts', "export const answer = await fetch('http://127.0.0.1')"],
    ],
  },
  {
    says: 'nothing is exported by default: a thing has one name everywhere',
    rule: notInCode(/\bexport\s+default\b/, 'exports by default'),
    planted: [['src/lib/spy.ts', 'export default 3']],
  },
  {
    says: 'no file passes on all of another: who needs a thing imports it from where it is',
    rule: notInCode(/\bexport\s+\*/, 'passes on another module'),
    planted: [['src/lib/spy.ts', "export * from './clock.ts'"]],
  },
  {
    says: 'there is no enum: a union of literals is data already',
    rule: notInCode(/(?<![.\w])enum\s+\w/, 'declares an enum'),
    planted: [['src/lib/spy.ts', 'export const enum Level { low }']],
  },
  {
    says: 'there is no any: what is not known is unknown, until it is parsed',
    rule: notInCode(/(?<![.\w])any\b(?!\s*\()/, 'says any'),
    planted: [
      ['src/lib/spy.ts', 'export const size = (value: any) => value.size'],
      ['src/lib/spy.ts', 'export const size = (value: unknown) => (value as any).size'],
    ],
  },
  {
    says: 'nothing is asserted to be there with an exclamation mark',
    rule: notInCode(/[\w)\]]!(?!=)/, 'asserts that something is there'),
    planted: [
      ['src/lib/spy.ts', 'export const first = (list: number[]) => list[0]!'],
      ['src/lib/spy.ts', 'export const width = (box?: { width: number }) => box!.width'],
      ['src/lib/spy.ts', 'export const name = find()!.name'],
    ],
  },
  {
    says: 'there is no namespace: a file is one',
    rule: notInCode(/\b(?:namespace|module)\s+[\w.]+\s*\{/, 'declares a namespace'),
    planted: [['src/lib/spy.ts', 'export namespace Money { export const digits = 12 }']],
  },
  {
    says: 'there is no class but of errors: records and functions do',
    rule: notInCode(/(?<![.\w])class\b(?!\s+\w+\s+extends\s+\w*Error\b)(?!\s*[:,})])/, 'declares a class'),
    planted: [
      ['src/lib/spy.ts', 'export class Wallet { balance = 0 }'],
      ['src/lib/spy.ts', 'export class Purse extends Wallet {}'],
      ['src/lib/spy.ts', 'export const Purse = class { coins = 0 }'],
    ],
  },
  {
    says: 'no failure is swallowed without a word',
    rule: notInText(/\bcatch\s*(?:\([^)]*\)\s*)?\{\s*\}/, 'catches and says nothing', 'src/'),
    planted: [
      ['src/lib/spy.ts', 'try { work() } catch {}'],
      ['src/lib/spy.ts', 'try { work() } catch (cause) {\n}'],
    ],
  },
  {
    says: 'names say what is in a file: if a thing has no home, its idea has no name yet',
    rule: namedForTheirIdea(['index', 'utils', 'util', 'helpers', 'helper', 'common', 'types', 'misc', 'shared']),
    planted: [
      ['src/lib/index.ts', ''],
      ['src/calls/types.ts', ''],
      ['test/support/helpers.ts', ''],
      ['test/unit/lib/utils.test.ts', ''],
      ['src/lib/usageError.ts', ''],
      ['src/lib/Usage-error.ts', ''],
    ],
  },
  {
    says: 'a file has at most 250 lines, but for tables of data',
    rule: atMostLines(250, longTables),
    planted: [['src/lib/spy.ts', '\n// a line'.repeat(251)]],
  },
  {
    says: 'nothing is left to be done in a comment',
    rule: notInText(/\b(?:TO|FIX)(?:DO|ME)\b/, 'leaves something to be done'),
    planted: [
      ['src/lib/spy.ts', `// ${'to'.toUpperCase()}${'do'.toUpperCase()}: later`],
      ['docs/spy.md', `${'fix'.toUpperCase()}${'me'.toUpperCase()}`],
    ],
  },
  {
    says: 'nothing refers to a directory of the machine on which it was written',
    rule: notInText(/(?<![\w.])[/]work\b|\bshared[/]/, 'names a place outside of the project'),
    planted: [
      ['docs/spy.md', `see ${'/wo'}rk/main`],
      ['src/lib/spy.ts', `// as in ${'sha'}red/notes.md`],
    ],
  },
  {
    says: 'no file imports itself, even by way of others',
    rule: noCycle,
    planted: [
      ['src/lib/spy.ts', "import './spy.ts'"],
      ['src/lib/clock.ts', "export { openLog } from '../observation/log.ts'"],
    ],
  },
  {
    says: 'every file of src is reached from main.ts, or from where its threads begin',
    rule: noDeadFile('src/main.ts', 'src/run/thread.ts'),
    planted: [['src/lib/spy.ts', 'export const forgotten = true']],
  },
  {
    says: 'unit tests stand where their subject stands',
    rule: testsMirrorSources,
    planted: [['test/unit/commerce/spy.test.ts', '']],
  },
  {
    says: 'every dependency is needed',
    rule: noIdleDependency(tools),
    planted: [
      ['package.json', '{ "dependencies": { "left-pad": "1.3.0" } }'],
      ['package.json', '{ "devDependencies": { "left-pad": "1.3.0" } }'],
    ],
  },
  {
    says: 'the table of places shows no arrow that is not there',
    rule: usesAllItSees(places),
    planted: [['src/main.ts', '']],
  },
]

const tree = readTree('')

describe.each(rules)('$says', ({ rule, planted }) => {
  test('holds', () => {
    expect(rule(tree)).toEqual([])
  })

  for (const [path, text] of planted) {
    test(`is seen to be broken by ${path}: ${text.trim().split('\n')[0]}`, () => {
      const before = rule(tree)
      const after = rule([...tree.filter(file => file.path !== path), { path, text }])
      expect(after.filter(line => !before.includes(line))).not.toEqual([])
    })
  }
})

test('every place, door and edge of the tables is there, and has its reason', () => {
  const paths = tree.map(file => file.path)
  const listed = [
    ...Object.values(doors).flatMap(({ files }) => files),
    ...Object.keys(edges),
    ...Object.keys(longTables),
  ]
  expect(listed.filter(name => !paths.some(path => path === name || path.startsWith(`${name}/`)))).toEqual([])
  expect([...places, ...Object.values(doors), ...Object.values(edges)].filter(({ because }) => because === '')).toEqual(
    [],
  )
})

test('docs/architecture.md shows the table of places', () => {
  const file = 'docs/architecture.md'
  const current = withRooms(readFileSync(file, 'utf8'), places)
  if (process.env.UPDATE_DOCS === '1') writeFileSync(file, current)
  expect(readFileSync(file, 'utf8'), 'UPDATE_DOCS=1 npx vitest run test/architecture.test.ts').toBe(current)
})

/** Every text file of the project, but for what is installed, built or written by runs. */
function readTree(folder: string): readonly SourceFile[] {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const left = ['node_modules', '.git', 'dist', 'dist-bench', 'runs', 'package-lock.json']
  return readdirSync(root + folder, { withFileTypes: true })
    .filter(({ name }) => !left.includes(name))
    .flatMap(entry => {
      const path = folder + entry.name
      if (entry.isDirectory()) return readTree(`${path}/`)
      const text = readFileSync(root + path, 'utf8')
      return text.includes('\0') ? [] : [{ path, text }]
    })
}
