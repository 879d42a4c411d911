import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { todays } from '../support/nightly.ts'
import { endOf } from '../support/shell.ts'
import { freshDirectory, serveForTest } from '../support/turnpike.ts'

type Step = {
  readonly name: string
  readonly id?: string
  readonly if?: string
  readonly run?: string
  readonly env?: Readonly<Record<string, string>>
  readonly with?: Readonly<Record<string, string | boolean>>
}

const root = resolve('.')
const action = parse(readFileSync('action.yml', 'utf8'))
const steps: readonly Step[] = action.runs.steps

const scenario = `name: quick
callers: { count: 4 }
calls:
  rpc: { kind: rpc-batch, network: ethereum-mainnet, size: 4, failing-items: 1, methods: { eth_call: 1 } }
  single: { kind: rpc, network: ethereum-mainnet, methods: { eth_call: 1 } }
stages: [{ name: steady, duration: 3s, shape: constant, rate: 6/s, mix: { rpc: 2, single: 1 } }]
thresholds: [{ expect: violations == 0, why: The service documents each rule. }]
`

/** A repository on a runner of GitHub. */
type Job = { readonly workspace: string; readonly temp: string; readonly environment: Readonly<Record<string, string>> }

function newJob(environment: Readonly<Record<string, string>> = {}): Job {
  const workspace = freshDirectory()
  mkdirSync(join(workspace, 'turnpike'))
  writeFileSync(join(workspace, 'turnpike/scenario.yaml'), scenario)
  return { workspace, temp: freshDirectory(), environment }
}

type Played = {
  /** The exit code of the first step that failed, or 0. */
  readonly code: number | null
  readonly log: string
  readonly summary: string
  readonly outputs: Readonly<Record<string, string>>
  /** What the step that uploads gets. */
  readonly uploaded: Readonly<Record<string, string>> | null
}

