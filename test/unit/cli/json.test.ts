import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { nameOf } from '../../../src/cli/check-arguments.ts'
import { runCli } from '../../../src/cli/cli.ts'
import { commands } from '../../../src/cli/commands.ts'
import { documentedContract } from '../../../src/contract/documented.ts'
import { parseProfile } from '../../../src/contract/profile.ts'
import { UsageError } from '../../../src/lib/usage-error.ts'
import { tableUnder } from '../../support/markdown.ts'
import { failingReport } from '../report/fixtures.ts'

const printed: string[] = []
beforeAll(() => {
  vi.spyOn(process.stdout, 'write').mockImplementation(text => printed.push(String(text)) > 0)
})
afterEach(() => {
  printed.length = 0
})
afterAll(() => {
  vi.restoreAllMocks()
})

const folder = mkdtempSync(join(tmpdir(), 'turnpike-json-'))
const runDirectory = join(folder, 'run')

/** What a command prints with `--format json`. */
async function printedBy(...args: readonly string[]): Promise<unknown> {
  expect(await runCli([...args, '--format', 'json'])).toBe(0)
  return JSON.parse(printed.join(''))
}

/** Commands that print no result: they serve, or print JSON or a script only. */
const without = ['completion', 'ui', 'worker', 'calibration-server', 'schema', 'mcp', 'upgrade']

test('every command that prints a result has --format json', () => {
  const formats = commands.filter(({ flags }) => flags.format?.choices?.includes('json')).map(nameOf)
  const others = commands.map(nameOf).filter(name => !formats.includes(name))
  expect(others.filter(name => !without.includes(name))).toEqual([])
})

