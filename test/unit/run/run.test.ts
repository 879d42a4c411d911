import { expect, test } from 'vitest'
import type { LiveRun, Output } from '../../../src/outputs/output.ts'
import type { Report } from '../../../src/report/document.ts'
import type { StartWorker } from '../../../src/run/messages.ts'

import type { RunIo } from '../../../src/run/run.ts'

import { knownLie } from '../../../src/service/lies/lies.ts'
import { virtualRun } from '../../support/virtual-run.ts'

const scenario = `name: test
callers: { count: 12 }
calls: { rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } } }
stages: [{ name: load, duration: 20s, shape: constant, rate: 10/s, mix: { rpc: 1 } }]
`

/** The second worker is lost at the start of the load. */
const losing =
  (start: StartWorker): StartWorker =>
  (job, events) => {
    const worker = start(job, events)
    if (job.shard.worker !== 1) return worker
    const lose = async () => {
      await worker.terminate()
      events.onLost('a test reason')
      return null
    }
    return { ...worker, drive: lose, close: async () => null, finish: async () => null, snapshot: async () => null }
  }

/** Aborted this long after the start of the load. */
function after(ms: number, { clock }: RunIo): AbortSignal {
  const controller = new AbortController()
  clock.at(ms, () => controller.abort())
  return controller.signal
}

test('a lost worker ends the run, which reports this and the results of the others', async () => {
  const log: string[] = []
  const { report } = await virtualRun({
    scenario,
    workers: 3,
    change: ({ startWorker }) => ({ startWorker: losing(startWorker), log: line => log.push(line) }),
  })
  expect(log).toEqual(['Worker 2 of 3 crashed: a test reason. The run stops now.'])
  expect([report.verdict, report.run.ended]).toEqual(['inconclusive', 'worker-lost'])
  expect(report.load.workers.map(({ lost: isLost }) => isLost)).toEqual([false, true, false])
})

test('workers end when their report is written, since the end of a thread may crash the program', async () => {
  const order: string[] = []
  const noting =
    (start: StartWorker): StartWorker =>
    (...job) => {
      const worker = start(...job)
      return {
        ...worker,
        terminate: () => {
          order.push('a worker ends')
          return worker.terminate()
        },
      }
    }
  const output: Output = {
    start: () => {},
    finish: async () => {
      order.push('the report is written')
    },
    close: async () => {},
  }
  await virtualRun({
    scenario,
    workers: 2,
    change: ({ startWorker, outputs }) => ({ startWorker: noting(startWorker), outputs: [...outputs, output] }),
  })
  expect(order).toEqual(['the report is written', 'a worker ends', 'a worker ends'])
})

test('a worker that stops ends all workers with its reason', async () => {
  const { report } = await virtualRun({
    scenario: `${scenario}budget: { usd: 0.0001 }`,
    workers: 2,
  })
  expect(report.run.ended).toBe('budget-reached')
  expect(report.load.workers.every(({ sent }) => sent < 30)).toBe(true)
})

test('a stop ends the load early, but the closing balance checks are still sent', async () => {
  const { report, observations } = await virtualRun({
    scenario,
    workers: 2,
    change: io => ({ stop: after(5_000, io) }),
  })
  expect(report.run.ended).toBe('interrupted')
  expect(observations.filter(({ stage }) => stage === 'load').length).toBeLessThan(60)
  expect(observations.filter(({ stage }) => stage === '(closing)')).toHaveLength(12)
})

test('a quit cancels requests in flight and sends nothing more', async () => {
  const { report, observations } = await virtualRun({
    scenario,
    workers: 2,
    network: { delayMs: () => 700 },
    change: io => ({ quit: after(5_000, io) }),
  })
  expect(report.run.ended).toBe('interrupted')
  expect(observations.filter(({ stage }) => stage === '(closing)')).toEqual([])
})

test('an output starts before the first request, and finishes with the report after a last poll', async () => {
  const seen: string[] = []
  let live: LiveRun | null = null
  let finished: Report | null = null
  const output: Output = {
    start: started => {
      live = started
      seen.push(started.stage())
    },
    finish: async report => {
      finished = report
      const violations = live?.view().metrics.all().sent
      seen.push(`${violations === report.load.sent}`)
    },
    close: async () => {},
    pushCounts: () => ({ takenSamples: 3, lostSamples: 2, failures: 1 }),
  }
  const { report } = await virtualRun({ scenario, change: () => ({ outputs: [output] }) })
  expect(seen).toEqual(['(opening)', 'true'])
  expect(finished).toBe(report)
  expect(report.load.pushed).toEqual({ takenSamples: 3, lostSamples: 2, failures: 1 })
})

test('with "record: findings" observations are still judged in batches, and only cited ones are recorded', async () => {
  const run = async (record: string) => {
    let batches = 0
    const { report, observations } = await virtualRun({
      scenario: `${scenario}record: ${record}`,
      defer: work => {
        batches++
        work(() => true)
      },
    })
    return { batches, sent: report.load.sent, recorded: observations.length }
  }
  const all = await run('all')
  const findings = await run('findings')
  // The opening balance checks are judged separately, and all later observations in batches of 128.
  expect(findings.batches).toBe(Math.floor((findings.sent - 12) / 128))
  expect(findings.batches).toBeGreaterThan(0)
  expect(findings.batches).toBe(all.batches)
  expect([all.recorded, findings.recorded]).toEqual([all.sent, 0])
})

const chats = `name: test
callers: { count: 4, shared: true }
calls: { chat: { kind: chat, stream: false, model-tier: S, prompt-tokens: 50, max-completion-tokens: 400 } }
stages: [{ name: load, duration: 60s, shape: constant, rate: 4/s, mix: { chat: 1 } }]
budget: { usd: 0.02 }
`

test.each(['cost-without-bound', 'cost-as-nan', 'negative-cost', 'cost-without-diem'])(
  'a budget holds though no claim can be read and no balance counts: %s',
  async name => {
    const { report, contract, observations } = await virtualRun({ scenario: chats, lies: [knownLie(name)] })
    const paid = observations.filter(({ response }) => response?.status === 200 && response.body.kind === 'json')
    const price = contract.models.find(({ tier }) => tier === 'S')?.usdPerMillion
    const most = 400 * Number(price?.output) + 50 * Number(price?.input)
    const completions = paid.filter(({ request }) => request.kind === 'chat').length
    expect(report.run.ended).toBe('budget-reached')
    expect(completions).toBeGreaterThan(3)
    expect((completions * most) / 1_000_000).toBeLessThanOrEqual(0.02)
  },
)
