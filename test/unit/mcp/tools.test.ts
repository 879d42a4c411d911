import { mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createAllowance } from '../../../src/mcp/permissions.ts'
import type { Ended, RunProgram, ToolProgress } from '../../../src/mcp/tool.ts'
import { tools } from '../../../src/mcp/tools.ts'
import { failingReport, passingReport } from '../report/fixtures.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'turnpike-tools-')))

const ended = (changes: Partial<Ended> = {}): Ended => ({ code: 0, stdout: '{}', stderr: '', ...changes })

/** Calls a tool with a program that notes its arguments, prints these lines, and ends like this. */
function toolbox(
  result: (args: readonly string[]) => Ended,
  { capUsd = null as string | null, lines = [] as string[] } = {},
) {
  const started: (readonly string[])[] = []
  const progress: ToolProgress[] = []
  const program: RunProgram = async (args, { onLine }) => {
    started.push(args)
    for (const line of lines) onLine?.(line)
    return result(args)
  }
  const allowance = createAllowance({ capUsd, targets: [] })
  const io = { program, folder, allowance, newRunDirectory: () => 'runs/new' }
  const call = (name: string, given: unknown) => {
    const tool = tools.find(each => each.name === name)
    if (tool === undefined) throw new Error(name)
    return tool.call(given, {
      ...io,
      signal: new AbortController().signal,
      onProgress: each => void progress.push(each),
    })
  }
  return { started, progress, call }
}

const reportText = (report: typeof passingReport): string => JSON.stringify(report)

describe('the schema of a tool', () => {
  test.each(tools)('$name is an object without further members, and describes each member', ({ inputSchema }) => {
    const {
      type,
      properties = {},
      additionalProperties,
    } = inputSchema as {
      readonly type: string
      readonly properties?: Readonly<Record<string, { readonly description?: string; readonly items?: unknown }>>
      readonly additionalProperties: boolean
    }
    expect([type, additionalProperties]).toEqual(['object', false])
    for (const [name, each] of Object.entries(properties))
      if (name !== 'runDirectories' && name !== 'profile' && name !== 'number')
        expect([name, each.description]).toEqual([name, expect.any(String)])
  })

  test('only what sends is not read-only, and it requires a budget', () => {
    const sending = tools.filter(({ isReadOnly }) => !isReadOnly)
    expect(sending.map(({ name }) => name)).toEqual(['run', 'shrink_finding', 'diff'])
    for (const { inputSchema } of sending)
      expect(inputSchema).toMatchObject({ required: expect.arrayContaining(['budgetUsd']) })
  })
})

describe('a mistake', () => {
  const { call, started } = toolbox(() => ended())

  test.each([
    ['run', { scenario: 'smoke' }, 'run: got no "budgetUsd", expected the maximum that the run may spend in dollars'],
    ['run', { scenario: 'smoke', budgetUsd: 'unlimited' }, 'budgetUsd: got "unlimited", expected an amount of dollars'],
    ['run', { scenario: 'smoke', budgetUsd: 0 }, 'budgetUsd: got "0", expected an amount of dollars above 0'],
    ['run', { scenario: 'smoke', budgetUsd: true }, 'run.budgetUsd: got true, expected the maximum'],
    [
      'run',
      { scenario: '../x.yaml', budgetUsd: 1 },
      'scenario: got "../x.yaml", expected a path in the working directory',
    ],
    ['run', { scenario: 'smoke', budgetUsd: 1, profile: '/etc/passwd' }, 'profile: got "/etc/passwd", expected a path'],
    ['run', { scenario: 'smoke', budgetUsd: 1, topUp: 5 }, 'run.topUp: got "topUp", expected one of the keys'],
    ['plan', { scenario: 3 }, 'plan.scenario: got 3, expected a scenario file'],
    ['plan', { scenario: '--out=x' }, 'scenario: got "--out=x", expected a path'],
    [
      'plan',
      { scenario: 'smoke', target: 'https://api.example.com' },
      'target: got "https://api.example.com", expected a target on this machine',
    ],
    ['report', {}, 'report: got no "runDirectory", expected a run directory'],
    ['report', { runDirectory: '../other' }, 'runDirectory: got "../other", expected a path'],
    ['clauses', { runDirectories: ['/'] }, 'runDirectories: got "/", expected a path'],
    [
      'explain_finding',
      { runDirectory: 'runs/x', number: 0 },
      'explain_finding.number: got 0, expected a number of at least 1',
    ],
  ])('in %s %j is told, and starts nothing', async (name, given, message) => {
    await expect(call(name, given)).rejects.toThrow(message)
    expect(started).toEqual([])
  })
})

