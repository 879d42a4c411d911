import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Installed, install } from '../../support/installed.ts'

/** The shell steps of the recipes, in the folder of a project with the installed package. */
let installed: Installed
beforeAll(async () => {
  installed = await install()
  const quick = `name: quick
callers: { count: 4 }
calls: { rpc: { kind: rpc, network-family: evm, methods: { eth_call: 1 } } }
stages: [{ name: steady, duration: 4s, shape: constant, rate: 6/s, mix: { rpc: 1 } }]
thresholds: [{ expect: violations == 0, why: The service documents each of these rules. }]
`
  mkdirSync(join(installed.folder, 'turnpike'))
  writeFileSync(join(installed.folder, 'turnpike/scenario.yaml'), quick)
  writeFileSync(join(installed.folder, 'rules.yaml'), quick.replace('name: quick', 'name: rules'))
})

const place = (path: string): string => join(installed.folder, path)
const recipe = (name: string): string => readFileSync(place(`node_modules/turnpike/docs/examples/${name}`), 'utf8')
const runs = (): readonly string[] => (existsSync(place('runs')) ? readdirSync(place('runs')) : [])
/** A new machine of the CI, with a checkout of the project. */
const fresh = (): void => {
  for (const path of ['runs', 'turnpike-baselines']) rmSync(place(path), { recursive: true, force: true })
}
beforeEach(fresh)

const serve = (flags: string, onEnd: Parameters<Installed['serve']>[1]) =>
  installed.serve(`npx --no-install turnpike service --port 0 --rpc-latency 60 ${flags}`, onEnd)

/** A night of few requests passes, but a comparison of two such nights proves nothing. */
const settings = (target: string) => ({ TURNPIKE_TARGET: target, INCONCLUSIVE: 'warn' })

