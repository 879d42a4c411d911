import { describe, expect, test } from 'vitest'
import { createFindingLog } from '../../../src/judge/findings/findings.ts'
import type { LiveMachine } from '../../../src/outputs/output.ts'
import { eventsBetween, fieldsLine, progressBlock, progressFields } from '../../../src/outputs/progress-block.ts'
import { plainPage, searching, snapshotAt, trials } from './progress-views.ts'

describe('progress: the words', () => {
  test('a block for a terminal, wide and narrow, and in a search; and lines for a log', async () => {
    const calm = snapshotAt('ramp', 5000, { log: createFindingLog() })
    const inSearch = snapshotAt('search', 52_000, { capacity: [searching] })
    const parts = {
      '100 columns': progressBlock(calm, plainPage(100)),
      '40 columns': progressBlock(calm, plainPage(40)),
      'events of a search with a violation': eventsBetween(null, inSearch, plainPage(80)).map(({ text }) => text),
      'a search with a violation, 80 columns': progressBlock(inSearch, plainPage(80)),
      'opening and closing': [
        ...progressBlock(snapshotAt('(opening)', 0), plainPage(80)).slice(0, 3),
        ...progressBlock(snapshotAt('(closing)', 60_000), plainPage(80)).slice(0, 3),
      ],
      'lines of a log': [calm, inSearch].map(snapshot => fieldsLine(progressFields(snapshot))),
    }
    const text = Object.entries(parts).map(([name, lines]) => `${name}\n${lines.map(line => `|${line}\n`).join('')}`)
    await expect(text.join('\n')).toMatchFileSnapshot('../../golden/progress.txt')
  })

  test('no line of the block is wider than the terminal, and none is cut from 40 columns on', () => {
    for (const snapshot of [snapshotAt('ramp', 5000), snapshotAt('search', 52_000, { capacity: [searching] })])
      for (let columns = 1; columns <= 200; columns++)
        for (const line of progressBlock(snapshot, plainPage(columns))) {
          expect([...line].length).toBeLessThanOrEqual(columns)
          if (columns >= 40) expect(line).not.toContain('…')
        }
  })

  test('a block keeps its height while its numbers change', () => {
    const heights = (columns: number) =>
      [0, 999, 5_000, 9_999].map(ms => progressBlock(snapshotAt('ramp', ms), plainPage(columns)).length)
    for (const columns of [40, 80, 120]) expect(new Set(heights(columns)).size).toBe(1)
  })

  test('styles are used only with color', () => {
    const colored = progressBlock(snapshotAt('ramp', 5000), { columns: 80, color: true }).join('\n')
    expect(colored).toContain('\u001b[31mrpc.batch.error-price × 2')
    expect(progressBlock(snapshotAt('ramp', 5000), plainPage(80)).join('\n')).not.toContain('\u001b')
  })

  test('workers on other machines have a row, with those that were lost and the one that is busiest', () => {
    const size = { version: '1', node: '22', cores: 2, memoryBytes: 8e9 }
    const on = (name: string, state: LiveMachine['state'], usedCores: number): LiveMachine => ({
      name,
      state,
      health: { name, ...size, rssBytes: 1e8 + usedCores * 1e7, usedCores },
    })
    const workers = [on('a', 'working', 0.5), on('b', 'lost', 1.9), on('c', 'finished', 1.25)]
    const snapshot = snapshotAt('ramp', 5000, { workers })
    const row = progressBlock(snapshot, plainPage(120)).find(line => line.startsWith('workers'))
    expect(row?.split(/ {2,}/)).toEqual(['workers', '2 of 3 up', 'b lost', 'busiest 1.3 of 2 cores', 'memory ≤ 113 MB'])
    expect(progressFields(snapshot)).toMatchObject({ workers_up: 2, workers_lost: 1, max_used_cores: 1.25 })
  })

  test('a long list of clauses is cut and counted', () => {
    const many = Array.from({ length: 9 }, (_, index) => ({ clause: `c${index}`, section: '1', count: 1, message: '' }))
    const block = progressBlock({ ...snapshotAt('ramp', 5000), violations: many }, plainPage(200)).join('\n')
    expect(block).toMatch(/c5 × 1 +and 3 more/)
    expect(block).not.toContain('c6')
  })

  test('each clause and each trial is an event once, on one line, however hostile', () => {
    const log = createFindingLog()
    log.reporterFor('headers').fail('header.date', `evil\n\u001b[2J${'x'.repeat(500)}`, [1])
    const before = snapshotAt('search', 41_000, { capacity: [{ ...searching, trials: trials.slice(0, 2) }], log })
    const [event] = eventsBetween(null, before, plainPage(80))
    expect(event?.text).toMatch(/^ 41\.0 s {2}fail {3}header\.date \(§[\d.]+\): evil \\x1b\[2Jx+…$/)
    expect(event?.text.length).toBeLessThan(300)
    expect(event?.fields).toMatchObject({ event: 'violation', clause: 'header.date', elapsed_s: 41 })
    log.reporterFor('headers').fail('header.date', 'again', [2])
    const now = snapshotAt('search', 42_000, { capacity: [{ ...searching, trials: trials.slice(0, 3) }], log })
    expect(eventsBetween(before, now, plainPage(80)).map(({ text }) => text)).toEqual([
      ' 42.0 s  trial  raise 80/s held',
    ])
    expect(eventsBetween(now, now, plainPage(80))).toEqual([])
  })

  test('a line omits keys without a value, and quotes values with spaces', () => {
    const stage = { name: 'a "long" name', planned: null }
    const line = fieldsLine(progressFields({ ...snapshotAt('users', 0), stage }))
    expect(line).toContain('stage="a \\"long\\" name" achieved_per_s=12.2 in_flight=3')
    expect(line).not.toContain('latency')
  })
})
