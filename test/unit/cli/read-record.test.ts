import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { wholeRecord } from '../../../src/cli/read-record.ts'
import { anObservation } from '../metrics/fixtures.ts'

async function kindsIn(lines: readonly unknown[]): Promise<readonly string[]> {
  const file = join(mkdtempSync(join(tmpdir(), 'turnpike-test-')), 'observations.ndjson.gz')
  writeFileSync(file, gzipSync(lines.map(line => `${JSON.stringify(line)}\n`).join('')))
  const kinds: string[] = []
  for await (const { kind } of wholeRecord([file])) kinds.push(kind)
  return kinds
}

const head = { turnpike: 1, runId: 'r', version: '0', target: 'http://t', startedAtMs: 0 }

test('a record is read as far as it goes, with or without an end', async () => {
  expect(await kindsIn([head, anObservation(), { ended: 'complete', durationMs: 1 }])).toEqual([
    'head',
    'observation',
    'end',
  ])
  expect(await kindsIn([head, anObservation()])).toEqual(['head', 'observation'])
})

test('a record that leaves something out is refused, with how much', async () => {
  await expect(kindsIn([head, anObservation(), { leftOut: 12 }])).rejects.toThrow(
    'got a record that leaves out 12 observations, for the disk did not keep up, expected a whole one',
  )
})
