import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { commands } from '../src/cli/commands.ts'
import { readComparedRun } from '../src/storage/recorded-run.ts'
import { recordedRun } from './support/recorded-run.ts'
import { freshDirectory } from './support/turnpike.ts'

type Step = {
  readonly name?: string
  readonly if?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, string>>
}

const workflow = parse(readFileSync('docs/examples/nightly.yml', 'utf8'))
const { nightly } = workflow.jobs
const steps: readonly Step[] = nightly.steps
const stepOf = (name: string) => steps.find(step => step.name?.startsWith(name))

test('the workflow does nothing where no target is set', () => {
  expect(nightly.if).toBe(`\${{ vars.NIGHTLY_TARGET != '' }}`)
})

test('keys come from a secret, into the one step that sends', () => {
  const uses = steps.filter(step => JSON.stringify(step).includes('secrets.'))
  expect(uses.map(({ name }) => name)).toEqual(['Run'])
})

test('it runs a scenario that is there, with flags that there are', () => {
  expect(existsSync(nightly.env.SCENARIO)).toBe(true)
  expect(stepOf('Name')?.run).toContain(nightly.env.SCENARIO)
  const said = [...(stepOf('Run')?.run ?? '').matchAll(/--([a-z-]+)/g)].map(([, flag = '']) => flag)
  expect(said).toEqual(['baseline', 'target', 'budget-usd', 'out'])
  const flags = commands.find(({ usage }) => usage.startsWith('run '))?.flags ?? {}
  expect(said.filter(flag => !(flag in flags))).toEqual([])
})

test('what it keeps of a run that passed is all that a comparison needs', async () => {
  expect(stepOf('Keep a run')?.if).toContain(`code == '0'`)
  const run = await recordedRun(join(freshDirectory(), 'run'), { scenario: 'scenarios/idempotency.yaml' })
  const kept = join(freshDirectory(), 'kept')
  mkdirSync(kept)
  const paths = (stepOf('Keep a run')?.with?.path ?? '').trim().split('\n')
  for (const path of paths.map(each => each.replace('runs/nightly/', '')))
    copyFileSync(join(run, path), join(kept, path))
  expect(await readComparedRun(kept)).toEqual({ ...(await readComparedRun(run)), path: kept })
})

test('whatever came of a run is kept', () => {
  expect(stepOf('Keep everything')).toMatchObject({
    if: expect.stringContaining('always()'),
    with: { path: 'runs/nightly' },
  })
})
