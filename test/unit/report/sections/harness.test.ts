import { describe, expect, test } from 'vitest'
import type { LoadFacts } from '../../../../src/report/document.ts'
import { renderers } from '../../../../src/report/render/renderers.ts'
import { passingReport } from '../fixtures.ts'

const page = { columns: 140, color: false, directory: null }
const { load } = passingReport
const elsewhere = { machine: null, health: null, records: null }
const counts = { callers: 6, lost: false, sent: 60 }
const worker = { ...counts, latenessMs: load.latenessMs, eventLoopDelayMs: null, ...elsewhere }
const changed: LoadFacts = {
  ...load,
  skipped: 3,
  notRecorded: 12,
  workers: [
    { ...worker, worker: 1, startedMs: 100 },
    { ...worker, worker: 2, startedMs: 103, lost: true },
  ],
}
const render = (format: 'text' | 'markdown' | 'html', facts: LoadFacts) =>
  renderers[format]({ ...passingReport, load: facts }, page).slice(-1_600)

describe.each(['text', 'markdown', 'html'] as const)('the section about Turnpike itself, in %s', format => {
  test('has the system calls, the skipped arrivals, the gap of the recording, and each worker', () => {
    const section = render(format, changed)
    for (const words of [
      '621 sent, including 1 system call, 620 forecast',
      '0 dropped, 3 skipped for lack of credentials',
      '12 observations were judged but not recorded, because the disk was too slow',
      '2, started 3 ms apart',
      '6 callers, 60 sent, lateness p50 210 µs',
      'crashed; recovered: 6 callers, 60 sent',
    ])
      expect(section).toContain(words)
  })

  test('has the size of other machines, and which records are missing and where they are', () => {
    const size = { cores: 4, memoryBytes: 8 * 2 ** 30, rssBytes: 210e6, usedCores: 1.25 }
    const health = { name: 'w2', version: '1.0.0', node: '22.1.0', ...size }
    const records = { worker: 'w2', file: '/data/observations-2.ndjson.gz', missing: 'none arrived for 30 s' }
    const on = (missing: string | null): LoadFacts => ({
      ...load,
      workers: [
        { ...worker, worker: 1, startedMs: 100 },
        { ...worker, worker: 2, startedMs: 103, health, records: { ...records, missing } },
      ],
    })
    const section = render(format, on(records.missing))
    expect(section).toContain('1.3 of 4 cores, 210 MB of 8.59 GB, Node.js 22.1.0')
    expect(section).toContain('records not in the run directory (none arrived for 30 s), but on w2 in')
    expect(section).toContain('/data/observations-2.ndjson.gz')
    expect(render(format, on(null))).not.toContain('records not in')
  })

  test('leaves out what did not happen', () => {
    expect(render(format, load)).not.toMatch(/skipped|not recorded|worker|remote write/)
  })
})
