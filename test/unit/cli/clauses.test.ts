import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { clausesCommand } from '../../../src/cli/clauses.ts'
import { passingReport } from '../report/fixtures.ts'

const made: string[] = []
const printed: string[] = []
vi.spyOn(process.stdout, 'write').mockImplementation(text => {
  printed.push(String(text))
  return true
})

afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true })
  printed.length = 0
})

/** Creates a run directory whose report has these clauses. */
function runOf(
  clauses: readonly { readonly id: string; readonly judged: number; readonly violated: number }[],
): string {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-clauses-'))
  made.push(directory)
  const tallies = clauses.map(tally => ({ ...tally, section: '4', verdict: tally.violated > 0 ? 'fail' : 'pass' }))
  writeFileSync(join(directory, 'report.json'), JSON.stringify({ ...passingReport, clauses: tallies }))
  return directory
}

const lineOf = (clause: string) =>
  printed
    .join('')
    .split('\n')
    .find(line => line.split(/\s+/)[1] === clause)
    ?.split(/\s{2,}/)
    .slice(-3)
    .filter(cell => cell !== clause && !cell.startsWith('§'))

test('clauses with run directories prints the sums over all runs', async () => {
  const first = runOf([{ id: 'header.date', judged: 3, violated: 0 }])
  const second = runOf([
    { id: 'header.date', judged: 2, violated: 1 },
    { id: 'header.cf-ray', judged: 4, violated: 0 },
  ])
  expect(await clausesCommand({ 'run-dirs': [first, second] })).toBe(0)
  expect(lineOf('header.date')).toEqual(['fail', '5 judged', '1 violated'])
  expect(lineOf('header.cf-ray')).toEqual(['pass', '4 judged'])
  expect(lineOf('header.version')).toEqual(['not-exercised', '0 judged'])
  expect(printed.join('')).toMatch(/^2 of \d+ clauses exercised$/m)
})

test('clauses also lists clauses that no run judges, with the reason', async () => {
  await clausesCommand({})
  expect(printed.join('')).toMatch(
    /excused\.prompt-cache-routing +unobservable +Requests with one prompt_cache_key .+\. .+\./,
  )
})
