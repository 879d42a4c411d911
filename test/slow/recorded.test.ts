import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Observation } from '../../src/observation/observation.ts'
import type { Plan } from '../../src/plan/plan.ts'
import { unpackArrivals } from '../../src/plan/recorded-load.ts'
import { freshDirectory, turnpike } from '../support/turnpike.ts'
import { readObservations } from '../support/whole-lines.ts'

const first = join(freshDirectory(), 'first')
const short = readFileSync('test/e2e/short.yaml', 'utf8')

/** The short scenario with another name and other stages. */
function scenarioWith(stages: string, more: (text: string) => string = text => text): string {
  const file = join(freshDirectory(), 'again.yaml')
  const text = short
    .replace('name: short', 'name: again')
    .replace(/stages:[\s\S]*?\nthresholds/, `stages:\n${stages}\nthresholds`)
  writeFileSync(file, more(text))
  return file
}

/** The first request of each arrival, in the order of due times. */
async function arrivalsIn(directory: string): Promise<readonly Observation[]> {
  const observations = await readObservations(directory)
  return observations
    .filter(({ stage }) => !stage.startsWith('('))
    .filter(({ request, id }) => request.kind !== 'rpc' || request.replay === null || request.replay.group === id)
    .sort((a, b) => a.dueMs - b.dueMs || a.id - b.id)
}

beforeAll(async () => {
  const run = await turnpike(['run', 'test/e2e/short.yaml', '--out', first])
  expect(run.stdout).toMatch(/^PASS/)
})

describe.concurrent('a run that replays another', () => {
  test('sends the same calls by the same callers at the same intervals, and can be audited and replayed', async () => {
    const out = join(freshDirectory(), 'second')
    const run = await turnpike([
      'run',
      scenarioWith(`  - { name: again, shape: recorded, run: ${first}, speed: 5 }`),
      '--out',
      out,
    ])
    expect(run.stdout).toMatch(/^PASS {2}again/)
    const [was, is] = [await arrivalsIn(first), await arrivalsIn(out)]
    expect(is.map(({ call, caller }) => [call, caller])).toEqual(was.map(({ call, caller }) => [call, caller]))
    const since = (arrivals: readonly Observation[]) => arrivals.map(({ dueMs }) => dueMs - (arrivals[0]?.dueMs ?? 0))
    const off = since(is).map((dueMs, index) => Math.abs(dueMs - (since(was)[index] ?? 0) / 5))
    expect(Math.max(...off)).toBeLessThan(0.002)

    const audit = await turnpike(['audit', out, '--format', 'json'])
    expect(JSON.parse(audit.stdout)).toEqual(JSON.parse(readFileSync(join(out, 'report.json'), 'utf8')))
    const third = await turnpike([
      'plan',
      scenarioWith(`  - { name: third, shape: recorded, run: ${out}, stage: again }`),
      '--format',
      'json',
    ])
    const plan = JSON.parse(third.stdout) as Plan
    expect(plan.forecast.durationMs).toBe(500)
    const load = plan.stages[0]?.load
    if (load?.model !== 'open' || load.shape.kind !== 'recorded') throw new Error('the stage is not a recorded one')
    // 20 per second, replayed at five times the speed, from the start of the load.
    const offsets = [...unpackArrivals(load.shape)].map(({ offsetMs }) => offsetMs)
    expect(offsets).toEqual(Array.from({ length: 50 }, (_, index) => index * 10))
  })

  const mistakes: readonly (readonly [what: string, stages: string, more: (text: string) => string, text: string])[] = [
    ['missing calls', `run: ${first}`, text => text.replace('  chat:', '  talk:'), 'calls in run'],
    ['a missing stage', `run: ${first}, stage: stedy`, text => text, 'got "stedy", expected a stage of run'],
    [
      'a directory without a run',
      'run: test',
      text => text,
      'test: got a directory without a run, expected a run directory',
    ],
    ['fewer callers', `run: ${first}`, text => text.replace('count: 3', 'count: 2'), 'got 3 callers in run'],
  ]
  test.each(mistakes)(
    'is rejected for %s, without a run directory',
    async (_, stage, more, text) => {
      const out = join(freshDirectory(), 'none')
      const file = scenarioWith(`  - { name: again, shape: recorded, ${stage} }`, more)
      const run = await turnpike(['run', file, '--out', out])
      expect(run.code).toBe(2)
      expect(run.stderr).toContain(text)
      expect(() => readFileSync(join(out, 'plan.json'))).toThrow()
    },
    60_000,
  )

  test('is rejected if the run has no recorded observations', async () => {
    const out = join(freshDirectory(), 'unkept')
    const file = scenarioWith(
      '  - { name: a, duration: 100ms, shape: burst, size: 1, mix: { rpc: 1 } }',
      text => `${text}record: none\n`,
    )
    await turnpike(['run', file, '--out', out])
    const run = await turnpike(['plan', scenarioWith(`  - { name: again, shape: recorded, run: ${out} }`)])
    expect(run.code).toBe(2)
    expect(run.stderr).toContain('got a run with "record: none", expected a run with "record: all"')
  })
})
