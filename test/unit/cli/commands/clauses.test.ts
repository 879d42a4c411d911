import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { clausesCommand } from '../../../../src/cli/commands/clauses.ts'
import { passingReport } from '../../report/fixtures.ts'

const made: string[] = []
const said: string[] = []
vi.spyOn(process.stdout, 'write').mockImplementation(text => {
  said.push(String(text))
  return true
})

afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true })
  said.length = 0
})

/** The directory of a run that looked at these clauses. */
function runOf(
  clauses: readonly {
    readonly id: string
    readonly judged: number
    readonly violated: number
    readonly verdict?: string
  }[],
): string {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-clauses-'))
  made.push(directory)
  const tallies = clauses.map(tally => ({
    ...tally,
    section: '4',
    verdict: tally.verdict ?? (tally.violated > 0 ? 'fail' : 'pass'),
  }))
  writeFileSync(join(directory, 'report.json'), JSON.stringify({ ...passingReport, clauses: tallies }))
  return directory
}

const lineOf = (clause: string) =>
  said
    .join('')
    .split('\n')
    .find(line => line.split(/\s+/)[1] === clause)
    ?.split(/\s{2,}/)
    .slice(-3)
    .filter(cell => cell !== clause && !cell.startsWith('§'))

test('what runs covered together is the sum of what each of them did', async () => {
  const first = runOf([{ id: 'header.date', judged: 3, violated: 0 }])
  const second = runOf([
    { id: 'header.date', judged: 2, violated: 1 },
    { id: 'header.cf-ray', judged: 4, violated: 0 },
  ])
  expect(await clausesCommand({ 'run-dirs': [first, second] })).toBe(0)
  expect(lineOf('header.date')).toEqual(['fail', '5 judged', '1 violated'])
  expect(lineOf('header.cf-ray')).toEqual(['pass', '4 judged'])
  expect(lineOf('header.version')).toEqual(['not-exercised', '0 judged'])
  expect(said.join('')).toMatch(/^2 of \d+ clauses exercised$/m)
})

test('a clause that no run promises is told from one that no run tested', async () => {
  const unpromised = { id: 'header.cf-ray', judged: 0, violated: 0, verdict: 'not-promised' }
  const first = runOf([unpromised, { ...unpromised, id: 'header.date' }])
  expect(await clausesCommand({ 'run-dirs': [first] })).toBe(0)
  expect(lineOf('header.cf-ray')).toEqual(['not-promised', '0 judged'])
  expect(said.join('')).toMatch(/^0 of \d+ clauses exercised, 2 not promised$/m)
  said.length = 0
  const second = runOf([{ id: 'header.date', judged: 1, violated: 0 }])
  await clausesCommand({ 'run-dirs': [first, second] })
  expect(lineOf('header.date')).toEqual(['pass', '1 judged'])
})

test('the table of clauses names those that a profile does not promise', async () => {
  await clausesCommand({ profile: 'json-rpc-node' })
  expect(said.join('')).toMatch(/header\.date +not-promised +Every response has Date/)
  expect(said.join('')).toMatch(/rpc\.id +rpc-response, dependent-errors, probe +The id/)
})

test('the table of clauses shows also those that no run judges, with the reason', async () => {
  await clausesCommand({})
  expect(said.join('')).toMatch(/excused\.prompt-cache-routing +unobservable +.+ Responses do not name/)
})
