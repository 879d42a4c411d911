import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import { expect, test, vi } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { shadowScenario } from '../../../src/diff/shadow.ts'
import { draftScenario } from '../../../src/library/draft.ts'
import { createSecrets, environmentSecrets } from '../../../src/library/secrets.ts'
import type { Plan } from '../../../src/plan/plan.ts'
import { openCompleteRun, readArrivals, readCompleteLog } from '../../../src/storage/recorded-run.ts'
import { recordedRun } from '../../support/recorded-run.ts'
import { freshDirectory } from '../../support/turnpike.ts'

const overrides = { profile: null, target: null, seed: null, budgetUsd: null, topUpUsd: '0', only: [] } as const

/** The plan that both sides of a diff get. */
async function planOf(source: string, keepsText = false) {
  const { scenario, remove } = await shadowScenario({ source, keepsText }, null)
  const { plan } = await draftScenario(
    scenario,
    { ...overrides, limitsFrom: 'target' },
    createSecrets(environmentSecrets({})),
  )
  remove()
  return plan
}

test('a recorded run is sent again with all of its calls, by the same callers at the same times', async () => {
  const source = await recordedRun(join(freshDirectory(), 'run'), { scenario: 'test/e2e/short.yaml' })
  const { plan: recorded, logs } = await openCompleteRun(source)
  const arrivals = await readArrivals(readCompleteLog(logs), stage => !stage.startsWith('('), 10_000)
  const plan = await planOf(source)
  expect([plan.scenario, plan.seed, plan.calls]).toEqual([recorded.scenario, recorded.seed, recorded.calls])
  expect(plan.callers.names).toEqual(recorded.callers.names)
  const sent = [...(arrivals?.calls ?? [])].map(position => arrivals?.callNames[position] ?? '')
  expect(new Set(sent).size).toBeGreaterThan(2)
  expect(mixOf(plan)).toEqual(
    Object.fromEntries([...new Set(sent)].map(name => [name, sent.filter(each => each === name).length])),
  )
})

const mixOf = ({ stages: [stage] }: Plan) => (stage?.load.model === 'open' ? Object.fromEntries(stage.load.mix) : {})

test('recorded traffic is sent as an import would write it, with texts only if they are wanted', async () => {
  const folder = freshDirectory()
  const source = join(folder, 'traffic.jsonl')
  const lines = [0, 400].map(timestamp => ({
    timestamp,
    input_length: 30,
    output_length: 5,
    text_input: 'hush '.repeat(12),
  }))
  writeFileSync(source, lines.map(line => JSON.stringify(line)).join('\n'))
  const temporary = freshDirectory()
  vi.stubEnv('TMPDIR', temporary)
  const [plan, asked] = [await planOf(source), await planOf(source, true)]
  expect([plan.scenario, mixOf(plan), plan.stages[0]?.durationMs]).toEqual(['traffic', { chat: 2 }, 401])
  const textsOf = ({ stages: [stage] }: Plan) =>
    stage?.load.model === 'open' && stage.load.shape.kind === 'recorded'
      ? unpack(stage.load.shape.prompts?.texts ?? '')
      : ''
  expect([textsOf(plan), textsOf(asked)]).toEqual(['[]', expect.stringContaining('hush hush')])
  // Neither side needs the files once the plans are made.
  expect([readdirSync(temporary), readdirSync(folder)]).toEqual([[], ['traffic.jsonl']])
  vi.unstubAllEnvs()
})

const unpack = (packed: string) => inflateSync(Buffer.from(packed, 'base64')).toString()

test('a run with a profile of its own needs that profile', async () => {
  const contract = { ...documentedContract, name: 'acme' }
  const source = await recordedRun(join(freshDirectory(), 'run'), { scenario: 'test/e2e/short.yaml', contract })
  await expect(planOf(source)).rejects.toThrow(
    'got a run that was judged by the profile "acme", and no --profile, expected the file of that profile, or another one',
  )
})