describe('GitHub Actions', () => {
  type Step = { readonly name?: string; readonly run?: string; readonly env?: Readonly<Record<string, string>> }

  /** Stands in for GitHub's program: `store` holds the baselines of the last run, if there is one. */
  function standIn(store: string): string {
    const bin = place('bin')
    mkdirSync(bin, { recursive: true })
    writeFileSync(
      join(bin, 'gh'),
      `#!/usr/bin/env bash
echo "$*" >>'${place('gh.log')}'
case "$1 $2" in
  'run list') if [ -e '${store}' ]; then echo 71; fi ;;
  'run download') test "$3 $5 $7" = '71 turnpike-baselines turnpike-baselines' && cp -r '${store}/kept' "$7" ;;
esac
`,
    )
    chmodSync(join(bin, 'gh'), 0o755)
    return bin
  }

  /** These shell steps of a job, as GitHub runs them. Resolves with the exit code of the first that fails. */
  async function play(
    name: string,
    job: string,
    values: Readonly<Record<string, string>>,
    bin: string,
    titles: RegExp,
  ) {
    const steps: readonly Step[] = parse(recipe(name)).jobs[job].steps
    const told: string[] = []
    for (const { name: title = '', run, env = {} } of steps) {
      if (run === undefined || !titles.test(title)) continue
      const own = Object.entries(env).map(([key, text]) => [key, evaluated(text, values)] as const)
      const { code, stdout, stderr } = await installed.bash(
        `export PATH='${bin}':"$PATH"\nbash --noprofile --norc -e <<'STEP'\n${run}\nSTEP`,
        {
          ...{ GITHUB_ACTIONS: 'true', CI: 'true', GITHUB_WORKFLOW: 'turnpike', GITHUB_REF_NAME: 'main' },
          ...{ GITHUB_STEP_SUMMARY: place('summary.md') },
          ...Object.fromEntries(own),
        },
      )
      told.push(stdout, stderr)
      if (code !== 0) return { code, told: told.join('\n') }
    }
    return { code: 0, told: told.join('\n') }
  }

  /** The value of `${{ vars.NAME || 'default' }}`. */
  const evaluated = (text: string, values: Readonly<Record<string, string>>): string =>
    text.replace(/\$\{\{ [\w.]*?(\w+)(?: \|\| '([^']*)')? \}\}/g, (_, name, fallback = '') => values[name] ?? fallback)

  test('judges the first night without baselines, and the second by what the first has kept', async ({
    onTestFinished,
  }) => {
    const target = await serve('', onTestFinished)
    const store = place('store')
    const bin = standIn(store)
    const values = { TURNPIKE_TARGET: target, TURNPIKE_INCONCLUSIVE: 'warn', repository: 'acme/api' }
    const first = await play('github-nightly.yml', 'nightly', values, bin, /^/)
    expect(first.told).toContain('::notice::No run has passed on this branch yet')
    expect(first.told).toMatch(/^Baselines in turnpike-baselines\/scenario-\d+: 0$/m)
    expect(first.code, first.told).toBe(0)
    expect(readFileSync(place('summary.md'), 'utf8')).toContain('quick')
    expect(readFileSync(place(`runs/${runs()[0]}/junit.xml`), 'utf8')).toContain('<testsuites')

    // What `upload-artifact` keeps.
    mkdirSync(store)
    cpSync(place('turnpike-baselines'), join(store, 'kept'), { recursive: true })
    fresh()
    const second = await play('github-nightly.yml', 'nightly', values, bin, /^(Fetch|Run)/)
    expect(second.told).toMatch(/^Baselines in turnpike-baselines\/scenario-\d+: 1$/m)
    expect(second.code, second.told).toBe(0)
    expect(readFileSync(place('gh.log'), 'utf8')).toMatch(
      /^run list --workflow turnpike --branch main --status success --limit 1 /m,
    )

    // GitHub has deleted them.
    rmSync(join(store, 'kept'), { recursive: true })
    fresh()
    const third = await play('github-nightly.yml', 'nightly', values, bin, /^Fetch/)
    expect(third.told).toContain('::warning::The baselines of run 71 are gone')
    expect(third.code, third.told).toBe(0)
  })

  test('does not let a release through without a target', async () => {
    const { code, told } = await play('github-release-gate.yml', 'release', {}, standIn(place('none')), /^(Fetch|Run)/)
    expect(told).toContain('TURNPIKE_TARGET: set it to the base address')
    expect(code).not.toBe(0)
    expect(runs()).toEqual([])
  })
})

test('GitLab CI: the job keeps its baselines in the cache of its branch', async ({ onTestFinished }) => {
  const target = await serve('', onTestFinished)
  const jobs = parse(recipe('gitlab-ci.yml'))
  const { before_script: before } = jobs['.turnpike']
  const { script } = jobs['turnpike-nightly']
  // GitLab ends a job at the first command that fails.
  const night = (lines: readonly string[]) =>
    installed.bash(`set -eo pipefail\n${lines.join('\n')}`, { GITLAB_CI: 'true', CI: 'true', ...settings(target) })
  const first = await night([...before, ...script])
  expect([first.code, first.stderr]).toEqual([0, expect.stringMatching(/^Baselines in .*: 0$/m)])
  const second = await night(script)
  expect([second.code, second.stderr]).toEqual([0, expect.stringMatching(/^Baselines in .*: 1$/m)])
  expect(runs()).toHaveLength(2)
})

test('Jenkins: each shell step works, for the nightly run and for the release gate', async ({ onTestFinished }) => {
  const target = await serve('', onTestFinished)
  const steps = [...recipe('Jenkinsfile').matchAll(/^ *sh '([^']*)'/gm)].map(([, step = '']) => step)
  expect(steps).toHaveLength(3)
  const [installs, ...others] = steps
  expect(installs).toBe('npm ci')
  for (const [gate, kept] of [
    ['nightly', 'turnpike-baselines'],
    ['release-gate', 'turnpike-baselines/releases'],
  ] as const) {
    const environment = { GATE: gate, RULES: 'rules.yaml', PAUSE_SECONDS: '0', ...settings(target) }
    // Jenkins starts each step with `sh -xe`.
    for (const step of others)
      expect([step, (await installed.bash(`sh -xe -c '${step}'`, environment)).code]).toEqual([step, 0])
    expect(readdirSync(place(kept)).filter(name => name.startsWith('scenario-'))).toHaveLength(1)
  }
})

describe('the release gate', () => {
  const gate = (target: string) =>
    installed.bash('bash node_modules/turnpike/docs/examples/release-gate.sh --quiet', {
      ...settings(target),
      RULES: 'rules.yaml',
      PAUSE_SECONDS: '0',
    })

  test('runs the rules and then the load, and keeps a release that passed', async ({ onTestFinished }) => {
    const target = await serve('', onTestFinished)
    const first = await gate(target)
    expect(first.code, first.stdout).toBe(0)
    expect(
      runs()
        .map(name => name.replace(/^\w+-/, ''))
        .sort(),
    ).toEqual(['rules-rules', 'scenario'])
    // Compared with one release of so few requests, the next one proves nothing, and that is no pass.
    const second = await gate(target)
    expect(second.stderr).toMatch(/^Baselines in turnpike-baselines\/releases\/scenario-\d+: 1$/m)
    expect(second.code, second.stdout).toBe(3)
  })

  test('stops at a violated rule, before the load', async ({ onTestFinished }) => {
    const { code, stdout } = await gate(await serve('--lie cost-in-cents', onTestFinished))
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^FAIL {2}rules/)])
    expect(runs()).toHaveLength(1)
    expect(existsSync(place('turnpike-baselines'))).toBe(false)
  })
})

describe('nightly.sh', () => {
  const night = (target: string, more = {}) =>
    installed.bash('bash node_modules/turnpike/docs/examples/nightly.sh --quiet', { ...settings(target), ...more })

  test('starts a new series after a change of a file beside the scenario', async ({ onTestFinished }) => {
    const target = await serve('', onTestFinished)
    const series = () => readdirSync(place('turnpike-baselines'))
    await night(target)
    const [name = 'none'] = series()
    writeFileSync(place('turnpike/profile.yaml'), 'name: changed\n')
    const { code, stderr } = await night(target)
    rmSync(place('turnpike/profile.yaml'))
    expect([code, stderr]).toEqual([0, expect.stringMatching(/: 0$/m)])
    expect(series()).toEqual([expect.not.stringContaining(name)])
  })

  test('sends nothing where a setting is wrong', async () => {
    const { code, stderr } = await night('http://127.0.0.1:1/api/v1', { SCENARIO: 'none.yaml' })
    expect([code, stderr]).toEqual([2, expect.stringContaining('No load was sent')])
    expect(runs()).toEqual([])
  })
})
