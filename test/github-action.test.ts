import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { commands } from '../src/cli/commands.ts'
import { isObject } from '../src/lib/json.ts'
import { plain, tableUnder } from './support/markdown.ts'

type Step = {
  readonly name?: string
  readonly id?: string
  readonly if?: string
  readonly shell?: string
  readonly run?: string
  readonly uses?: string
  readonly env?: Readonly<Record<string, string>>
  readonly with?: Readonly<Record<string, string>>
}

type Action = {
  readonly inputs: Readonly<Record<string, { readonly description: string; readonly default?: string }>>
  readonly outputs: Readonly<Record<string, { readonly description: string; readonly value: string }>>
  readonly runs: { readonly using: string; readonly steps: readonly Step[] }
}

const actionText = readFileSync('action.yml', 'utf8')
const action: Action = parse(actionText)
const { steps } = action.runs

const folder = 'docs/examples/github'
const examples = readdirSync(folder).map(name => {
  const text = readFileSync(`${folder}/${name}`, 'utf8')
  return { name, text, workflow: parse(text) }
})
const stepsOf = (workflow: unknown): readonly Step[] =>
  isObject(workflow) && isObject(workflow.jobs)
    ? Object.values(workflow.jobs).flatMap(job => (isObject(job) ? (job.steps as readonly Step[]) : []))
    : []

const expressions = (text: string): readonly string[] =>
  [...text.matchAll(/\$\{\{\s*(.*?)\s*\}\}/g)].map(([, each = '']) => each)

/** A pinned action, with its version or a reason beside it. */
const pinned = /^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # \S/

