import { epochOf, systemClock } from '../../../src/lib/clock.ts'
import { makePlan } from '../../../src/plan/make-plan.ts'
import { singleShard } from '../../../src/plan/shard.ts'
import { createSaturate } from '../../../src/produce/transport/autocannon.ts'
import { undiciTransport } from '../../../src/produce/transport/undici.ts'
import { inlineIo, unrecordedJob } from '../../../src/run/inline.ts'
import { run } from '../../../src/run/run.ts'
import { warmUp } from '../../../src/run/warm-up.ts'
import { parseScenario } from '../../../src/scenario/load-scenario.ts'
import { benchContract } from '../support/bench-contract.ts'

/**
 * One run of single RPC calls in its own process, with every judge and without a recording. Arguments: port; `closed`,
 * `saturate` or `open`; users, connections or calls per second; seconds. Sends its results by IPC.
 */
const [port, model, amount, seconds] = process.argv.slice(2)
const shapes: Readonly<Record<string, string>> = {
  closed: `shape: closed, users: ${amount}`,
  saturate: `shape: saturate, connections: ${amount}, max-calls: 10000000`,
  open: `shape: constant, rate: ${amount}/s`,
}
const stage = shapes[model ?? '']
const scenario = `
name: bench
callers: { count: 1 }
calls: { rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } } }
stages: [{ name: load, duration: ${seconds}s, ${stage}, mix: { rpc: 1 } }]
bounds: { max-in-flight: 4096 }
record: none
thresholds: [{ expect: violations == 0, why: The target meets every clause. }]
`
const target = `http://127.0.0.1:${port}/api/v1`
const plan = makePlan(parseScenario(scenario, 'bench', benchContract), benchContract, {
  seed: 1,
  target,
  budgetUsd: null,
})
const clock = systemClock()
const runId = `bench${process.pid}`
const transport = undiciTransport({ baseUrl: target, clock, maxConnections: 4096 })
const job = unrecordedJob(plan, benchContract, { runId, target, startedAtMs: clock.wallMs() })
const saturate = createSaturate({ baseUrl: target, clock })
await warmUp(
  { ...job, shard: singleShard, epoch: epochOf(clock), maxConnections: 4096 },
  { clock, saturate: async baseUrl => createSaturate({ baseUrl, clock }), signal: new AbortController().signal },
)
const usedAtStart = process.cpuUsage()
const report = await run(job, inlineIo({ clock, transport: transport.send, saturate }))
const { user, system } = process.cpuUsage(usedAtStart)
await transport.close()
const load = report.calls.find(call => call.stage === 'load')
process.send?.({
  verdict: report.verdict,
  reasons: report.reasons,
  perSecond: (load?.count ?? 0) / Number(seconds),
  cpuMsPerCall: (user + system) / 1e3 / (load?.count ?? 0),
  count: load?.count ?? 0,
  latency: load?.latencyMs,
  lateness: report.load.latenessMs,
  judgements: report.clauses.reduce((sum, clause) => sum + clause.judged, 0),
  rssMb: process.memoryUsage.rss() / 1e6,
})
process.once('disconnect', () => process.exit())
