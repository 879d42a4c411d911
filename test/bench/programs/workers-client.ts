import { systemClock } from '../../../src/lib/clock.ts'
import { makePlan } from '../../../src/plan/make-plan.ts'
import { loadCallers } from '../../../src/produce/callers/api-keys.ts'
import { run } from '../../../src/run/run.ts'
import { startThread } from '../../../src/run/threads.ts'
import { parseScenario } from '../../../src/scenario/load-scenario.ts'
import { benchContract } from '../bench-contract.ts'

/**
 * One run of single RPC calls by users who wait, divided among threads, every judge on, nothing recorded. To the target
 * all callers are one account, so that it is one that others use. Arguments: port,
 * threads, seconds. Says by IPC how much CPU a call took, all threads together.
 */
const [port, workers, seconds] = process.argv.slice(2).map(Number)
const scenario = `
name: bench
callers: { count: 4, shared: true }
calls: { rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } } }
stages: [{ name: load, duration: ${seconds}s, shape: closed, users: 64, mix: { rpc: 1 } }]
bounds: { max-in-flight: 4096 }
record: none
thresholds: [{ expect: violations == 0, why: The target keeps its word. }]
`
const target = `http://127.0.0.1:${port}/api/v1`
const overrides = { seed: 1, target, budgetUsd: null }
const plan = makePlan(parseScenario(scenario, 'bench', benchContract), benchContract, overrides)
const clock = systemClock()
const runId = `bench${process.pid}`
const never = new AbortController().signal
const began = process.cpuUsage()
// A warm-up's CPU would be counted as that of the calls.
const report = await run(
  {
    info: { turnpike: 2, runId, version: 'bench', target, startedAtMs: clock.wallMs() },
    plan,
    contract: benchContract,
    callers: loadCallers(plan.callers, { environment: undefined, loopback: true, runId }),
    specialKeys: { 'free-user': null, 'zero-balance': null },
    baselines: null,
    workers: workers ?? 1,
    warmUp: false,
    gauges: false,
  },
  {
    clock,
    stop: never,
    quit: never,
    startWorker: startThread,
    directory: null,
    outputs: [],
    log: line => console.error(line),
  },
)
const { user, system } = process.cpuUsage(began)
const count = report.calls.find(call => call.stage === 'load')?.count ?? 0
process.send?.({
  verdict: report.verdict,
  reasons: report.reasons,
  perSecond: count / (seconds ?? 1),
  cpuMsPerCall: (user + system) / 1e3 / count,
})
process.once('disconnect', () => process.exit())
