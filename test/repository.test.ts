import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'

const read = (path: string): string => readFileSync(path, 'utf8')
const { scripts, version, files } = JSON.parse(read('package.json'))

type Step = {
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
}
type Job = {
  readonly permissions?: Readonly<Record<string, string>>
  readonly environment?: string
  readonly 'timeout-minutes'?: number
  readonly steps: readonly Step[]
}
type Workflow = {
  readonly on: Readonly<Record<string, unknown>>
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, Job>>
}

const folder = '.github/workflows'
/** What the workflows may write that only a tag starts. */
const onTag: Readonly<Record<string, readonly string[]>> = {
  'release.yml': ['artifact-metadata', 'attestations', 'contents', 'id-token', 'packages'],
  'site.yml': ['contents'],
}
const workflows = readdirSync(folder).map(name => {
  const text = read(`${folder}/${name}`)
  const workflow: Workflow = parse(text)
  return { name, text, workflow, jobs: Object.values(workflow.jobs) }
})

describe.each(workflows)('$name', ({ name, text, workflow, jobs }) => {
  const steps = jobs.flatMap(job => job.steps)

  test('pins every action by commit, with its version', () => {
    const lines = text.match(/uses: .*/g) ?? []
    expect(lines).toHaveLength(steps.filter(({ uses }) => uses !== undefined).length)
    expect(lines.filter(line => !/^uses: [\w-]+(?:\/[\w-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([])
  })

  test('may read and nothing else, unless a job that no pull request starts says so', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' })
    const rights = jobs.flatMap(({ permissions = {} }) =>
      Object.entries(permissions).flatMap(([right, level]) => (level === 'write' ? [right] : [])),
    )
    expect([name, Object.keys(workflow.on), [...new Set(rights)].toSorted()]).toEqual([
      name,
      ...(onTag[name] === undefined
        ? [expect.not.arrayContaining(['pull_request_target']), name === 'codeql.yml' ? ['security-events'] : []]
        : [['push'], onTag[name]]),
    ])
  })

  test('ends at some time, puts no value into a script, and leaves no token in the checkout', () => {
    expect(jobs.filter(job => job['timeout-minutes'] === undefined)).toEqual([])
    expect(steps.filter(({ run = '' }) => run.includes('${{'))).toEqual([])
    const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'))
    expect(checkouts.map(step => step.with?.['persist-credentials'])).toEqual(checkouts.map(() => false))
  })

  test('runs scripts that are there', () => {
    const runs = steps.flatMap(({ run = '' }) => run)
    const named = runs.flatMap(run => [...run.matchAll(/npm run ([\w:]+)/g)].map(([, script = '']) => script))
    expect(named.filter(script => !(script in scripts))).toEqual([])
    const paths = runs.flatMap(run => run.match(/\.(?:ci|github)\/[\w.-]+/g) ?? [])
    expect(paths.filter(path => !existsSync(path))).toEqual([])
  })
})

describe('a release', () => {
  const release = workflows.find(({ name }) => name === 'release.yml')?.workflow.jobs ?? {}

  test('publishes to npm without a token, in an environment that somebody guards', () => {
    expect([release.npm?.environment, release.npm?.permissions]).toEqual([
      'npm',
      { contents: 'read', 'id-token': 'write' },
    ])
    expect(read(`${folder}/release.yml`)).not.toMatch(/secrets\.|NODE_AUTH_TOKEN|NPM_TOKEN/)
    expect(read('docs/releasing.md')).toContain('--file release.yml')
  })

  const notes = (tag: string, changelog: string) => {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-notes-'))
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ version: '1.2.3' }))
    writeFileSync(join(folder, 'CHANGELOG.md'), changelog)
    const script = resolve('.ci/release-notes.mjs')
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, tag], { cwd: folder, encoding: 'utf8' })
    return [status, stdout, stderr]
  }

  test('takes its text from its section of the changelog', () => {
    const changelog = '# Changelog\n\n## 1.2.3\n\n### Features\n\n- One.\n\n## 1.2.2\n\n- Old.\n'
    expect(notes('v1.2.3', changelog)).toEqual([0, '### Features\n\n- One.\n', ''])
  })

  test.each([
    ['v1.2.4', '## 1.2.3\n\n- One.\n', 'package.json: got version 1.2.3, expected the version of the tag v1.2.4\n'],
    [
      'v1.2.3',
      '## 1.2.3 (unreleased)\n\n- One.\n',
      'CHANGELOG.md: got no text below the heading "## 1.2.3", expected the changes of this version\n',
    ],
  ])('does not begin with the tag %s and the changelog %j', (tag, changelog, message) => {
    expect(notes(tag, changelog)).toEqual([1, '', message])
  })

  test('of this version has a section', () => {
    expect(read('CHANGELOG.md')).toMatch(new RegExp(`^## ${version.replaceAll('.', '\\.')}( \\(unreleased\\))?$`, 'm'))
  })
})

test('updates are looked for wherever there are dependencies', () => {
  const { updates } = parse(read('.github/dependabot.yml'))
  const watched = updates.flatMap((each: { directory?: string; directories?: string[]; 'package-ecosystem': string }) =>
    (each.directories ?? [each.directory]).map(directory => `${each['package-ecosystem']} ${directory}`),
  )
  const modules = readdirSync('test/real/otlp').map(name => `gomod /test/real/otlp/${name}`)
  expect(watched.toSorted()).toEqual(
    ['docker /', 'docker-compose /', 'github-actions /', ...modules, 'npm /', 'npm /site'].toSorted(),
  )
})

test('pages of a patch replace those of its minor version, and only the newest version is the latest', () => {
  const releases = [
    ['0.1.0', []],
    ['0.10.1', ['v0.9', 'v0.10', 'latest', 'next', 'index.html']],
    ['0.9.4', ['v0.9', 'v0.10', 'latest']],
    ['0.2.0-rc.1', []],
  ]
  const script = `import { placesOf } from './site/versions.mjs'
    console.log(JSON.stringify(${JSON.stringify(releases)}.map(release => placesOf(...release))))`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' })
  expect(JSON.parse(stdout)).toEqual([
    { places: ['v0.1', 'latest'], versions: ['latest', 'v0.1'] },
    { places: ['v0.10', 'latest'], versions: ['next', 'latest', 'v0.10', 'v0.9'] },
    { places: ['v0.9'], versions: ['latest', 'v0.10', 'v0.9'] },
    { places: ['next'], versions: ['next'] },
  ])
})

const forms = readdirSync('.github/ISSUE_TEMPLATE').filter(name => name !== 'config.yml')

test.each(forms)('the form %s asks for the version, and gives each field one id', name => {
  const { body } = parse(read(`.github/ISSUE_TEMPLATE/${name}`))
  const fields: readonly { readonly id?: string; readonly type: string }[] = body
  const ids = fields.flatMap(({ id }) => id ?? [])
  expect(ids).toContain('version')
  expect(new Set(ids).size).toBe(fields.filter(({ type }) => type !== 'markdown').length)
})

test('the package holds the pages for those who report', () => {
  expect(files).toEqual(expect.arrayContaining(['SECURITY.md', 'CODE_OF_CONDUCT.md']))
})
