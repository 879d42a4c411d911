import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { assertWritableDirectory, reserveRunDirectory } from '../../../src/storage/run-directory.ts'

const directory = mkdtempSync(join(tmpdir(), 'turnpike-directories-'))
afterAll(() => rmSync(directory, { recursive: true }))
const file = join(directory, 'file')
writeFileSync(file, 'x')

describe.each([
  ['a directory for a comparison', assertWritableDirectory],
  ['a directory for a run', (path: string) => reserveRunDirectory(path, documentedContract).release()],
])('%s', (_, assertUsable) => {
  test('is accepted, and nothing is left of the attempt', () => {
    const empty = join(directory, 'empty')
    mkdirSync(empty, { recursive: true })
    assertUsable(empty)
    expect(readdirSync(empty)).toEqual([])
    assertUsable(join(directory, 'new', 'deep'))
    expect(existsSync(join(directory, 'new'))).toBe(false)
  })

  test.each([
    [file, 'got a file, expected a writable directory; name another one with --out'],
    [join(file, 'x', 'y'), 'got a path below a file, expected a writable directory; name another one with --out'],
    [join(directory, 'x'.repeat(300)), 'got ENAMETOOLONG: name too long, expected a writable directory'],
    ['/proc/self/turnpike', 'got ENOENT: no such file or directory, expected a writable directory'],
  ])('is refused: %s', (path, message) => {
    expect(() => assertUsable(path)).toThrow(message)
    expect(readdirSync(directory)).not.toContain('x')
  })
})

test('a comparison may replace an older one, so its directory need not be empty', () => {
  const used = join(directory, 'used')
  mkdirSync(used)
  writeFileSync(join(used, 'comparison.json'), '{}')
  assertWritableDirectory(used)
  expect(readdirSync(used)).toEqual(['comparison.json'])
})
