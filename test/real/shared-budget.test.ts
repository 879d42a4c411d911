import { expect, test } from 'vitest'
import { draftPlan } from '../../src/cli/load-plan.ts'
import { formatPico, pico } from '../../src/lib/money.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
import { scenarioFile, startQueue } from '../support/queued-run.ts'
import { describeWith } from '../support/real-part.ts'
import { freshDirectory, startForTest } from '../support/turnpike.ts'

const shards = 4

/** Charges each repetition like the first request, so that a run reaches its budget long before its end. */
const charging = lieByName('replay-charged-again')

/** `size`: of batches, each of which is sent five times. The larger they are, the fewer of them the budget covers. */
const scenarioOf = (size: number, ratePerSecond: number) =>
  scenarioFile('expensive', [
    'callers: { count: 8 }',
    'calls:',
    `  batch: { kind: rpc-batch, network: ethereum-mainnet, size: ${size}, methods: { trace_replayTransaction: 1 } }`,
    '  replay: { kind: replay, of: batch, duplicates: 4 }',
    '  rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_call: 1 } }',
    'stages:',
    `  - { name: load, duration: 10s, shape: constant, rate: ${ratePerSecond}/s, exceed-tier: true, mix: { replay: 1, rpc: 1 } }`,
  ])

describeWith('redis', 'a budget that four machines share', () => {
  test.for([
    [100, 2],
    [40, 6],
    [5, 20],
  ] as const)(
    'is spent as far as one machine would spend it, with batches of %i at %i requests per second',
    async ([size, ratePerSecond], { onTestFinished, annotate }) => {
      const scenario = scenarioOf(size, ratePerSecond)
      const { serve, startWorkers, startLoad } = await startQueue(onTestFinished)
      const lies = charging === undefined ? [] : [charging]
      const service = await serve(lies)
      const { plan } = await draftPlan(scenario, { target: service.target })
      const budgetUsd = plan.forecast.worstUsd ?? '0'
      const flags = ['--budget-usd', budgetUsd, '--seed', '7']
      await startWorkers(shards)
      const run = await startLoad({ shards, scenario, target: service.target, flags })
      await run.conclude()
      const { stop } = await run.progress()
      const together = service.spent(run.id)

      const single = await serve(lies)
      const common = ['--target', single.target, '--out', freshDirectory(), '--no-progress', '--no-warm-up']
      const one = startForTest(['run', scenario, ...common, ...flags], onTestFinished)
      const [id = ''] = /\d{8}T\d{6}Z-[0-9a-f]{6}/.exec(await one.said(/Run \S+/)) ?? []
      await one.ended
      const alone = single.spent(id)
      await annotate(`together $${formatPico(together)}, alone $${formatPico(alone)}, of $${budgetUsd}`)
      expect(stop).toBe('budget-reached')
      expect(together).toBeLessThanOrEqual(pico(budgetUsd))
      expect(Number(together)).toBeGreaterThan(0.9 * Number(alone))
    },
  )
})
