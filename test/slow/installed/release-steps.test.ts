import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { copyProject } from '../../support/installed.ts'
import { tableUnder } from '../../support/markdown.ts'
import { freshDirectory } from '../../support/turnpike.ts'

type Step = { readonly name?: string; readonly run?: string }
type Job = { readonly steps: readonly Step[] }

/** What a step without a name does: its line, or the last one of several. */
const commandOf = (run: string): string => run.trim().split('\n').at(-1)?.trim() ?? ''

/** The shell steps of all workflows, by their file and their name. */
const steps = new Map(
  readdirSync('.github/workflows').flatMap(file => {
    const jobs: Readonly<Record<string, Job>> = parse(readFileSync(`.github/workflows/${file}`, 'utf8')).jobs
    return Object.values(jobs).flatMap(job =>
      job.steps.flatMap(({ name, run }) => (run === undefined ? [] : [[`${file}: ${name ?? commandOf(run)}`, run]])),
    )
  }) as readonly (readonly [string, string])[],
)

const folder = freshDirectory()
const bin = join(folder, 'bin')
mkdirSync(bin)
/** Stands in for a program that needs an account: notes its arguments. */
for (const program of ['npm', 'gh']) {
  const real = program === 'npm' ? `case $1 in publish) ;; *) exec ${npmPath()} "$@" ;; esac\n` : ''
  writeFileSync(join(bin, program), `#!/bin/sh\n${real}echo "${program} $*" >>'${join(folder, 'noted')}'\n`)
  chmodSync(join(bin, program), 0o755)
}

function npmPath(): string {
  return spawnSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).stdout.trim()
}

const played = new Set<string>()

/** Runs a step as GitHub does. */
function play(name: string, cwd: string, environment: Readonly<Record<string, string>> = {}): void {
  const run = steps.get(name)
  if (run === undefined) throw new Error(`no workflow has the step ${name}`)
  played.add(name)
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, GITHUB_REF_NAME: 'v9.8.7', ...environment }
  const { status, stdout, stderr } = spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', run], {
    ...{ cwd, env, encoding: 'utf8' },
  })
  expect(status, `${name}\n${stdout}\n${stderr}`).toBe(0)
}

const noted = (): string => readFileSync(join(folder, 'noted'), 'utf8')

test('the steps of a release make its files, and publish them', () => {
  const copy = copyProject(folder)
  const release = join(copy, 'release')
  const edit = (name: string, change: (text: string) => string) =>
    writeFileSync(join(copy, name), change(readFileSync(join(copy, name), 'utf8')))
  edit('package.json', text => text.replace(/"version": "[^"]*"/, '"version": "9.8.7"'))
  edit('CHANGELOG.md', text => text.replace(/^## /m, '## 9.8.7\n\n- A change.\n\n## '))

  play('release.yml: Check the tag, and take the section of the changelog', copy)
  expect(readFileSync(join(release, 'notes.md'), 'utf8')).toBe('- A change.\n')
  play('release.yml: Make the tarball, and list what it depends on', copy)
  const files = ['turnpike-9.8.7.tgz', 'turnpike.cdx.json', 'turnpike.rb', 'turnpike.spdx.json']
  expect(readdirSync(release)).toEqual(['SHA256SUMS', 'notes.md', ...files])
  expect(spawnSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: release }).status).toBe(0)
  const formula = readFileSync(join(release, 'turnpike.rb'), 'utf8')
  expect(formula).toContain('url "https://registry.npmjs.org/turnpike/-/turnpike-9.8.7.tgz"')
  const sums = readFileSync(join(release, 'SHA256SUMS'), 'utf8')
  expect(sums).toContain(`${/sha256 "([0-9a-f]{64})"/.exec(formula)?.[1]}  turnpike-9.8.7.tgz`)

  const publish = [...steps.keys()].find(name => name.startsWith('release.yml: npm publish')) ?? ''
  play(publish, copy)
  play(publish, copy, { GITHUB_REF_NAME: 'v9.9.0-rc.1' })
  const output = join(folder, 'output')
  const image = { GITHUB_REPOSITORY: 'Acme/Turnpike', GITHUB_OUTPUT: output }
  play('release.yml: Name the image', copy, image)
  play('release.yml: Name the image', copy, { ...image, GITHUB_REF_NAME: 'v9.9.0-rc.1' })
  const name = 'ghcr.io/acme/turnpike'
  const tags = [`${name}:9.8.7,${name}:latest`, `${name}:9.9.0-rc.1`]
  expect(readFileSync(output, 'utf8')).toBe(tags.map(each => `name=${name}\ntags=${each}\n`).join(''))
  play('release.yml: Publish the release', copy)
  play('release.yml: Publish the release', copy, { GITHUB_REF_NAME: 'v9.9.0-rc.1' })
  const tarball = './release/turnpike-9.8.7.tgz --access public --provenance'
  const assets = files.map(name => `release/${name}`).join(' ')
  const create = (tag: string, options: string) =>
    `gh release create ${tag} --verify-tag --title ${tag} --notes-file release/notes.md ${options}${assets} release/SHA256SUMS`
  expect(noted().trim().split('\n')).toEqual([
    `npm publish ${tarball} --tag latest`,
    `npm publish ${tarball} --tag next`,
    create('v9.8.7', ''),
    create('v9.9.0-rc.1', '--prerelease '),
  ])
})

test('the pages of a version are pushed to their branch, and nothing if they did not change', () => {
  const origin = join(folder, 'origin.git')
  const git = (...args: readonly string[]) => spawnSync('git', args, { cwd: folder, encoding: 'utf8' })
  git('init', '--quiet', '--bare', origin)
  git('init', '--quiet', '--initial-branch', 'gh-pages', 'published')
  git('-C', 'published', 'remote', 'add', 'origin', origin)
  writeFileSync(join(folder, 'published', 'index.html'), 'pages')
  const pushed = () => git('--git-dir', origin, 'log', '--format=%an: %s', 'gh-pages').stdout
  for (const _ of [1, 2]) {
    play('site.yml: Push what changed', folder, { GH_TOKEN: 'none' })
    expect(pushed()).toBe('github-actions: Pages of v9.8.7\n')
  }
})

test('the page about releases says why the other steps are not run here', () => {
  const rows = tableUnder(readFileSync('docs/releasing.md', 'utf8'), 'Steps of workflows that no test runs')
  const explained = rows.flatMap(({ Step: step = '' }) => step.split(', ').map(name => name.replaceAll('`', '')))
  const others = new Set([...steps.keys()].filter(name => !played.has(name)).map(name => name.replace(/^[^:]*: /, '')))
  expect(explained.toSorted()).toEqual([...others].toSorted())
})