describe('run', () => {
  test('starts the program with a budget, without payments, and into its own directory', async () => {
    const { call, started } = toolbox(() => ended({ stdout: reportText(passingReport) }))
    const given = { scenario: 'smoke', budgetUsd: 0.0000005, target: 'http://127.0.0.1:1/v1', only: ['rpc'], seed: 7 }
    const { data, isError } = await call('run', given)
    expect(started).toEqual([
      [
        ...['run', 'smoke', '--target=http://127.0.0.1:1/v1', '--only=rpc', '--seed=7', '--budget-usd=0.0000005'],
        ...['--top-up=0', '--out=runs/new', '--format=json', '--log=json'],
      ],
    ])
    expect([data?.verdict, data?.runDirectory, isError]).toEqual(['pass', 'runs/new', false])
  })

  test('returns the verdict and the numbered findings of a run that fails, which is no error of the tool', async () => {
    const { call } = toolbox(() => ended({ code: 1, stdout: reportText(failingReport) }))
    const { data, isError } = await call('run', { scenario: 'smoke', budgetUsd: '1' })
    expect(isError).toBe(false)
    expect(data).toMatchObject({
      verdict: 'fail',
      findings: [{ number: 1, clause: failingReport.findings[0]?.clause }],
    })
  })

  test('passes on what the program says about a mistake, without its log', async () => {
    const stderr = '{"level":30,"msg":"note"}\nbudget: got $0.01, expected at least $0.07\n'
    const { call } = toolbox(() => ended({ code: 2, stdout: '', stderr }))
    expect(await call('run', { scenario: 'smoke', budgetUsd: '0.01' })).toEqual({
      text: 'budget: got $0.01, expected at least $0.07',
      data: null,
      isError: true,
    })
  })

  test('tells progress', async () => {
    const line = {
      elapsed_s: 3,
      remaining_s: 14,
      stage: 'steady',
      sent: 20,
      violations: 0,
      spent_usd: '0.0015',
      msg: 'progress',
    }
    const lines = [JSON.stringify({ msg: 'a note' }), JSON.stringify(line), 'no JSON']
    const { call, progress } = toolbox(() => ended({ stdout: reportText(passingReport) }), { lines })
    await call('run', { scenario: 'smoke', budgetUsd: '1' })
    expect(progress).toEqual([
      { elapsedS: 3, totalS: 17, message: 'Stage steady: 20 requests sent, 0 violations, $0.0015 spent' },
    ])
  })

  const left = async (result: Ended) => {
    const { call } = toolbox(() => result, { capUsd: '1' })
    await call('run', { scenario: 'smoke', budgetUsd: '1' })
    return await call('run', { scenario: 'smoke', budgetUsd: '1' }).then(
      () => 'all',
      cause => /at most \$([\d.]+),/.exec(cause.message)?.[1],
    )
  }
  const billing = { expectedUsd: '0.2', claimedUsd: '0.1', billedUsd: null }

  test.each([
    ['nothing, if nothing was sent', ended({ code: 2, stdout: '' }), 'all'],
    ['the whole budget, if the program crashed', ended({ code: 70, stdout: '' }), '0'],
    ['the whole budget, if it was killed', ended({ code: null, stdout: '{"verdict":' }), '0'],
    ['what was expected, if the target claims less', ended({ stdout: JSON.stringify({ billing }) }), '0.8'],
    [
      'what was billed, if that is more',
      ended({ stdout: JSON.stringify({ billing: { ...billing, billedUsd: '0.3' } }) }),
      '0.7',
    ],
  ])('counts against the cap %s', async (_, result, expected) => {
    expect(await left(result)).toBe(expected)
  })

  test('frees the place for the next run when the program cannot be started', async () => {
    const { call } = toolbox(args => {
      if (args.includes('--seed=1')) throw new Error('EAGAIN')
      return ended({ stdout: reportText(passingReport) })
    })
    await expect(call('run', { scenario: 'smoke', budgetUsd: '1', seed: 1 })).rejects.toThrow('EAGAIN')
    expect(await call('run', { scenario: 'smoke', budgetUsd: '1' })).toMatchObject({ isError: false })
  })
})

test('clauses lists those that match, by id or sentence', async () => {
  const clauses = [
    { id: 'rpc.id', text: 'The id is repeated.' },
    { id: 'header.date', text: 'Every RPC response has Date.' },
    { id: 'chat.id', text: 'An id.' },
  ]
  const { call } = toolbox(() => ended({ stdout: JSON.stringify({ clauses, exercised: 2 }) }))
  expect((await call('clauses', { match: 'RPC' })).data).toEqual({ clauses: clauses.slice(0, 2), exercised: 2 })
})

