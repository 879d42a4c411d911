import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Report } from '../../../src/report/document.ts'
import { indexFile, openRunIndex } from '../../../src/storage/run-index.ts'
import { freshDirectory } from '../../support/turnpike.ts'
import { failingReport, passingReport } from '../report/fixtures.ts'

/** Writes a run directory with these files. */
function write(folder: string, name: string, content: Readonly<Record<string, string>>): string {
  const path = join(folder, name)
  mkdirSync(path, { recursive: true })
  for (const [file, text] of Object.entries(content)) writeFileSync(join(path, file), text)
  return path
}

const startedOn = (day: number, report: Report = passingReport): Report => ({
  ...report,
  run: { ...report.run, id: `run-${day}`, startedAt: `2026-01-0${day}T00:00:00.000Z` },
})
const run = (folder: string, name: string, report: Report) =>
  write(folder, name, { 'report.json': JSON.stringify(report) })

const readRunIndex = (folder: string) => openRunIndex(folder).read()
const namesOf = async (folder: string) => (await readRunIndex(folder)).runs.map(({ name }) => name)

describe('the index of runs', () => {
  test('has each run in one line, the latest first', async () => {
    const folder = freshDirectory()
    run(folder, 'b', startedOn(1))
    run(folder, 'a', startedOn(3, failingReport))
    run(folder, 'nightly/smoke', startedOn(2))
    const { runs } = await readRunIndex(folder)
    expect(runs.map(({ name, verdict }) => [name, verdict])).toEqual([
      ['a', 'fail'],
      ['nightly/smoke', 'pass'],
      ['b', 'pass'],
    ])
    const violations = failingReport.findings.reduce((sum, { count }) => sum + count, 0)
    expect(runs[0]).toMatchObject({
      state: 'complete',
      scenario: failingReport.run.scenario,
      target: failingReport.run.target,
      violations,
      latencyP95Ms: 181.5,
      claimedUsd: Number(failingReport.billing.claimedUsd),
    })
    expect(runs[0]?.goodRatio).toBeCloseTo(0.989, 2)
  })

  test('reads each report once, and again only if it has changed', async () => {
    const folder = freshDirectory()
    for (let day = 1; day <= 5; day++) run(folder, `run-${day}`, startedOn(day))
    const first = await readRunIndex(folder)
    const second = await readRunIndex(folder)
    expect([first.read, second.read]).toEqual([5, 0])
    expect(second.runs).toEqual(first.runs)
    run(folder, 'run-3', startedOn(3, failingReport))
    utimesSync(join(folder, 'run-3', 'report.json'), 1, 1)
    const third = await readRunIndex(folder)
    expect([third.read, third.runs.find(({ name }) => name === 'run-3')?.verdict]).toEqual([1, 'fail'])
  })

  test('goes on where it was when the time was over, with the latest first', async () => {
    const folder = freshDirectory()
    for (let day = 1; day <= 5; day++) {
      const path = run(folder, `run-${day}`, startedOn(day))
      utimesSync(join(path, 'report.json'), day, day)
    }
    const index = openRunIndex(folder)
    let reports = 0
    const twoAtATime = () => ++reports % 2 === 0
    const seen: unknown[] = []
    for (let left = 1; left > 0; ) {
      const list = await index.read(twoAtATime)
      left = list.left
      seen.push([list.runs.map(({ name }) => name), left])
    }
    expect(seen).toEqual([
      [['run-5', 'run-4'], 3],
      [['run-5', 'run-4', 'run-3', 'run-2'], 1],
      [['run-5', 'run-4', 'run-3', 'run-2', 'run-1'], 0],
    ])
    expect(index.names().toSorted()).toEqual(['run-1', 'run-2', 'run-3', 'run-4', 'run-5'])
    // A later start knows what was read, whether it came to an end or not.
    expect((await readRunIndex(folder)).read).toBe(0)
  })

  test('comes to an end in a folder that cannot be written, one report at a time at worst', async () => {
    const folder = freshDirectory()
    for (let day = 1; day <= 3; day++) run(folder, `run-${day}`, startedOn(day))
    mkdirSync(join(folder, indexFile))
    const index = openRunIndex(folder)
    const left = []
    for (let reads = 0; reads < 4; reads++) left.push((await index.read(() => true)).left)
    expect(left).toEqual([2, 1, 0, 0])
  })

  test('forgets runs that are gone, and finds new ones', async () => {
    const folder = freshDirectory()
    run(folder, 'old', startedOn(1))
    await readRunIndex(folder)
    rmSync(join(folder, 'old'), { recursive: true })
    run(folder, 'new', startedOn(2))
    expect(await namesOf(folder)).toEqual(['new'])
    expect(readFileSync(join(folder, indexFile), 'utf8')).not.toContain('"old"')
  })

  test.each([
    ['deleted', null],
    ['cut off', '{"version":1,"entries":[{"stamp":"1/2","run":{"na'],
    ['of another version', '{"version":99,"entries":[]}'],
    ['of something else', '[[[[]]]]'],
    [
      'full of wrong entries',
      '{"version":1,"entries":[null,7,{"stamp":{},"run":{}},{"stamp":null,"run":{"name":"x"}}]}',
    ],
    ['binary', '\u0000\uffff'],
  ])('an index file that is %s is built again', async (_, text) => {
    const folder = freshDirectory()
    run(folder, 'a', startedOn(1))
    const { runs } = await readRunIndex(folder)
    if (text === null) rmSync(join(folder, indexFile))
    else writeFileSync(join(folder, indexFile), text)
    expect(await readRunIndex(folder)).toEqual({ runs, read: 1, left: 0, isSaved: true })
    expect((await readRunIndex(folder)).read).toBe(0)
  })

  test('an index file that names other directories adds none', async () => {
    const folder = freshDirectory()
    run(folder, 'a', startedOn(1))
    await readRunIndex(folder)
    const index = JSON.parse(readFileSync(join(folder, indexFile), 'utf8'))
    const entries = [...index.entries, { ...index.entries[0], run: { ...index.entries[0].run, name: '../../etc' } }]
    writeFileSync(join(folder, indexFile), JSON.stringify({ ...index, entries }))
    expect(await namesOf(folder)).toEqual(['a'])
  })

  test('half-written and damaged runs are lines, too', async () => {
    const folder = freshDirectory()
    write(folder, '20260105T000000Z-abc-smoke', { 'plan.json': '{}' })
    write(folder, 'cut', { 'report.json': JSON.stringify(passingReport).slice(0, 500) })
    write(folder, 'empty-report', { 'report.json': '' })
    write(folder, 'odd', { 'report.json': '{"verdict":"pass","run":{"scenario":7},"calls":"none"}' })
    write(folder, 'sparse', {
      'report.json': '{"verdict":"pass","run":{"scenario":"s"},"calls":[null,{"stage":null}]}',
    })
    write(folder, 'directory/report.json', {})
    write(folder, 'nothing', { 'notes.txt': '' })
    run(folder, 'good', startedOn(1))
    const { runs } = await readRunIndex(folder)
    const states = new Map(runs.map(({ name, state, verdict }) => [name, [state, verdict]]))
    expect(states).toEqual(
      new Map([
        ['20260105T000000Z-abc-smoke', ['no-report', null]],
        ['good', ['complete', 'pass']],
        ['sparse', ['complete', 'pass']],
        ['odd', ['unreadable', null]],
        ['empty-report', ['unreadable', null]],
        ['cut', ['unreadable', null]],
      ]),
    )
    // Its name tells when it started.
    expect(runs[0]?.name).toBe('20260105T000000Z-abc-smoke')
  })

  test('a run that goes on gets its verdict once it has a report', async () => {
    const folder = freshDirectory()
    write(folder, 'a', { 'plan.json': '{}' })
    expect((await readRunIndex(folder)).runs[0]?.state).toBe('no-report')
    run(folder, 'a', startedOn(1))
    expect((await readRunIndex(folder)).runs[0]?.verdict).toBe('pass')
  })

  test('links are not followed', async () => {
    const folder = freshDirectory()
    symlinkSync(run(freshDirectory(), 'elsewhere', startedOn(1)), join(folder, 'link'))
    expect(await namesOf(folder)).toEqual([])
  })

  test.skipIf((process.getuid?.() ?? 0) === 0)('a folder that cannot be written is read every time', async () => {
    const folder = freshDirectory()
    run(folder, 'a', startedOn(1))
    chmodSync(folder, 0o500)
    expect(await readRunIndex(folder)).toMatchObject({ read: 1, isSaved: false })
    chmodSync(folder, 0o700)
  })

  test('a folder that does not exist is a mistake of the user', async () => {
    await expect(readRunIndex(join(freshDirectory(), 'runs'))).rejects.toThrow('no such directory')
  })
})
