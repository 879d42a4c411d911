import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { assertWritableDirectory, replaceFile, reserveRunDirectory } from '../../../src/storage/run-directory.ts'

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
    if (path.startsWith('/proc') && process.platform !== 'linux') return
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

describe('a file that is replaced', () => {
  const target = join(directory, 'replaced')
  /** Fails as often as told, and then renames. */
  const moving = (code: string, times: number) => {
    const state = { failures: 0 }
    const move: typeof rename = async (from, to) => {
      if (state.failures === times) return await rename(from, to)
      state.failures++
      throw Object.assign(new Error(code), { code })
    }
    return { state, move }
  }

  test.each(['EPERM', 'EBUSY', 'EACCES'])('is tried again while another program reads it: %s', async code => {
    const { state, move } = moving(code, 3)
    await replaceFile(target, code, move)
    expect([readFileSync(target, 'utf8'), state.failures]).toEqual([code, 3])
  })

  test('is given up if it stays so, and at once for another reason', async () => {
    const [busy, full] = [moving('EBUSY', 99), moving('ENOSPC', 99)]
    await expect(replaceFile(target, 'new', busy.move)).rejects.toThrow('EBUSY')
    await expect(replaceFile(target, 'new', full.move)).rejects.toThrow('ENOSPC')
    expect([busy.state.failures, full.state.failures]).toEqual([11, 1])
    expect(readFileSync(target, 'utf8')).not.toBe('new')
  })
})
