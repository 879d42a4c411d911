import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { draftPlan } from '../../src/cli/load-plan.ts'
import { formatPico, pico } from '../../src/lib/money.ts'
import { type Random, randomStream } from '../../src/lib/random.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
import { todays } from '../support/nightly.ts'
import { scenarioFile, startQueue } from '../support/queued-run.ts'
import { describeWith } from '../support/real-part.ts'

/** More of them by hand: `TURNPIKE_NIGHTLY=1 TURNPIKE_BUDGETS=50`. */
const plans = Number(process.env.TURNPIKE_BUDGETS ?? 6)
const seconds = 3

/** Charges each repetition like the first request. The plan expects that only the first one costs. */
const charging = lieByName('replay-charged-again')

const between = (random: Random, from: number, to: number): number => from + random.int(to - from + 1)

/** Calls of different prices. Repetitions are the most expensive of them at a target that charges each one. */
function randomScenario(random: Random, callers: number): string {
  const tier = random.next() < 0.5 ? 'XS' : 'S'
  const stream = random.next() < 0.5
  return scenarioFile('spending', [
    `callers: { count: ${callers} }`,
    'calls:',
    `  chat: { kind: chat, stream: ${stream}, model-tier: ${tier}, prompt-tokens: ${between(random, 5, 80)}, max-completion-tokens: ${between(random, 4, 40)} }`,
    `  rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_call: 2, debug_traceTransaction: 1 } }`,
    `  batch: { kind: rpc-batch, network: ethereum-mainnet, size: ${between(random, 2, 12)}, methods: { eth_getBalance: 3, trace_replayTransaction: 1 } }`,
    `  replay: { kind: replay, of: batch, duplicates: ${between(random, 1, 4)}, concurrent: ${random.next() < 0.5} }`,
    'stages:',
    `  - { name: load, duration: ${seconds}s, shape: poisson, rate: ${between(random, 15, 45)}/s, exceed-tier: true, mix: { chat: ${between(random, 1, 3)}, rpc: ${between(random, 1, 4)}, replay: ${between(random, 2, 6)} } }`,
  ])
}

describeWith('redis', 'the budget of a run over several machines', () => {
  test.concurrent.for(
    todays(
      Array.from({ length: plans }, (_, seed) => seed),
      2,
    ),
  )('holds for plan %i, as the target counts', async (seed, { onTestFinished, annotate }) => {
    const random = randomStream(seed, 'budget')
    const shards = between(random, 2, 4)
    const scenario = randomScenario(random, between(random, shards, 8))
    const share = 1 + random.next()
    const victim = seed % 2 === 0 ? null : random.int(shards + 1)
    const momentMs = random.next() * seconds * 1_000
    const { serve, startWorkers, startLoad } = await startQueue(onTestFinished)
    const service = await serve(charging === undefined ? [] : [charging])
    const { plan } = await draftPlan(scenario, { target: service.target, seed })
    const budgetUsd = formatPico((pico(plan.forecast.worstUsd ?? '0') * BigInt(Math.round(share * 100))) / 100n)
    const workers = await startWorkers(shards)
    const flags = ['--seed', String(seed), '--budget-usd', budgetUsd, '--max-silence', '4']
    const run = await startLoad({ shards, scenario, target: service.target, flags })
    await run.until(({ loadMs, stop }) => stop !== null || (loadMs !== null && loadMs > momentMs))
    if (victim !== null) (workers[victim] ?? run.terminal).child.kill('SIGKILL')
    if (victim === shards) {
      // The workers go on without their terminal.
      for (let tries = 0; tries < 600; tries++) {
        const { results, stop } = await run.progress()
        if (results === shards || stop === 'worker-lost') break
        await pause(100)
      }
    } else expect([0, 1, 3]).toContain((await run.conclude()).code)
    for (const { child, ended } of [...workers, run.terminal]) {
      child.kill('SIGKILL')
      await ended
    }
    const spent = service.spent(run.id)
    const { stop } = await run.progress()
    await annotate(`${shards} shards, victim ${victim}, end ${stop}: $${formatPico(spent)} of $${budgetUsd}`)
    expect(spent).toBeGreaterThan(0n)
    expect(spent).toBeLessThanOrEqual(pico(budgetUsd))
  })
})