/** Runs the shell steps as GitHub does. */
async function play(job: Job, given: Readonly<Record<string, string>>): Promise<Played> {
  const defaults = Object.entries<{ readonly default?: string }>(action.inputs).map(([name, input]) => [
    name,
    input.default ?? '',
  ])
  const inputs: Readonly<Record<string, string>> = { ...Object.fromEntries(defaults), ...given }
  const produced: Record<string, string> = {}
  const evaluate = (expression: string): string => {
    const [, input, id, output] = /^(?:inputs\.([\w-]+)|steps\.([\w-]+)\.outputs\.([\w-]+))$/.exec(expression) ?? []
    if (input !== undefined) return inputs[input] ?? ''
    if (id !== undefined) return produced[`${id}.${output}`] ?? ''
    return expression === 'github.run_attempt' ? '1' : ''
  }
  const evaluated = (text: string) =>
    text.replace(/\$\{\{ (.*?) \}\}/g, (_, expression: string) => evaluate(expression))
  let log = ''
  let code: number | null = 0
  let uploaded: Played['uploaded'] = null
  const summary = join(job.temp, 'summary.md')
  for (const step of steps) {
    if (step.name === 'Keep the run directory' && produced['run.run-directory'] !== undefined)
      uploaded = Object.fromEntries(
        Object.entries(step.with ?? {}).map(([key, text]) => [key, evaluated(String(text))]),
      )
    if (step.run === undefined || code !== 0) continue
    if (step.name === 'Fetch the baselines' && inputs['baseline-run'] === '') continue
    if (step.name === 'Comment on the pull request' && inputs.comment !== 'true') continue
    const [script, output] = [join(job.temp, 'step.sh'), join(job.temp, `output-${step.id}`)]
    writeFileSync(script, step.run)
    writeFileSync(output, '')
    const own = Object.fromEntries(Object.entries(step.env ?? {}).map(([key, text]) => [key, evaluated(text)]))
    const child = spawn('bash', ['--noprofile', '--norc', '-e', '-o', 'pipefail', script], {
      cwd: job.workspace,
      env: {
        ...{ PATH: process.env.PATH, HOME: process.env.HOME, CI: 'true', GITHUB_ACTIONS: 'true' },
        ...{ GITHUB_ACTION_PATH: root, RUNNER_TEMP: job.temp, GITHUB_OUTPUT: output, GITHUB_STEP_SUMMARY: summary },
        ...{ GITHUB_REPOSITORY: 'acme/api', GITHUB_REF_NAME: 'main', GITHUB_BASE_REF: '' },
        GITHUB_WORKFLOW_REF: 'acme/api/.github/workflows/nightly.yml@refs/heads/main',
        ...job.environment,
        ...own,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = await endOf(child)
    log += ended.stdout + ended.stderr
    code = ended.code
    for (const [, name = '', value = ''] of readFileSync(output, 'utf8').matchAll(/^([\w-]+)=(.*)$/gm))
      produced[`${step.id}.${name}`] = value
  }
  const outputs = Object.entries<{ readonly value: string }>(action.outputs).map(([name, { value }]) => [
    name,
    evaluated(value),
  ])
  return {
    code,
    log,
    summary: existsSync(summary) ? readFileSync(summary, 'utf8') : '',
    outputs: Object.fromEntries(outputs),
    uploaded,
  }
}

/** A small run proves little about times, so it may be inconclusive. */
const small = { inconclusive: 'warn', target: 'embedded' }

describe('the steps of the action', () => {
  test('pass with the service, and keep its run', async () => {
    const { code, log, outputs, summary, uploaded } = await play(newJob(), {
      ...small,
      keys: 'ref_default_anna,ref_default_b, ref_default_c\nref_default_d',
    })
    expect([code, log]).toEqual([0, expect.stringMatching(/^(PASS|INCONCLUSIVE) {2}quick/m)])
    expect(['pass', 'inconclusive']).toContain(outputs.verdict)
    expect(JSON.parse(readFileSync(outputs['report-path'] ?? '', 'utf8'))).toMatchObject({ run: { scenario: 'quick' } })
    expect(summary).toContain('quick')
    expect(uploaded?.path).toBe(outputs['run-directory'])
    expect(uploaded?.name).toMatch(/^turnpike-scenario-\d+-1$/)
    // Each key is masked before anything else is written.
    for (const key of ['anna', 'b', 'c', 'd']) expect(log).toContain(`::add-mask::ref_default_${key}\n`)
    expect(log.replace(/^::add-mask::.*$/gm, '')).not.toContain('ref_default')
  })

  test('fail with a service that lies, annotate the finding, and still keep the run', async ({ onTestFinished }) => {
    const { target } = await serveForTest(['service', '--lie', 'failed-item-in-full'], onTestFinished)
    const args = '--fail-code=99'
    const { code, log, outputs, uploaded } = await play(newJob(), { ...small, target, args })
    expect([code, outputs.verdict, outputs['exit-code']]).toEqual([99, 'fail', '99'])
    expect(log).toMatch(/^::error title=rpc\.batch\.error-price /m)
    expect(readdirSync(uploaded?.path ?? '')).toContain('report.html')
  })

  test.each([
    ['no target', {}, 'The input "target" is empty', '', 1],
    ['an unknown version', { target: 'embedded', version: 'latest; id' }, 'The input "version" must be', '', 1],
    ['a scenario that does not exist', { target: 'embedded', scenario: 'none.yaml' }, 'exit code 2', 'error', 2],
    ['a budget that is too small', { target: 'embedded', 'budget-usd': '0.0000001' }, 'exit code 2', 'error', 2],
    [
      'no budget for a target elsewhere',
      { target: 'https://api.example.invalid/v1', keys: 'ref_default_anna' },
      'exit code 2',
      'error',
      2,
    ],
  ])('fail with %s', async (_, inputs, message, verdict, expected) => {
    const { code, log, outputs } = await play(newJob(), inputs)
    expect([code, outputs.verdict, outputs['report-path']]).toEqual([expected, verdict, ''])
    expect(log).toMatch(new RegExp(`^::error title=Turnpike::.*${message}`, 'm'))
  })

  test('run no text of an input as a command', async () => {
    const job = newJob()
    const evil = '$(touch pwned)`touch pwned`; touch pwned #\'"\n--seed=$(touch pwned)'
    for (const name of [
      'target',
      'scenario',
      'profile',
      'budget-usd',
      'baseline',
      'args',
      'keys',
      'version',
      'inconclusive',
    ])
      await play(job, { ...small, scenario: 'none.yaml', [name]: evil })
    await play(job, { ...small, 'baseline-run': evil })
    expect(existsSync(join(job.workspace, 'pwned'))).toBe(false)
  })

  test('pass on further arguments, one per line', async () => {
    const { outputs } = await play(newJob(), { ...small, args: '--seed=77\n\n--no-warm-up\n' })
    expect(JSON.parse(readFileSync(outputs['report-path'] ?? '', 'utf8')).run.seed).toBe(77)
  })
})

/** A run as GitHub's API shows it: one that may be a baseline. */
const trusted = {
  id: 71,
  run_attempt: 1,
  event: 'schedule',
  conclusion: 'success',
  head_branch: 'main',
  repository: { full_name: 'acme/api' },
  head_repository: { full_name: 'acme/api' },
}

/** A `gh` that knows these runs. Each has the artifact that `store` holds. */
function jobWithRuns(runs: readonly unknown[], store: string, environment = {}): Job {
  const job = newJob()
  const bin = join(job.temp, 'bin')
  mkdirSync(bin)
  writeFileSync(join(job.temp, 'runs.json'), JSON.stringify({ workflow_runs: runs }))
  writeFileSync(join(job.temp, 'run.json'), JSON.stringify(runs[0]))
  writeFileSync(
    join(bin, 'gh'),
    `#!/usr/bin/env bash
echo "$*" >>'${job.temp}/gh.log'
case "$*" in
  *'/actions/workflows/nightly.yml/runs'*) cat '${job.temp}/runs.json' ;;
  *'/actions/runs/'*) cat '${job.temp}/run.json' ;;
  'run download '*' --repo acme/api --name '*) [ -d '${store}' ] && cp -r '${store}' "\${@: -1}" ;;
  *) exit 9 ;;
esac
`,
  )
  chmodSync(join(bin, 'gh'), 0o755)
  return { ...job, environment: { PATH: `${bin}:${process.env.PATH}`, ...environment } }
}

describe('a baseline', () => {
  /** What the step that fetches prints. The scenario does not exist, so nothing runs. */
  async function fetched(
    runs: readonly unknown[],
    baselineRun = 'last',
    environment = {},
    report: unknown = { verdict: 'pass' },
  ) {
    const store = freshDirectory()
    writeFileSync(join(store, 'report.json'), JSON.stringify(report))
    const job = jobWithRuns(runs, store, environment)
    const { log, code } = await play(job, { target: 'embedded', scenario: 'none.yaml', 'baseline-run': baselineRun })
    const asked = readFileSync(join(job.temp, 'gh.log'), 'utf8')
    return { ids: [...log.matchAll(/^Run (\d+) is a baseline/gm)].map(([, id]) => id), log, code, asked }
  }

  test.each([
    ['a schedule', { event: 'schedule' }],
    ['a push', { event: 'push' }],
    ['a person', { event: 'workflow_dispatch' }],
  ])('is a run that %s has started on this branch of this repository', async (_, changes) => {
    expect((await fetched([{ ...trusted, ...changes }])).ids).toEqual(['71'])
  })

  const untrusted: readonly (readonly [string, object])[] = [
    [
      'of a fork, on a branch with the same name',
      { event: 'pull_request', head_repository: { full_name: 'mallory/api' } },
    ],
    ['of a fork, whatever its event', { head_repository: { full_name: 'mallory/api' } }],
    ['of a fork that was deleted', { head_repository: null }],
    ['of another repository', { repository: { full_name: 'acme/other' } }],
    ['of a pull request of this repository', { event: 'pull_request' }],
    ['of pull_request_target', { event: 'pull_request_target' }],
    ['that another workflow has started', { event: 'workflow_run' }],
    ['of another branch', { head_branch: 'feature' }],
    ['that failed', { conclusion: 'failure' }],
    ['that goes on', { conclusion: null }],
  ]

  test.each(todays(untrusted, 3))('is not a run %s', async (_, changes) => {
    const last = await fetched([{ ...trusted, ...changes }])
    expect([last.ids, last.log]).toEqual([
      [],
      expect.stringContaining('::notice title=Turnpike::No run of this scenario'),
    ])
    expect(last.asked).not.toContain('run download')
    const named = await fetched([{ ...trusted, ...changes }], '71')
    expect([named.code, named.log]).toEqual([1, expect.stringContaining('Run 71 is no baseline.')])
    expect(named.asked).not.toContain('run download')
  })

  test('is not a run whose report did not pass', async () => {
    for (const verdict of ['inconclusive', 'fail', undefined])
      expect((await fetched([trusted], 'last', {}, { verdict })).ids).toEqual([])
  })

  test('of a pull request is a run on its base branch', async () => {
    const environment = { GITHUB_REF_NAME: '12/merge', GITHUB_BASE_REF: 'release' }
    const runs = [trusted, { ...trusted, id: 72, head_branch: 'release' }]
    expect((await fetched(runs, 'last', environment)).ids).toEqual(['72'])
  })

  test('is fetched by the id and the attempt of its run, at most five', async () => {
    const runs = Array.from({ length: 8 }, (_, at) => ({ ...trusted, id: 90 - at, run_attempt: at + 1 }))
    const { ids, asked } = await fetched(runs)
    expect(ids).toEqual(['90', '89', '88', '87', '86'])
    expect(asked).toMatch(/^run download 88 --repo acme\/api --name turnpike-none-\d+-3 --dir /m)
  })

  test.each(['71 --repo mallory/api', '7x', '-1', '../71'])('has no id like %s', async written => {
    const { log, code } = await play(jobWithRuns([trusted], ''), {
      target: 'embedded',
      scenario: 'none.yaml',
      'baseline-run': written,
    })
    expect([code, log]).toEqual([1, expect.stringContaining('must be the id of a workflow run, or last')])
  })

  test('is compared with the run', async () => {
    const first = await play(newJob(), small)
    const store = first.outputs['run-directory'] ?? ''
    // What decides about a baseline is its verdict. That of a small run may be inconclusive.
    const report = join(store, 'report.json')
    writeFileSync(report, JSON.stringify({ ...JSON.parse(readFileSync(report, 'utf8')), verdict: 'pass' }))
    const { log, outputs } = await play(jobWithRuns([trusted], store), { ...small, 'baseline-run': 'last' })
    expect(log).toContain('Run 71 is a baseline.')
    const { comparison } = JSON.parse(readFileSync(outputs['report-path'] ?? '', 'utf8'))
    expect(comparison.baselines).toHaveLength(1)
  })
})
