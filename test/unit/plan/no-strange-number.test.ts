import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../src/contract/contract.ts'
import { type Random, randomStream } from '../../../src/lib/random.ts'
import { UsageError } from '../../../src/lib/usage-error.ts'
import { describePlan } from '../../../src/plan/describe-plan.ts'
import { makePlan } from '../../../src/plan/make-plan.ts'
import { parseScenario } from '../../../src/scenario/load-scenario.ts'
import { drawProfile } from '../../support/drawn-profile.ts'
import { noFlags } from './plan-of.ts'

const calls: Readonly<Record<string, string>> = {
  chat: '{ kind: chat, prompt-tokens: 20, max-completion-tokens: 20 }',
  long: '{ kind: chat, stream: false, prompt-tokens: 4000 }',
  rpc: '{ kind: rpc, network: ethereum-mainnet, methods: { eth_call: 1, eth_chainId: 0.001 } }',
  batch: '{ kind: rpc-batch, network: ethereum-mainnet, methods: { eth_call: 1 }, size: 3, failing-items: 1 }',
  replay: '{ kind: replay, of: rpc, duplicates: 2, conflict-ratio: 0.25 }',
  image: '{ kind: resource, resource: image }',
  characters: '{ kind: resource, resource: characters }',
  models: '{ kind: models }',
  limits: '{ kind: rate-limits }',
  unlisted: '{ kind: probe, probe: unlisted-method }',
}

/** Published limits and unknown tiers, as in profiles that `learn` writes. */
function drawLearned(seed: number): Contract {
  const contract = drawProfile(seed)
  const random = randomStream(seed, 'learned')
  const isUnknown = random.next() < 0.5
  const models = contract.models.map(model => (isUnknown ? { ...model, tier: null } : model))
  const limited = models.filter(() => random.next() < 0.7)
  const published = Object.fromEntries(
    limited.flatMap(({ id }) => [
      [`chat:${id}`, 1 + random.int(300)],
      [`chat:${id} tokens`, 1 + random.int(1_000_000)],
    ]),
  )
  return { ...contract, models, limits: { ...contract.limits, published } }
}

function drawStage(random: Random, name: string): string {
  const pick = <T>(...values: readonly [T, ...T[]]): T => values[random.int(values.length)] ?? values[0]
  const rate = () => pick('80% of tier', '0.001% of tier', '3/m', '0.5/s', '100000/s')
  const weight = () => pick('1', '0.0000001', '1000000000', '1.0e-300')
  const mix = `mix: { ${pick(...(Object.keys(calls) as [string]))}: ${weight()}, chat2: ${weight()} }`
  const shape = pick(
    () => `shape: constant, rate: ${rate()}`,
    () => `shape: poisson, rate: ${rate()}`,
    () => `shape: ramp, from: 0/s, to: ${rate()}`,
    () => `shape: stairs, from: 1/m, to: ${rate()}, steps: ${1 + random.int(5)}`,
    () => `shape: spike, base: 0/s, peak: ${rate()}, at: 1s, for: 1s`,
    () => `shape: burst, size: ${pick('3', '40% of tier')}`,
    () => `shape: closed, users: 3, think-time: ${pick('0s', '1s')}`,
    () => `shape: capacity, from: 1/m, to: ${rate()}, good-ratio: 90%`,
  )()
  return `  - { name: ${name}, duration: ${pick('10s', '1ms', '168h')}, exceed-tier: true, ${shape}, ${mix} }`
}

/** The text of a random scenario. Some have a mistake. */
function drawScenario(seed: number): string {
  const random = randomStream(seed, 'scenario')
  const lines = Object.entries({ ...calls, chat2: calls.chat }).map(([name, call]) => `  ${name}: ${call}`)
  const stages = Array.from({ length: 1 + random.int(3) }, (_, index) => drawStage(random, `s${index}`))
  return `name: drawn\ncallers: { count: ${1 + random.int(9)} }\ncalls:\n${lines.join('\n')}\nstages:\n${stages.join('\n')}\n`
}

describe('a plan is refused, or has no number that is none', () => {
  test('for random profiles and scenarios', () => {
    let planned = 0
    for (let seed = 1; seed <= 150; seed++) {
      const [contract, scenario] = [drawLearned(seed), drawScenario(seed)]
      try {
        const plan = makePlan(parseScenario(scenario, 'drawn.yaml', contract), contract, noFlags)
        expect(JSON.parse(JSON.stringify(plan)), `seed ${seed}`).toEqual(plan)
        expect(describePlan(plan, null), `seed ${seed}\n${scenario}`).not.toMatch(/NaN|Infinity|∞|undefined|null/)
        planned++
      } catch (cause) {
        if (!(cause instanceof UsageError)) throw cause
        expect(cause.message, `seed ${seed}`).not.toMatch(/NaN|Infinity|∞|undefined|null/)
      }
    }
    expect(planned).toBeGreaterThan(30)
  })
})
