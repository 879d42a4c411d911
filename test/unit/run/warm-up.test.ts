import { readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { describe, expect, test, vi } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { makePlan } from '../../../src/plan/make-plan.ts'
import { warmUp, warmUpPlan } from '../../../src/run/warm-up.ts'
import { loadScenario } from '../../../src/scenario/load-scenario.ts'
import { contractFor } from '../../support/contract-for.ts'

const planOf = (file: string) => {
  const contract = contractFor(`scenarios/${file}`)
  const target = 'http://api.example.com/api/v1'
  return makePlan(loadScenario(`scenarios/${file}`, contract), contract, { seed: null, target, budgetUsd: null })
}

const files = readdirSync('scenarios').filter(file => file.endsWith('.yaml'))

describe.each(files)('the warm-up of scenarios/%s', file => {
  const plan = planOf(file)
  const planned = warmUpPlan(plan)

  test('has every call in every stage', () => {
    for (const { load } of planned.stages) {
      if (!('mix' in load)) throw new Error(`${load.model} has no mix`)
      expect(load.mix.map(([call]) => call)).toEqual(Object.keys(plan.calls))
    }
  })

  test('neither waits nor reads keys nor records anything', () => {
    expect(planned.stages.reduce((sum, { durationMs }) => sum + durationMs, 0)).toBeLessThan(500)
    const waits = Object.values(planned.calls).map(call => (call.kind === 'replay' ? call.repeatAfterMs : null))
    expect(waits.filter(each => each !== null)).toEqual([])
    expect(planned).toMatchObject({ callers: { keysFile: null }, record: 'none', bounds: { drainMs: 0 } })
  })
})

test('a warm-up sends the calls of a plan, but not to its target', async () => {
  // The balance checks before and after the stages are 128 requests that are not calls of the plan.
  expect(await warmUp(planOf('smoke.yaml'), documentedContract)).toBeGreaterThan(192)
})

test('a run without a port to listen on starts without a warm-up', async () => {
  const listen = vi.spyOn(createServer().constructor.prototype, 'listen').mockImplementation(function (this: unknown) {
    const server = this as NodeJS.EventEmitter
    queueMicrotask(() => server.emit('error', new Error('listen EPERM')))
    return server
  })
  try {
    expect(await warmUp(planOf('smoke.yaml'), documentedContract)).toBe(0)
  } finally {
    listen.mockRestore()
  }
})
