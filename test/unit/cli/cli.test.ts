import { stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { checkArguments, commandOf } from '../../../src/cli/check-arguments.ts'
import { runCli } from '../../../src/cli/cli.ts'
import { commands } from '../../../src/cli/commands.ts'
import { exitCodes, failCodeOf, listFlag, number, text, version } from '../../../src/cli/flags.ts'
import { commandHelp, mainHelp } from '../../../src/cli/help.ts'
import { exitCodeOf } from '../../../src/cli/print.ts'
import { UsageError } from '../../../src/lib/usage-error.ts'
import type { Report } from '../../../src/report/document.ts'
import { freshDirectory } from '../../support/turnpike.ts'

const printed: string[] = []
beforeEach(() => {
  printed.length = 0
  vi.stubEnv('LC_ALL', 'en_US.UTF-8')
  vi.spyOn(console, 'log').mockImplementation(line => void printed.push(`${line}\n`))
  vi.spyOn(process.stdout, 'write').mockImplementation(line => printed.push(`${line}`) > 0)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

const names = commands.map(({ usage }) => usage.split(' ')[0] ?? '')

const assertAccepted = ([name = '', ...rest]: readonly string[]) =>
  checkArguments(rest, commandOf(name, commands), commands)

describe('--help', () => {
  test('lists every command and exit code', async () => {
    expect(await runCli(['--help'])).toBe(exitCodes.pass)
    await expect(printed.join('')).toMatchFileSnapshot('./help.txt')
  })

  test.each(names)('of %s lists every flag and argument', async name => {
    expect(await runCli([name, '--help'])).toBe(exitCodes.pass)
    const command = commands.find(({ usage }) => usage.split(' ')[0] === name)
    for (const flag of Object.keys(command?.flags ?? {})) expect(printed.join('')).toContain(`--${flag}`)
    for (const [argument, { describe: what }] of Object.entries(command?.arguments ?? {})) {
      expect(printed.join('')).toContain(argument)
      expect(printed.join('')).toContain(what)
    }
  })
})

test.each([['--version'], ['-v'], ['run', '-v'], ['plan', 'x', '--version']])(
  '%s %s %s prints the version of the package',
  async (...args) => {
    expect(await runCli(args)).toBe(exitCodes.pass)
    expect(printed.join('')).toBe(`${version}\n`)
    expect(version).toMatch(/^\d+\.\d+\.\d+/)
  },
)

test.each([60, 80, 100, 200])('help fits a terminal of %i columns, and no line is longer than 100', columns => {
  const pages = [mainHelp(commands, columns), ...commands.map(command => commandHelp(command, columns))]
  expect(
    pages
      .join('\n')
      .split('\n')
      .filter(line => line.length > Math.min(columns, 100)),
  ).toEqual([])
})

describe.each([[['clauses']], [['service', '--list-lies']], [['plan', 'smoke']], [['init', '$DIR']]])(
  'what turnpike %j prints',
  args => {
    const printedAt = async (columns: number) => {
      const terminal = { isTTY: true, columns }
      const before = Object.entries(terminal).map(
        ([name]) => [name, Object.getOwnPropertyDescriptor(process.stdout, name)] as const,
      )
      for (const [name, value] of Object.entries(terminal))
        Object.defineProperty(process.stdout, name, { value, configurable: true })
      printed.length = 0
      try {
        expect(await runCli(args.map(word => word.replace('$DIR', freshDirectory())))).toBe(exitCodes.pass)
      } finally {
        for (const [name, was] of before) {
          if (was === undefined) Reflect.deleteProperty(process.stdout, name)
          else Object.defineProperty(process.stdout, name, was)
        }
      }
      return stripVTControlCharacters(printed.join('')).split('\n')
    }

    test.each([80, 200])('fits a terminal of %i columns', async columns => {
      const lines = await printedAt(columns)
      expect(lines.filter(line => line.length > columns)).toEqual([])
    })
  },
)

test.each([[['-h']], [['help']], [['--help', 'run']]])('%j prints the help', async args => {
  expect(await runCli(args)).toBe(exitCodes.pass)
  expect(printed.join('')).toContain('Commands:')
})

test.each([[['run', '-h']], [['help', 'run']], [['run', 'x', '--seed', '--help']], [['run', '--tagret', 'x', '-h']]])(
  '%j prints the help of the command, with examples',
  async args => {
    expect(await runCli(args)).toBe(exitCodes.pass)
    expect(printed.join('')).toContain('--target')
    expect(printed.join('')).toContain('  turnpike run smoke\n')
  },
)

test('each example of --help is a valid command line', () => {
  const examples = commands.flatMap(command => command.examples ?? [])
  expect(examples.length).toBeGreaterThan(8)
  for (const [line] of examples) {
    const args = (line.replace(/ > \S+$/, '').match(/"[^"]*"|[^ ]+/g) ?? []).map(word => word.replaceAll('"', ''))
    expect(() => assertAccepted(args), line).not.toThrow()
  }
})

test('no command prints the help to stderr, and is a usage error', async () => {
  const said: string[] = []
  vi.spyOn(process.stderr, 'write').mockImplementation(text => said.push(`${text}`) > 0)
  expect(await runCli([])).toBe(exitCodes.usage)
  expect(said.join('')).toContain('First steps:\n  turnpike run smoke')
  expect(printed).toEqual([])
})

test('arguments before, between and after flags are accepted if they are together', () => {
  for (const args of [
    'run a b --quiet',
    'run --quiet a b',
    'run --seed 1 a b --quiet',
    'run a --baseline b --baseline c',
  ])
    expect(() => assertAccepted(args.split(' ')), args).not.toThrow()
})

describe('a mistake on the command line', () => {
  test.each([
    ['an unknown command', ['rum'], 'rum'],
    ['an unknown flag', ['clauses', '--sead', '3'], 'sead'],
    ['a missing argument', ['report'], 'turnpike report: got nothing, expected a run directory'],
    ['an unknown format', ['report', 'x', '--format', 'pdf'], 'pdf'],
    ['an extra argument', ['schema', 'x'], 'x'],
  ])('is a usage error: %s', async (_, args, words) => {
    const mistake = await runCli(args).catch(cause => cause)
    expect(mistake).toBeInstanceOf(UsageError)
    expect(mistake.message).toContain(words)
    expect(printed).toEqual([])
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
  ] as const)('for %s, %s is %i', (verdict, ended, code) => {
    expect(exitCodeOf(reportOf(verdict, ended))).toBe(code)
  })

  test.each([
    [{}, 1],
    [{ 'fail-code': 1 }, 1],
    [{ 'fail-code': 4 }, 4],
    [{ 'fail-code': 99 }, 99],
    [{ 'fail-code': 125 }, 125],
  ])('of a run that fails with %j is %i', (values, code) => {
    expect(failCodeOf(values)).toBe(code)
  })

  test.each([0, 2, 3, 70, 126, 130, 256, -1, 1.5, Number.NaN])('cannot become %d, which means something else', code => {
    expect(() => failCodeOf({ 'fail-code': code })).toThrow('expected 1, or a whole number from 4 to 125 without 70')
  })

  test('is in the list of --help', async () => {
    await runCli(['--help'])
    for (const code of Object.values(exitCodes)) expect(printed.join('')).toMatch(new RegExp(`\\b${code}\\s`))
  })
})

describe('the table of commands', () => {
  test('has another code for a failure wherever a verdict decides about a version of a service or a scenario', () => {
    const having = commands.filter(({ flags }) => 'fail-code' in flags).map(({ usage }) => usage.split(' ')[0])
    expect(having).toEqual(['run', 'attach', 'prove', 'diff', 'compare'])
  })

  test('has unique names', () => {
    expect(new Set(names).size).toBe(names.length)
  })

  test('describes each command, argument and flag with at most 60 characters', () => {
    const flags = commands.flatMap(command => Object.values({ ...command.flags, ...command.arguments }))
    expect([...commands, ...flags].filter(({ describe: what }) => !/^[A-Z].{0,59}$/.test(what))).toEqual([])
  })

  test('runs the commands: schema prints a JSON Schema, and clauses the clauses', async () => {
    expect(await runCli(['schema'])).toBe(0)
    expect(JSON.parse(printed.join(''))).toMatchObject({ type: 'object' })
    printed.length = 0
    expect(await runCli(['clauses'])).toBe(0)
    expect(printed.join('')).toContain('rpc.batch.error-price')
  })
})

test('text, number and listFlag read only values of their type', () => {
  const values = { seed: 7, profile: 'p.yaml', lie: ['a', 'b'], one: 'a' }
  expect([text(values, 'profile'), text(values, 'seed'), text(values, 'absent')]).toEqual(['p.yaml', null, null])
  expect([number(values, 'seed'), number(values, 'profile')]).toEqual([7, null])
  expect([listFlag(values, 'lie'), listFlag(values, 'one'), listFlag(values, 'absent')]).toEqual([
    ['a', 'b'],
    ['a'],
    [],
  ])
})

describe('a flag that the parser would guess about', () => {
  const argumentsOf = (usage: string) =>
    usage
      .split(/[<[]/)
      .slice(1)
      .map(() => 'x')
  const flags = commands.flatMap(({ usage, flags: of }) =>
    Object.entries(of).map(([name, flag]) => ({ command: usage.split(' ')[0] ?? '', usage, name, flag })),
  )
  const sample = ({ type, choices }: (typeof flags)[number]['flag']) =>
    choices?.[0] ?? (type === 'number' ? '1' : type === 'boolean' ? 'true' : 'x')
  const mistakeOf = async (args: readonly string[]): Promise<string> => {
    const mistake = await runCli(args).catch(cause => cause)
    expect(mistake).toBeInstanceOf(UsageError)
    expect(printed).toEqual([])
    return mistake.message
  }

  test.each(flags.filter(({ flag }) => flag.array !== true))('$command --$name is refused twice', async of => {
    const { command, usage, name, flag } = of
    const once = `--${name}=${sample(flag)}`
    const message = await mistakeOf([command, ...argumentsOf(usage), once, `--${name}`, sample(flag)])
    expect(message).toBe(`--${name}: got the flag twice, expected the flag once`)
  })

  test.each(flags.filter(({ flag }) => flag.type !== 'boolean'))('$command --$name needs a value', async of => {
    const { command, usage, name } = of
    for (const given of [[`--${name}=`], [`--${name}`, ''], [`--${name}`]])
      expect(await mistakeOf([command, ...argumentsOf(usage), ...given])).toMatch(
        new RegExp(`^--${name}: got ("|nothing)`),
      )
  })

  test.each(flags.filter(({ flag }) => flag.type === 'number'))('$command --$name takes plain numbers', async of => {
    const { command, usage, name } = of
    for (const given of ['1e400', '1e3', 'NaN', 'Infinity', '0x10', 'many', '1,5'])
      expect(await mistakeOf([command, ...argumentsOf(usage), `--${name}`, given])).toBe(
        `--${name}: got "${given}", expected a plain number`,
      )
  })

  test.each([
    [['run', 'x', '--quiet', '--no-quiet'], '--quiet: got the flag twice'],
    [['run', 'x', '--no-progress=1'], '--no-progress: got "1"'],
    [['run', 'x', '--quiet=maybe'], '--quiet: got "maybe"'],
    [['run', 'x', '--no-budget-usd'], 'did you mean "--budget-usd"?'],
    [['run', 'x', '--budgetUsd', '1'], 'did you mean "--budget-usd"?'],
    [['run', 'x', '--targe', 'http://127.0.0.1'], 'did you mean "--target"?'],
    [['run', 'x', '-q'], 'command line: got "-q"'],
    [['run', 'x', '--__proto__', '1'], 'command line: got "--__proto__"'],
    [['run', '--', 'x'], 'command line: got "--"'],
    [['--quiet', 'run', 'x'], 'got "--quiet" before a command'],
  ])('%j is refused', async (args, words) => {
    expect(await mistakeOf(args)).toContain(words)
  })
})
