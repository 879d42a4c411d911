import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { withComparison } from '../../src/judge/verdict.ts'
import type { Report } from '../../src/report/document.ts'
import { renderers } from '../../src/report/render/renderers.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
import { describeWith } from '../support/real-part.ts'
import { freshDirectory } from '../support/turnpike.ts'
import { virtualRun } from '../support/virtual-run.ts'
import { failingReport, passingReport } from '../unit/report/fixtures.ts'
import { hostileReport } from '../unit/report/hostile-report.ts'
import { regressed } from '../unit/report/sections/comparisons.ts'

const scenario = 'scenarios/smoke.yaml'
const lies = ['failed-item-in-full', 'charged-twice'].map(lieByName).filter(lie => lie !== undefined)

const reports: Readonly<Record<string, () => Report | Promise<Report>>> = {
  'that passes': async () => (await virtualRun({ scenario })).report,
  'that fails': async () => (await virtualRun({ scenario, lies })).report,
  'that regressed': () => ({ ...passingReport, ...withComparison(passingReport, regressed), comparison: regressed }),
  'that is inconclusive': () => ({ ...passingReport, verdict: 'inconclusive', reasons: ['Nothing was sent.'] }),
  'with everything': () => failingReport,
  'that quotes a hostile target': () => hostileReport,
}

describeWith('ci-tools', 'what the parsers of CI tools read', () => {
  // Only here: where they are missing, the suite is skipped.
  const others = () => createRequire(join(process.env.TURNPIKE_CI_TOOLS ?? '', 'package.json'))

  test.each(Object.entries(reports))('of a run %s', async (_, make) => {
    const report = await make()
    const xml = renderers.junit(report)
    const file = join(freshDirectory(), 'junit.xml')
    writeFileSync(file, xml)
    const [, tests, failures, errors] = (/ tests="(\d+)" failures="(\d+)" errors="(\d+)"/.exec(xml) ?? []).map(Number)
    const counted = { tests, failures, errors }

    // In Python: it reads the files of many actions that publish test results.
    const script = [
      ...['import json, sys', 'from junitparser import JUnitXml, Failure, Error'],
      'cases = [case for suite in JUnitXml.fromfile(sys.argv[1]) for case in suite]',
      'of = lambda kind: sum(any(isinstance(each, kind) for each in case.result) for case in cases)',
      'print(json.dumps({"tests": len(cases), "failures": of(Failure), "errors": of(Error)}))',
    ].join('\n')
    const python = spawnSync(process.env.TURNPIKE_CI_TOOLS_PYTHON ?? '', ['-c', script, file], { encoding: 'utf8' })
    expect([python.stderr, JSON.parse(python.stdout)]).toEqual(['', counted])

    const { parse } = others()('test-results-parser')
    const parsed = parse({ type: 'junit', files: [file] })
    expect([parsed.total, parsed.failed + parsed.errors]).toEqual([tests, (failures ?? 0) + (errors ?? 0)])

    const { parse: parseJunit } = await import(others().resolve('junit2json'))
    const { testsuite: suites } = await parseJunit(xml)
    const cases = suites.flatMap((suite: { testcase: readonly object[] }) => suite.testcase)
    const having = (kind: string) => cases.filter((each: object) => kind in each).length
    expect({ tests: cases.length, failures: having('failure'), errors: having('error') }).toEqual(counted)
  })

  const schema = () =>
    others()
      .resolve('@microsoft/jest-sarif')
      .replace(/lib\/.*/, 'lib/schemas/sarif-2.1.0-rtm.5.json')

  test.each(Object.entries(reports))('SARIF is valid by its schema, of a run %s', async (_, make) => {
    // Its draft calls these members otherwise.
    const { $schema: _draft, id: _id, ...rules } = JSON.parse(readFileSync(schema(), 'utf8'))
    const validate = new Ajv({ strict: false, validateFormats: false, unicodeRegExp: false }).compile(rules)
    const log = JSON.parse(renderers.sarif(await make()))
    validate(log)
    expect(validate.errors).toBeNull()
    expect(validate({ ...log, runs: [{ results: [] }] })).toBe(false)
  })
})

describeWith('workflow-linters', 'what linters of shell scripts and of workflows find', () => {
  test('nothing in the steps of the action, and in the scripts of the CI', () => {
    const folder = freshDirectory()
    const { steps } = parse(readFileSync('action.yml', 'utf8')).runs
    for (const [index, { run }] of steps.entries())
      if (run !== undefined) writeFileSync(join(folder, `${index}.sh`), `#!/usr/bin/env bash\n${run}`)
    for (const name of ['run', 'sbom', 'formula']) copyFileSync(join('.ci', name), join(folder, `${name}.sh`))
    const files = readdirSync(folder)
    expect(files.length).toBeGreaterThan(4)
    expect(spawnSync('shellcheck', files, { cwd: folder, encoding: 'utf8' }).stdout).toBe('')
  })

  test('nothing in the workflows of the project and the examples, nor in how these use the action', () => {
    const folder = freshDirectory()
    const workflows = join(folder, '.github/workflows')
    mkdirSync(workflows, { recursive: true })
    mkdirSync(join(folder, '.git'))
    copyFileSync('action.yml', join(folder, 'action.yml'))
    for (const name of readdirSync('docs/examples/github')) {
      const text = readFileSync(join('docs/examples/github', name), 'utf8')
      // Its own action, so that the inputs are checked.
      writeFileSync(join(workflows, name), text.replace(/acme\/turnpike@0+/g, './'))
    }
    for (const name of readdirSync('.github/workflows'))
      copyFileSync(join('.github/workflows', name), join(workflows, `own-${name}`))
    expect(readdirSync(workflows).length).toBeGreaterThan(6)
    // With shellcheck for each block of shell.
    const lint = () => spawnSync(process.env.TURNPIKE_ACTIONLINT ?? 'actionlint', [], { cwd: folder, encoding: 'utf8' })
    expect([lint().stdout, lint().status]).toEqual(['', 0])
    const block = 'on: push\njobs: { a: { runs-on: ubuntu-24.04, steps: [{ run: "cd $HOME/a b" }] } }\n'
    writeFileSync(join(workflows, 'wrong.yml'), block)
    expect(lint().stdout).toContain('shellcheck reported issue')
  })
})
