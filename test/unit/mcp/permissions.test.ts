import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createAllowance, pathInside } from '../../../src/mcp/permissions.ts'

const elsewhere = 'https://api.example.com/v1'

describe('without a cap', () => {
  const allowance = createAllowance({ capUsd: null, targets: [] })

  test.each(['http://127.0.0.1:8000/v1', 'http://localhost:1/', 'http://[::1]:8402/api/v1'])(
    '%s may be named',
    target => {
      allowance.assertTarget(target)
    },
  )

  test.each([elsewhere, 'http://127.0.0.1@api.example.com/v1', 'http://localhost.example.com', 'http://192.168.0.1'])(
    '%s may not',
    target => {
      expect(() => allowance.assertTarget(target)).toThrow(
        /^target: got .*, expected a target on this machine; to allow it/,
      )
    },
  )

  test('a run needs only its own budget', () => {
    allowance.reserve('10000').settle('10000')
    allowance.reserve('10000').settle(null)
    allowance.reserve('10000').settle('0')
  })
})

test('a target that the server names may be named, and no other', () => {
  const allowance = createAllowance({ capUsd: '1', targets: [elsewhere] })
  allowance.assertTarget(elsewhere)
  expect(() => allowance.assertTarget('https://api.example.com/v2')).toThrow(
    `expected a target on this machine or ${elsewhere}`,
  )
})

test.each(['api.example.com/v1', 'ftp://api.example.com', ''])('%j is not a target', target => {
  expect(() => createAllowance({ capUsd: '1', targets: [target] })).toThrow(
    /^--target: got .*, expected an http or https/,
  )
})

test('a target elsewhere needs a cap', () => {
  expect(() => createAllowance({ capUsd: null, targets: [elsewhere] })).toThrow(
    '--budget-usd: got nothing, expected a budget for all runs, because of --target',
  )
})

test.each(['', '0', '0.000', '-1', 'unlimited', '1e3', '$1', 'Infinity', '1,5'])(
  '%j is no cap and no budget',
  amount => {
    expect(() => createAllowance({ capUsd: amount, targets: [] })).toThrow(
      `--budget-usd: got ${JSON.stringify(amount)}, expected an amount of dollars above 0, such as 0.50`,
    )
    expect(() => createAllowance({ capUsd: '1', targets: [] }).reserve(amount)).toThrow(
      `budgetUsd: got ${JSON.stringify(amount)}, expected an amount of dollars above 0, such as 0.50`,
    )
  },
)

describe('a cap of $1', () => {
  const withCap = () => createAllowance({ capUsd: '1', targets: [] })

  test('refuses a larger budget, and then allows one that fits', () => {
    const allowance = withCap()
    expect(() => allowance.reserve('1.01')).toThrow(
      'budgetUsd: got $1.01, expected at most $1, which is left of the $1 of all runs',
    )
    allowance.reserve('1').settle('0')
  })

  test('counts what each run has spent, exactly', () => {
    const allowance = withCap()
    allowance.reserve('0.5').settle('0.1')
    allowance.reserve('0.5').settle('0.2')
    expect(() => allowance.reserve('0.700000000001')).toThrow('at most $0.7,')
    allowance.reserve('0.7').settle('0.7')
    expect(() => allowance.reserve('0.01')).toThrow('at most $0,')
  })

  test('counts the whole budget of a run that has told nothing', () => {
    const allowance = withCap()
    allowance.reserve('0.75').settle(null)
    expect(() => allowance.reserve('0.26')).toThrow('at most $0.25,')
  })

  test('lets one run go at a time', () => {
    const allowance = withCap()
    const first = allowance.reserve('0.1')
    expect(() => allowance.reserve('0.1')).toThrow(
      'run: got a second run, expected one run at a time, since two would disturb each other',
    )
    first.settle('0')
    allowance.reserve('0.1')
  })
})

const outside = realpathSync(mkdtempSync(join(tmpdir(), 'turnpike-inside-')))
const folder = join(outside, 'project')
mkdirSync(join(folder, 'runs/one'), { recursive: true })
mkdirSync(join(outside, 'project-two'))
writeFileSync(join(outside, 'secret.yaml'), '')
symlinkSync(outside, join(folder, 'up'))
symlinkSync(join(folder, 'runs'), join(folder, 'own'))
symlinkSync(folder, join(outside, 'linked'))

test.each([
  'runs/one',
  './runs/one',
  'runs/../runs/one',
  'runs/not-there/yet',
  'smoke',
  'own/one',
  '.',
  join(folder, 'runs'),
])('%s is inside', path => {
  expect(pathInside(folder, path, 'x')).toBe(path)
})

test.each([
  ...['..', '../secret.yaml', 'runs/../../secret.yaml', 'up', 'up/secret.yaml', 'up/not-there', '/etc/passwd'],
  ...['../project-two', '../project-two/new', '--out=/tmp/x', '-v', 'a\0b'],
])('%j is not', path => {
  expect(() => pathInside(folder, path, 'runDirectory')).toThrow(
    `runDirectory: got ${JSON.stringify(path)}, expected a path in the working directory, ${folder}`,
  )
})

test('a folder that is reached by a link has the same inside', () => {
  expect(pathInside(join(outside, 'linked'), 'runs/one', 'x')).toBe('runs/one')
  expect(() => pathInside(join(outside, 'linked'), '../secret.yaml', 'x')).toThrow('x: got')
})
