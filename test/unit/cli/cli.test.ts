import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { runCli } from '../../../src/cli/cli.ts'
import { commands } from '../../../src/cli/commands.ts'
import { exitCodes, number, text, texts, version } from '../../../src/cli/flags.ts'
import { exitCodeOf } from '../../../src/cli/print.ts'
import { UsageError } from '../../../src/lib/usage-error.ts'
import type { Report } from '../../../src/report/document.ts'

const said: string[] = []
beforeEach(() => {
  said.length = 0
  vi.stubEnv('LC_ALL', 'en_US.UTF-8')
  vi.spyOn(console, 'log').mockImplementation(line => void said.push(`${line}\n`))
  vi.spyOn(process.stdout, 'write').mockImplementation(line => said.push(`${line}`) > 0)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

const names = commands.map(({ usage }) => usage.split(' ')[0] ?? '')

describe('--help', () => {
  test('lists every command, and the exit codes', async () => {
    expect(await runCli(['--help'])).toBe(exitCodes.pass)
    await expect(said.join('')).toMatchFileSnapshot('./help.txt')
  })

  test.each(names)('of %s lists every flag and argument of it', async name => {
    expect(await runCli([name, '--help'])).toBe(exitCodes.pass)
    const command = commands.find(({ usage }) => usage.split(' ')[0] === name)
    for (const flag of Object.keys(command?.flags ?? {})) expect(said.join('')).toContain(`--${flag}`)
    for (const [argument, { describe: what }] of Object.entries(command?.arguments ?? {})) {
      expect(said.join('')).toContain(argument)
      expect(said.join('')).toContain(what)
    }
  })
})

test('--version is that of the package', async () => {
  await runCli(['--version'])
  expect(said.join('').trim()).toBe(version)
  expect(version).toMatch(/^\d+\.\d+\.\d+/)
})

describe('a mistake on the command line', () => {
  test.each([
    ['no command', [], 'Name a command'],
    ['an unknown command', ['rum'], 'rum'],
    ['an unknown flag', ['clauses', '--sead', '3'], 'sead'],
    ['a missing argument', ['report'], 'Not enough non-option arguments'],
    ['a format that there is not', ['report', 'x', '--format', 'pdf'], 'pdf'],
    ['an argument too many', ['schema', 'x'], 'x'],
  ])('is a usage error: %s', async (_, args, words) => {
    const mistake = await runCli(args).catch(cause => cause)
    expect(mistake).toBeInstanceOf(UsageError)
    expect(mistake.message).toContain(words)
    expect(said).toEqual([])
  })
})

describe('the exit code of a report', () => {
  const reportOf = (verdict: Report['verdict'], ended: Report['run']['ended']): Report =>
    ({ verdict, run: { ended } }) as Report

  test.each([
    ['pass', 'complete', 0],
    ['fail', 'complete', 1],
    ['inconclusive', 'complete', 3],
    ['inconclusive', 'target-unreachable', 3],
    ['inconclusive', 'unauthorized', 3],
    ['fail', 'budget-reached', 1],
    ['pass', 'interrupted', 130],
    ['fail', 'interrupted', 130],
    ['fail', 'truncated', 1],
  ] as const)('of %s, %s, is %i', (verdict, ended, code) => {
    expect(exitCodeOf(reportOf(verdict, ended))).toBe(code)
  })

  test('is one of those that --help lists', async () => {
    await runCli(['--help'])
    for (const code of Object.values(exitCodes)) expect(said.join('')).toMatch(new RegExp(`\\b${code}\\s`))
  })
})

describe('the table of commands', () => {
  test('has no two commands of one name', () => {
    expect(new Set(names).size).toBe(names.length)
  })

  test('says what each command, argument and flag is for', () => {
    const flags = commands.flatMap(command => Object.values({ ...command.flags, ...command.arguments }))
    expect([...commands, ...flags].filter(({ describe: what }) => !/^[A-Z]/.test(what))).toEqual([])
  })

  test('works: schema prints a JSON Schema, and clauses the clauses', async () => {
    expect(await runCli(['schema'])).toBe(0)
    expect(JSON.parse(said.join(''))).toMatchObject({ type: 'object' })
    said.length = 0
    expect(await runCli(['clauses'])).toBe(0)
    expect(said.join('')).toContain('rpc.batch.error-price')
  })
})

test('the value of a flag is read as what it is, and nothing else', () => {
  const values = { seed: 7, profile: 'p.yaml', lie: ['a', 'b'], one: 'a' }
  expect([text(values, 'profile'), text(values, 'seed'), text(values, 'absent')]).toEqual(['p.yaml', null, null])
  expect([number(values, 'seed'), number(values, 'profile')]).toEqual([7, null])
  expect([texts(values, 'lie'), texts(values, 'one'), texts(values, 'absent')]).toEqual([['a', 'b'], ['a'], []])
})