test('docs/agents.md describes the output of each of them', () => {
  const described = tableUnder(readFileSync('docs/agents.md', 'utf8'), 'JSON from every command').map(
    ({ Command = '' }) => /^`turnpike ([\w-]+)/.exec(Command)?.[1] ?? Command,
  )
  const formats = commands.filter(({ flags }) => flags.format?.choices?.includes('json')).map(nameOf)
  expect([...new Set(described)].toSorted()).toEqual([...formats, 'schema', '--version'].toSorted())
})

const clause = z.strictObject({
  id: z.string(),
  section: z.string(),
  text: z.string(),
  status: z.enum(['judged', 'not-promised', 'unobservable']),
  judges: z.array(z.string()),
  source: z.enum(['profile', 'target']).nullable(),
  needs: z.string().nullable(),
  reason: z.string().nullable(),
})

describe('turnpike clauses', () => {
  test('lists each clause with its status', async () => {
    const { clauses } = z.strictObject({ clauses: z.array(clause) }).parse(await printedBy('clauses'))
    const byId = new Map(clauses.map(each => [each.id, each]))
    expect(byId.get('rpc.batch.error-price')).toMatchObject({ status: 'judged', reason: null })
    expect(byId.get('excused.prompt-cache-routing')).toMatchObject({ status: 'unobservable', judges: [] })
    expect(byId.get('excused.prompt-cache-routing')?.reason).toContain('do not name the backend')
  })

  test('marks those that a profile does not promise', async () => {
    const { clauses } = z
      .strictObject({ clauses: z.array(clause) })
      .parse(await printedBy('clauses', '--profile', 'json-rpc-node'))
    const statusOf = (id: string) => clauses.find(each => each.id === id)?.status
    expect([statusOf('header.date'), statusOf('rpc.id')]).toEqual(['not-promised', 'judged'])
  })

  test('counts the judgements of runs', async () => {
    await writeRun()
    const shape = z.strictObject({
      clauses: z.array(
        z.strictObject({
          id: z.string(),
          section: z.string(),
          verdict: z.enum(['pass', 'fail', 'not-exercised', 'not-judged', 'not-promised']),
          judged: z.int(),
          violated: z.int(),
          reason: z.string().nullable(),
        }),
      ),
      exercised: z.int(),
      notPromised: z.int(),
    })
    const { clauses, exercised, notPromised } = shape.parse(await printedBy('clauses', runDirectory, runDirectory))
    expect(exercised).toBe(clauses.filter(({ judged }) => judged > 0).length)
    expect(notPromised).toBe(0)
    const failed = failingReport.clauses.filter(({ violated }) => violated > 0)
    expect(failed.length).toBeGreaterThan(0)
    for (const { id, violated } of failed)
      expect(clauses.find(each => each.id === id)).toMatchObject({
        verdict: 'fail',
        violated: 2 * violated,
        reason: null,
      })
  })
})

async function writeRun(): Promise<void> {
  const { mkdirSync } = await import('node:fs')
  mkdirSync(runDirectory, { recursive: true })
  writeFileSync(join(runDirectory, 'report.json'), JSON.stringify(failingReport))
}

test('turnpike findings lists summaries, and shows one with its examples', async () => {
  await writeRun()
  const summary = z.strictObject({
    number: z.int(),
    name: z.string(),
    count: z.int(),
    causes: z.int(),
    message: z.string(),
  })
  const [first] = z
    .array(summary)
    .nonempty()
    .parse(await printedBy('findings', runDirectory))
  printed.length = 0
  expect(await printedBy('findings', runDirectory, '1')).toEqual({ number: 1, ...failingReport.findings[0] })
  expect(first).toMatchObject({ number: 1, name: failingReport.findings[0]?.clause })
})

test('turnpike plan prints the plan, and whether a run would be refused', async () => {
  const plan = await printedBy('plan', 'smoke')
  expect(plan).toMatchObject({ scenario: 'smoke', target: null, refused: null, forecast: { requests: 646 } })
  printed.length = 0
  const small = await printedBy('plan', 'smoke', '--budget-usd', '0.001')
  expect(small).toMatchObject({ refused: expect.stringMatching(/^budget: got \$0.001, expected at least/) })
})

describe('turnpike profile', () => {
  const withoutSources = ({ sources: _, ...values }: typeof documentedContract) => values

  test('prints a profile that loads, and changes no value', async () => {
    const reread = parseProfile(JSON.stringify(await printedBy('profile')), 'printed.json')
    expect(withoutSources(reread)).toEqual(withoutSources(documentedContract))
    expect(reread.sources).not.toHaveProperty(['billing.balanceResolutionUsd'])
  })

  test('prints a resolution of balances that a profile states', async () => {
    const file = join(folder, 'acme.yaml')
    writeFileSync(file, 'billing: { balanceResolutionUsd: "0.01" }\n')
    expect(await printedBy('profile', file)).toMatchObject({ billing: { balanceResolutionUsd: '0.01' } })
  })
})

test('turnpike init prints the files that it has written', async () => {
  const into = join(folder, 'project')
  const { written } = z.strictObject({ written: z.array(z.string()) }).parse(await printedBy('init', into))
  expect(written).toContain(join(into, 'turnpike/scenario.yaml'))
  for (const file of written) expect(readFileSync(file, 'utf8')).not.toBe('')
})

test('turnpike service --list-lies prints the lies', async () => {
  const lies = z
    .array(z.strictObject({ clause: z.string(), name: z.string(), text: z.string() }))
    .parse(await printedBy('service', '--list-lies'))
  expect(lies.find(({ name }) => name === 'failed-item-in-full')).toMatchObject({ clause: 'rpc.batch.error-price' })
})

test('turnpike --version prints the version', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  expect(await printedBy('--version')).toEqual({ version })
})

test.each([
  ['a run that does not exist', ['report', 'no-such-run']],
  ['a scenario that does not exist', ['plan', 'no-such-scenario']],
  ['a number of no finding', ['findings', runDirectory, '99']],
])('a mistake prints nothing to stdout: %s', async (_, args) => {
  await writeRun()
  await expect(runCli([...args, '--format', 'json'])).rejects.toThrow(UsageError)
  expect(printed).toEqual([])
})
