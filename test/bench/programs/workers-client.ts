import { systemClock } from '../../../src/lib/clock.ts'
import { makePlan } from '../../../src/plan/make-plan.ts'
import { loadCallers } from '../../../src/produce/callers/api-keys.ts'
import { run } from '../../../src/run/run.ts'
import { startThread } from '../../../src/run/threads.ts'
import { parseScenario } from '../../../src/scenario/load-scenario.ts'
import { benchContract } from '../support/bench-contract.ts'

/**
 * One closed-loop run of single RPC calls on several threads, with every judge and without a recording. All callers
 * share one account at the target, so the account counts as shared. Arguments: port, threads, seconds. Sends the CPU
 * time per call of all threads by IPC.
 */
const [port, workers, seconds] = process.argv.slice(2).map(Number)
const scenario = `
name: bench
callers: { count: 4, shared: true }
calls: { rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } } }
stages: [{ name: load, duration: ${seconds}s, shape: closed, users: 64, mix: { rpc: 1 } }]
bounds: { max-in-flight: 4096 }
record: none
thresholds: [{ expect: violations == 0, why: The target meets every clause. }]
`
const target = `http://127.0.0.1:${port}/api/v1`
const overrides = { seed: 1, target, budgetUsd: null }
const plan = makePlan(parseScenario(scenario, 'bench', benchContract), benchContract, overrides)
const clock = systemClock()
const runId = `bench${process.pid}`
const never = new AbortController().signal
const usedAtStart = process.cpuUsage()
// The CPU time of a warm-up would count as that of the calls.
const report = await run(
  {
    info: { turnpike: 2, runId, version: 'bench', target, startedAtMs: clock.wallMs() },
    plan,
    contract: benchContract,
    callers: loadCallers(plan.callers, { environment: undefined, loopback: true, areOptional: false, runId }),
    specialKeys: { 'free-user': null, 'zero-balance': null },
    secrets: [],
    baseUrl: target,
    baselines: null,
    workers: workers ?? 1,
    warmUp: false,
    failFast: false,
    untilDecided: false,
    gauges: false,
    details: false,
  },
  {
    clock,
    stop: never,
    quit: never,
    startWorker: startThread,
    directory: null,
    outputs: [],
    log: line => console.error(line),
    unwritten: () => {},
  },
)
const { user, system } = process.cpuUsage(usedAtStart)
const count = report.calls.find(call => call.stage === 'load')?.count ?? 0
process.send?.({
  verdict: report.verdict,
  reasons: report.reasons,
  perSecond: count / (seconds ?? 1),
  cpuMsPerCall: (user + system) / 1e3 / count,
})
process.once('disconnect', () => process.exit())