describe('action.yml', () => {
  test('has the members that GitHub requires, and no others', () => {
    expect(Object.keys(action)).toEqual(['name', 'description', 'branding', 'inputs', 'outputs', 'runs'])
    expect(action.runs.using).toBe('composite')
    for (const input of Object.values(action.inputs))
      expect(Object.keys(input).filter(key => !['description', 'required', 'default'].includes(key))).toEqual([])
    for (const step of steps)
      expect([step.name, step.run === undefined ? step.uses : step.shell]).toEqual([
        step.name,
        step.run === undefined ? expect.stringMatching(/^actions\//) : 'bash',
      ])
  })

  test('uses only actions of GitHub itself, pinned by commit with their version', () => {
    const lines = actionText.match(/uses: .*/g) ?? []
    expect(lines).not.toEqual([])
    expect(lines.filter(line => !/^uses: actions\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([])
  })

  test('puts no value into a script: each goes through the environment', () => {
    expect(steps.filter(({ run = '' }) => run.includes('${{')).map(({ name }) => name)).toEqual([])
    const inEnvironment = steps.flatMap(({ env = {} }) => Object.values(env)).flatMap(expressions)
    expect(inEnvironment.filter(each => !/^(inputs|steps)\.[\w.-]+$/.test(each))).toEqual([])
  })

  test('uses each input, and no input or output of a step that is not there', () => {
    const used = new Set(
      expressions(JSON.stringify([steps, action.outputs])).flatMap(each => each.match(/[\w-]+(?:\.[\w-]+)+/g) ?? []),
    )
    const inputs = [...used].flatMap(each => /^inputs\.(.+)$/.exec(each)?.[1] ?? [])
    expect(inputs.toSorted()).toEqual(Object.keys(action.inputs).toSorted())
    for (const each of used) {
      const [, id, output = ''] = /^steps\.([\w-]+)\.outputs\.([\w-]+)$/.exec(each) ?? []
      if (id === undefined) continue
      expect([each, steps.find(step => step.id === id)?.run]).toEqual([each, expect.stringContaining(`${output}=`)])
    }
  })

  test('stops at the first command that fails', () => {
    for (const { name, run } of steps)
      if (run !== undefined && name !== 'Fail on the verdict')
        expect([name, run]).toEqual([name, expect.stringMatching(/^set -euo pipefail$/m)])
  })

  test('gives the keys to one step, never as an argument, and masks each of them', () => {
    const withKeys = steps.filter(step => JSON.stringify(step).includes('inputs.keys'))
    expect(withKeys.map(({ name }) => name)).toEqual(['Run'])
    const [{ run = '' } = {}] = withKeys
    expect(run.match(/^.*\bKEYS\b.*$/gm)?.map(line => line.trim())).toEqual([
      'if [ -n "$KEYS" ]; then',
      'export TURNPIKE_KEYS=$KEYS',
      `done < <(tr -s ', \\t' '\\n' <<<"$KEYS")`,
    ])
    expect(run.indexOf('::add-mask::')).toBeLessThan(run.indexOf('node "$MAIN"'))
  })

  test('calls turnpike run with flags that it has', () => {
    const flags = commands.find(({ usage }) => usage.startsWith('run '))?.flags ?? {}
    const written = steps.flatMap(({ name, run = '' }) =>
      name === 'Run' ? [...run.matchAll(/"--([\w-]+)=\$/g)].map(([, flag = '']) => flag) : [],
    )
    expect(written.toSorted()).toEqual(['baseline', 'baseline', 'budget-usd', 'out', 'profile', 'target'])
    expect(written.filter(flag => !(flag in flags))).toEqual([])
  })

  test('keeps the run directory whatever the verdict, and fails only after that', () => {
    const names = steps.map(({ name }) => name)
    expect(names.slice(-3)).toEqual(['Keep the run directory', 'Comment on the pull request', 'Fail on the verdict'])
    for (const step of steps.slice(-3, -1)) expect(step.if).toContain('always()')
  })

  test('is what docs/github-action.md says', () => {
    const page = readFileSync('docs/github-action.md', 'utf8')
    const listed = (heading: string, column: string) => tableUnder(page, heading).map(row => plain(row[column] ?? ''))
    expect(listed('Inputs', 'Input')).toEqual(Object.keys(action.inputs))
    expect(listed('Outputs', 'Output')).toEqual(Object.keys(action.outputs))
    const defaults = tableUnder(page, 'Inputs').map(row => plain(row.Default ?? ''))
    expect(defaults).toEqual(
      Object.values(action.inputs).map(({ default: value = '' }) =>
        value.startsWith('$') ? 'the token of the job' : value,
      ),
    )
  })
})

describe.each(examples)('$name', ({ text, workflow }) => {
  test('pins every action by commit', () => {
    const lines = text.match(/uses: .*/g) ?? []
    expect(lines).toHaveLength(stepsOf(workflow).filter(({ uses }) => uses !== undefined).length)
    expect(lines.filter(line => !pinned.test(line))).toEqual([])
  })

  test('may read and nothing else', () => {
    expect(workflow.permissions).toEqual({ contents: 'read', actions: 'read' })
    expect(Object.values(workflow.jobs).filter(job => isObject(job) && 'permissions' in job)).toEqual([])
  })

  test('never runs the code of a fork with secrets', () => {
    const events = Object.keys(workflow.on)
    expect(events).not.toContain('pull_request_target')
    expect(events).not.toContain('workflow_run')
    expect(events.includes('pull_request') && text.includes('secrets.')).toBe(false)
  })

  test('puts no value into a script, and leaves no token in the checkout', () => {
    expect(stepsOf(workflow).filter(({ run = '' }) => run.includes('${{'))).toEqual([])
    const checkouts = stepsOf(workflow).filter(({ uses }) => uses?.startsWith('actions/checkout@'))
    expect(checkouts.map(step => step.with?.['persist-credentials'])).toEqual(checkouts.map(() => false))
  })

  test('gives the action inputs that it has', () => {
    const uses = stepsOf(workflow).filter(step => step.uses?.startsWith('acme/turnpike@'))
    expect(uses).not.toEqual([])
    for (const step of uses) {
      expect(Object.keys(step.with ?? {}).filter(input => !(input in action.inputs))).toEqual([])
      expect(step.with).toHaveProperty('target')
    }
  })

  test('takes a baseline by the id of a run, or the last that passed, and from nowhere else', () => {
    expect(text).not.toMatch(/download-artifact|gh run|actions\/cache/)
    for (const step of stepsOf(workflow)) expect(step.with ?? {}).not.toHaveProperty('baseline')
  })
})
