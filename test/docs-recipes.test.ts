import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readComparedRun } from '../src/storage/recorded-run.ts'
import { recordedRun } from './support/recorded-run.ts'
import { freshDirectory } from './support/turnpike.ts'

const folder = 'docs/examples'
const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
const files = readdirSync(folder, { withFileTypes: true }).flatMap(entry => (entry.isFile() ? entry.name : []))

type Step = {
  readonly name?: string
  readonly if?: string
  readonly run?: string
  readonly uses?: string
  readonly with?: Readonly<Record<string, string | boolean | number>>
}

test('every script that a recipe starts is in the package', () => {
  const started = files.flatMap(name =>
    [...read(name).matchAll(/bash node_modules\/turnpike\/(\S+?)['\s]/g)].map(([, path = '']) => path),
  )
  expect(started.length).toBeGreaterThan(4)
  // Jenkins inserts the name of a gate, as its parameter offers them.
  const gates = /choices: \[(.*?)\]/.exec(read('Jenkinsfile'))?.[1]?.match(/[\w-]+/g) ?? []
  const paths = started.flatMap(path =>
    path.includes('$GATE') ? gates.map(gate => path.replace('$GATE', gate)) : path,
  )
  expect(paths.filter(path => !existsSync(path))).toEqual([])
})

test('no recipe runs from a checkout of Turnpike', () => {
  expect(files.filter(name => /dist\/main\.js|npm run build/.test(read(name)))).toEqual([])
})

test('what nightly.sh keeps of a run that passed is all that a comparison needs', async () => {
  const [line = ''] = /^ *cp .*$/m.exec(read('nightly.sh')) ?? []
  const names = [...line.matchAll(/"\$run\/([^"]+)"/g)].map(([, name = '']) => name)
  const run = await recordedRun(join(freshDirectory(), 'run'), { scenario: 'scenarios/idempotency.yaml' })
  const kept = join(freshDirectory(), 'kept')
  mkdirSync(kept)
  for (const name of names) copyFileSync(join(run, name), join(kept, name))
  expect(await readComparedRun(kept)).toEqual({ ...(await readComparedRun(run)), path: kept })
})

describe.each([
  ['github-nightly.yml', 'nightly'],
  ['github-release-gate.yml', 'release'],
])('%s', (name, job) => {
  const workflow = parse(read(name))
  const steps: readonly Step[] = workflow.jobs[job].steps
  const stepOf = (title: string) => steps.find(step => step.name?.startsWith(title))

  test('pins every action by commit, with its version beside it', () => {
    const lines = read(name).match(/uses: .*/g) ?? []
    expect(lines).toHaveLength(steps.filter(({ uses }) => uses !== undefined).length)
    expect(lines.filter(line => !/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([])
  })

  test('gives the keys to the one step that sends', () => {
    const uses = steps.filter(step => JSON.stringify(step).includes('secrets.'))
    expect(uses.map(step => step.name)).toEqual(['Run'])
  })

  test('keeps every run, and baselines only of one that passed', () => {
    expect(stepOf('Keep everything')).toMatchObject({ if: `\${{ always() }}`, with: { path: 'runs/' } })
    expect(stepOf('Publish JUnit')?.if).toContain('always()')
    expect(stepOf('Keep the baselines')).toMatchObject({ with: { path: 'turnpike-baselines/' } })
    expect(stepOf('Keep the baselines')).not.toHaveProperty('if')
  })

  test('never runs for a pull request', () => {
    expect(Object.keys(workflow.on).filter(event => event.startsWith('pull_request'))).toEqual([])
  })
})

test('the nightly workflow does nothing where no target is set, and the gate does not pass', () => {
  expect(parse(read('github-nightly.yml')).jobs.nightly.if).toBe(`\${{ vars.TURNPIKE_TARGET != '' }}`)
  expect(parse(read('github-release-gate.yml')).jobs.release).not.toHaveProperty('if')
  expect(read('release-gate.sh')).toMatch(/^target=\$\{TURNPIKE_TARGET:\?/m)
})

describe('gitlab-ci.yml', () => {
  const jobs = parse(read('gitlab-ci.yml'))

  test.each(['turnpike-nightly', 'turnpike-release'])('%s keeps baselines by branch, and publishes JUnit', name => {
    const keys = jobs[name].cache.filter(({ paths }: { paths: string[] }) => paths.includes('turnpike-baselines/'))
    expect(keys).toEqual([expect.objectContaining({ when: 'on_success' })])
    expect(keys[0].key).toBe(`${name}-$CI_COMMIT_REF_SLUG`)
    expect(jobs[name].extends).toBe('.turnpike')
    expect(jobs['.turnpike'].artifacts).toMatchObject({ when: 'always', reports: { junit: 'runs/**/junit.xml' } })
  })
})

describe('Jenkinsfile', () => {
  const text = read('Jenkinsfile')
  const code = text.replace(/^\s*\/\/.*$/gm, '')

  test('closes what it opens', () => {
    const open: string[] = []
    for (const [mark] of code.replace(/'[^'\n]*'|"[^"\n]*"/g, '').matchAll(/[{}()[\]]/g)) {
      if ('{(['.includes(mark)) open.push(mark)
      else expect(`${open.pop()}${mark}`).toMatch(/^(\{\}|\(\)|\[\])$/)
    }
    expect(open).toEqual([])
  })

  test('has the sections of a declarative pipeline, and publishes JUnit whatever the verdict', () => {
    const sections = [...code.matchAll(/^ {2}(\w+)(?= ?\{)/gm)].map(([, name]) => name)
    expect(sections).toEqual(['agent', 'parameters', 'triggers', 'options', 'environment', 'stages', 'post'])
    const [, always = ''] = /^ {4}always \{([\s\S]*?)^ {4}\}/m.exec(code) ?? []
    for (const kept of ['runs/**', 'turnpike-baselines/**', 'runs/**/junit.xml']) expect(always).toContain(kept)
  })
})
