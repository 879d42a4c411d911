import { existsSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { UsageError } from '../../../src/lib/usage-error.ts'
import type { ReservedDirectory } from '../../../src/storage/run-directory.ts'
import { reserveTemporaryRecord } from '../../../src/storage/temporary-record.ts'

type Created = Parameters<ReservedDirectory['create']>

afterEach(() => vi.unstubAllEnvs())

test('a temporary record has a log for each worker, for this user only, and ends with its run', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-test-'))
  vi.stubEnv('TMPDIR', folder)
  const reserved = reserveTemporaryRecord()
  const { path, logs, write } = reserved.create({} as Created[0], 2)
  expect(logs.map(dirname)).toEqual([path, path])
  expect(dirname(path)).toBe(folder)
  expect(statSync(path).mode & 0o077).toBe(0)
  expect(await write({} as Parameters<typeof write>[0], {} as Parameters<typeof write>[1])).toEqual([])
  expect(readdirSync(path)).toEqual([])
  for (const log of logs) writeFileSync(log, '')
  reserved.release()
  expect(existsSync(path)).toBe(false)
  reserved.release()
})

test('a folder that is not there is a mistake', () => {
  vi.stubEnv('TMPDIR', '/no/such/folder')
  expect(reserveTemporaryRecord).toThrow(UsageError)
  expect(reserveTemporaryRecord).toThrow('expected a writable folder of temporary files')
})