test('explain_finding shows the finding, and how to repeat it', async () => {
  const { call, started } = toolbox(args =>
    ended({ stdout: args.includes('--format=json') ? '{"number":2,"clause":"rpc.id"}' : 'FINDING 2' }),
  )
  expect(await call('explain_finding', { runDirectory: 'runs/a', number: 2 })).toEqual({
    text: 'FINDING 2',
    data: { number: 2, clause: 'rpc.id', repeat: 'npx turnpike findings runs/a 2 --repro' },
    isError: false,
  })
  expect(started).toEqual([
    ['findings', 'runs/a', '2', '--format=json'],
    ['findings', 'runs/a', '2'],
  ])
})

test('prove returns the score and what was not noticed', async () => {
  const survived = { kind: 'no-threshold', text: 'no threshold measures it' }
  const mutants = [
    { name: 'charged-twice', survived: null },
    { name: 'slower-by-half', survived },
  ]
  const suggestion = { yaml: ['thresholds:'], requests: 0, usd: '0', notices: ['slower-by-half'] }
  const suggestions = [{ addition: { calls: {} }, ...suggestion }]
  const { call, started } = toolbox(() =>
    ended({ code: 1, stdout: JSON.stringify({ verdict: 'fail', score: 0.5, mutants, suggestions }) }),
  )
  const { data, isError } = await call('prove', { scenario: 'smoke', only: ['billing.*'], seed: 3 })
  expect(started).toEqual([['prove', expect.any(String), '--only=billing.*', '--seed=3', '--format=json']])
  expect(isError).toBe(false)
  const notNoticed = [{ name: 'slower-by-half', survived }]
  expect(data).toEqual({ verdict: 'fail', score: 0.5, notNoticed, suggestions: [suggestion] })
  expect(await toolbox(() => ended({ code: 2, stdout: '' })).call('prove', { scenario: 'smoke' })).toMatchObject({
    isError: true,
  })
})

test('shrink_finding spends from the budget of all runs, and pays with no wallet', async () => {
  const shrunk = { name: 'rpc.batch.size', scenario: {}, spentUsd: '0.03' }
  const { call, started } = toolbox(() => ended({ stdout: JSON.stringify(shrunk) }), { capUsd: '0.05' })
  const given = { runDirectory: 'runs/one', number: 2, budgetUsd: '0.04' }
  expect((await call('shrink_finding', given)).data).toEqual(shrunk)
  expect(started).toEqual([
    [
      'shrink',
      expect.stringMatching(/runs.one$/),
      '2',
      '--budget-usd=0.04',
      '--max-time=5m',
      '--top-up=0',
      '--format=json',
    ],
  ])
  await expect(call('shrink_finding', given)).rejects.toThrow('at most $0.02, which is left of the $0.05 of all runs')
  const away = { ...given, target: 'https://api.example.com/v1', budgetUsd: '0.01' }
  await expect(call('shrink_finding', away)).rejects.toThrow('expected a target on this machine')
  expect(started).toHaveLength(1)
})

test('diff spends what both sides spent, and both must be allowed', async () => {
  const diff = { verdict: 'worse', old: { spentUsd: '0.01' }, new: { spentUsd: '0.02' } }
  const lines = ['10 of 60 s, stage steady. OLD: 5 sent.', 'OLD: a note']
  const { call, started, progress } = toolbox(() => ended({ code: 1, stdout: JSON.stringify(diff) }), {
    capUsd: '0.05',
    lines,
  })
  const [old, fresh] = ['http://127.0.0.1:1/v1', 'http://127.0.0.1:2/v1']
  const given = { old, new: fresh, scenario: 'smoke', margin: ['ttft=5%'], budgetUsd: '0.04' }
  expect(await call('diff', given)).toMatchObject({ data: { ...diff, runDirectory: 'runs/new' }, isError: false })
  const flags = ['smoke', '--margin=ttft=5%', '--budget-usd=0.04', '--out=runs/new', '--format=json']
  expect(started).toEqual([['diff', old, fresh, ...flags]])
  expect(progress).toEqual([{ elapsedS: 10, totalS: 60, message: 'stage steady. OLD: 5 sent.' }])
  await expect(call('diff', given)).rejects.toThrow('at most $0.02, which is left of the $0.05 of all runs')
  const away = 'https://api.example.com/v1'
  for (const sides of [{ old: away }, { new: away }])
    await expect(call('diff', { ...given, ...sides, budgetUsd: '0.01' })).rejects.toThrow('a target on this machine')
  expect(started).toHaveLength(1)
})
