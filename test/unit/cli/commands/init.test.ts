import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { initCommand } from '../../../../src/cli/commands/init.ts'
import { draftPlan } from '../../../../src/cli/load-plan.ts'
import { UsageError } from '../../../../src/lib/usage-error.ts'
import { freshDirectory } from '../../../support/turnpike.ts'

const printed: string[] = []
beforeEach(() => {
  printed.length = 0
  vi.spyOn(process.stdout, 'write').mockImplementation(line => printed.push(`${line}`) > 0)
  vi.spyOn(process.stderr, 'write').mockReturnValue(true)
})
afterEach(() => void vi.restoreAllMocks())

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => !entry.isDirectory())
    .map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort()

const shared = ['.env.example', 'turnpike/profile.yaml', 'turnpike/scenario.yaml']

describe('turnpike init', () => {
  test.each([
    ['github', '.github/workflows/turnpike.yml', 'github-nightly.yml'],
    ['gitlab', '.gitlab-ci.yml', 'gitlab-ci.yml'],
    ['jenkins', 'Jenkinsfile', 'Jenkinsfile'],
  ])('writes a scenario, a profile, .env.example and the job for %s', async (ci, file, example) => {
    const folder = join(freshDirectory(), 'new', 'project')
    expect(await initCommand({ dir: folder, ci })).toBe(0)
    expect(filesIn(folder)).toEqual([...shared, file].sort())
    expect(readFileSync(join(folder, file), 'utf8')).toBe(readFileSync(`docs/examples/${example}`, 'utf8'))
    for (const each of [...shared, file]) expect(printed.join('')).toContain(`  ${each}\n`)
    expect(printed.join('')).toContain('npx turnpike plan turnpike/scenario.yaml')
  })

  test('writes no job if none is wanted', async () => {
    const folder = freshDirectory()
    await initCommand({ dir: folder, ci: 'none' })
    expect(filesIn(folder)).toEqual(shared)
  })

  test('writes a scenario that can be planned, within its budget and its limits', async () => {
    const folder = freshDirectory()
    await initCommand({ dir: folder })
    const { plan, profile } = await draftPlan(join(folder, 'turnpike/scenario.yaml'), {})
    expect(profile).toBe(join(folder, 'turnpike/profile.yaml'))
    expect(Number(plan.forecast.worstUsd)).toBeLessThan(Number(plan.budgetUsd) / 2)
    expect(plan.forecast.limits.filter(({ perMinute, limit }) => perMinute > limit)).toEqual([])
    // One key for each caller.
    const keys = /^TURNPIKE_KEYS=(.*)$/m.exec(readFileSync(join(folder, '.env.example'), 'utf8'))?.[1]
    expect(keys?.split(',')).toHaveLength(plan.callers.names.length)
  })

  test('names a schema that is in the package', () => {
    const [first = ''] = readFileSync('docs/examples/scenario.yaml', 'utf8').split('\n')
    const path = /^# yaml-language-server: \$schema=\.\.\/node_modules\/turnpike\/(.*)$/.exec(first)?.[1]
    expect(JSON.parse(readFileSync(path ?? '', 'utf8'))).toMatchObject({ type: 'object' })
  })
})

describe('turnpike init overwrites nothing', () => {
  test('and lists every file that exists', async () => {
    const folder = freshDirectory()
    writeFileSync(join(folder, '.env.example'), 'mine')
    mkdirSync(join(folder, 'turnpike'))
    // A link that leads nowhere is a file too.
    symlinkSync('nowhere', join(folder, 'turnpike/profile.yaml'))
    const mistake = await initCommand({ dir: folder }).catch(cause => cause)
    expect(mistake).toBeInstanceOf(UsageError)
    expect(mistake.message).toBe(
      `init: got existing files: ${folder}/turnpike/profile.yaml, ${folder}/.env.example, expected a folder without these files; nothing was written; move them away, or name another folder: turnpike init <dir>`,
    )
    expect(filesIn(folder)).toEqual(['.env.example', 'turnpike/profile.yaml'])
    expect(readFileSync(join(folder, '.env.example'), 'utf8')).toBe('mine')
    expect(printed).toEqual([])
  })

  test('nor writes anything where a file stands in place of a folder', async () => {
    const folder = freshDirectory()
    writeFileSync(join(folder, '.github'), '')
    await expect(initCommand({ dir: folder })).rejects.toThrow(`got existing files: ${folder}/.github, expected`)
    await expect(initCommand({ dir: join(folder, '.github') })).rejects.toThrow(UsageError)
    expect(filesIn(folder)).toEqual(['.github'])
  })

  test.skipIf(process.platform === 'win32')('and says what it may not create', async () => {
    await expect(initCommand({ dir: '/proc/none' })).rejects.toThrow('/proc/none/turnpike/scenario.yaml: got E')
  })
})

describe('turnpike init --target writes nothing', () => {
  test('if nobody answers', async () => {
    const folder = freshDirectory()
    const mistake = await initCommand({ dir: folder, target: 'http://127.0.0.1:1/v1' }).catch(cause => cause)
    expect(mistake).toBeInstanceOf(UsageError)
    expect(mistake.message).toBe(
      '--target: got http://127.0.0.1:1/v1, expected a target that can be learned; nothing was written; Nothing was learned from http://127.0.0.1:1/v1: no response could be read (connect-refused: no program listens at this address).',
    )
    expect(filesIn(folder)).toEqual([])
  })

  test.each([
    [
      'to a folder with such files, and asks nothing',
      { target: 'http://127.0.0.1:1/v1' },
      /^init: got existing files: /,
    ],
    ['with a budget and no target', { 'budget-usd': '1' }, /^--budget-usd: got 1, expected --target with it, since/],
    ['for an address that is none', { dir: 'none', target: 'x' }, /^--target: got "x"/],
    [
      'for a target elsewhere without a budget',
      { dir: 'none', target: 'https://x.test' },
      /^--budget-usd: got nothing/,
    ],
  ])('%s', async (_, values, says) => {
    const folder = freshDirectory()
    writeFileSync(join(folder, '.env.example'), 'mine')
    const dir = 'dir' in values ? join(folder, values.dir) : folder
    await expect(initCommand({ ...values, dir })).rejects.toThrow(says)
    expect(filesIn(folder)).toEqual(['.env.example'])
  })
})
