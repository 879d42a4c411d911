import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { UsageError } from '../../../src/lib/usage-error.ts'
import { assertOptions, type RunOptions, withOptionNames } from '../../../src/library/options.ts'
import { runScenario } from '../../../src/library/run-scenario.ts'
import { tableUnder } from '../../support/markdown.ts'

const messageOf = (options: unknown): string => {
  try {
    assertOptions(options as RunOptions)
    return ''
  } catch (cause) {
    expect(cause).toBeInstanceOf(UsageError)
    return (cause as UsageError).message
  }
}

const all: Required<RunOptions> = {
  ...{ target: 'http://127.0.0.1:1', keys: ['one', ['two', 'three']], walletKeys: ['0x1'], budgetUsd: 0.5 },
  ...{ topUpUsd: '1', profile: 'openai-compatible', limitsFrom: 'documented', only: ['chat.*'], seed: 1 },
  ...{
    workers: 2,
    warmUp: false,
    failFast: true,
    until: 'decided',
    baselines: ['runs/a'],
    minEffect: 0.1,
    noiseFloor: 0,
  },
  ...{ directory: 'runs/b', signal: new AbortController().signal, onProgress: () => {}, onNote: () => {} },
}

describe('the options of a run', () => {
  test('are all optional, and may be undefined', () => {
    expect(messageOf({})).toBe('')
    expect(messageOf({ target: undefined, keys: undefined, signal: undefined })).toBe('')
    expect(messageOf(all)).toBe('')
  })

  test('are all on the page of the library', () => {
    const rows = tableUnder(readFileSync('docs/library.md', 'utf8'), 'Options')
    const named = rows.flatMap(({ Option = '' }) => Option.split(', ').map(name => name.replaceAll('`', '')))
    expect(named.toSorted()).toEqual(Object.keys(all).toSorted())
  })

  test.each<readonly [options: unknown, message: RegExp]>([
    [{ budgetUSD: 1 }, /^options\.budgetUSD: got "budgetUSD", .*did you mean "budgetUsd"\?$/],
    [{ target: 8402 }, /^options\.target: got 8402, expected a text$/],
    [{ workers: '2' }, /^options\.workers: got "2"/],
    [{ limitsFrom: 'documentd' }, /did you mean "documented"\?$/],
    [{ onProgress: 1 }, /^options\.onProgress: got 1, expected a function$/],
    [{ signal: {} }, /^options\.signal: got an empty mapping, expected an AbortSignal$/],
    [{ keys: [] }, /^options\.keys: .*expected a list of keys, at least one$/],
    [{ directory: '' }, /^options\.directory: /],
    [{ minEffect: 5 }, /^options\.minEffect: got 5, expected a ratio from 0\.001 to 0\.5$/],
    [null, /^options: got an empty value, expected an object of options$/],
  ])('%j is refused', (options, message) => {
    expect(messageOf(options)).toMatch(message)
  })

  test.each([[['hush hush']], ['hush-hush'], [[['hush,hush']]], [{ hush: 1 }]])('keys are never shown: %j', keys => {
    const message = messageOf({ keys })
    expect(message).toMatch(/^options\.keys/)
    expect(message).not.toContain('hush')
  })
})

describe('mistakes in terms of flags', () => {
  test('name the options of the library', async () => {
    const mistake = { where: '--budget-usd', got: 'nothing', expected: 'a budget', hint: 'to allow it, add --target x' }
    const out = {
      where: 'runs/a',
      got: 'a file',
      expected: 'a writable directory',
      hint: 'name another one with --out',
    }
    const failing = withOptionNames(async () => {
      throw new UsageError([mistake, out])
    })
    await expect(failing).rejects.toThrow(
      'budgetUsd: got nothing, expected a budget; to allow it, add target x\nruns/a: got a file, expected a writable directory; name another one with directory',
    )
    await expect(failing).rejects.toBeInstanceOf(UsageError)
  })

  test('name the variables of keys, unless options replace them', async () => {
    const mistake = { where: 'TURNPIKE_KEYS', got: '1 key', expected: '3' }
    const failing = async () => {
      throw new UsageError(mistake)
    }
    await expect(withOptionNames(failing)).rejects.toThrow('TURNPIKE_KEYS: got 1 key')
    await expect(withOptionNames(failing, { walletKeys: ['a'] })).rejects.toThrow('TURNPIKE_KEYS: got 1 key')
    await expect(withOptionNames(failing, { keys: ['a'] })).rejects.toThrow('keys: got 1 key')
  })

  test('leave other words, values and errors as they are', async () => {
    const failing = (cause: unknown) =>
      withOptionNames(async () => {
        throw cause
      })
    await expect(failing(new UsageError({ where: 'a--b', got: '"x--y"', expected: 'z' }))).rejects.toThrow(
      'a--b: got "x--y", expected z',
    )
    const bug = new TypeError('--out')
    await expect(failing(bug)).rejects.toBe(bug)
    expect(await withOptionNames(async () => 3)).toBe(3)
  })
})

describe('a run of the library says what is missing', () => {
  test('for what is no scenario', async () => {
    await expect(runScenario(42 as never)).rejects.toThrow('scenario: got 42, expected a scenario, or the path of one')
  })

  test.each([{ keys: ['one'] }, { walletKeys: ['0x1'] }])('for keys that no target gets: %j', async options => {
    await expect(runScenario('test/e2e/short.yaml', options)).rejects.toThrow(
      `${Object.keys(options)[0]}: got keys without a target, expected a target that they belong to, since the service that a run starts has its own keys`,
    )
  })
})
