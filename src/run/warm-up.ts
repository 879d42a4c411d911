import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Contract } from '../contract/contract.ts'
import { systemClock } from '../lib/clock.ts'
import type { Call, Plan, StagePlan } from '../plan/plan.ts'
import { undiciTransport } from '../produce/transport/undici.ts'
import { type RunningServer, startServer } from '../service/server.ts'
import { createService } from '../service/service.ts'
import { inlineIo, unrecordedJob } from './inline.ts'
import { run } from './run.ts'

/** Enough callers that few of them reach a limit, so most responses are like those in the load. */
const callers = 64
const users = 8
const balance = '1000'
const noLatency = { ttftMs: 0, ttftSigma: 0, itlMs: 0, itlSigma: 0, rpcMs: 0, rpcSigma: 0 }

/**
 * Sends the calls of a plan for half a second to a reference service in the current thread, and drops the result. V8
 * compiles JavaScript while it runs, and optimizes it later. Without a warm-up, the first requests would be sent late
 * or their responses read late, and the target would seem slow. Resolves with the number of requests: 0 if the service
 * cannot listen on a port; the run then starts without a warm-up.
 */
export async function warmUp(plan: Plan, contract: Contract): Promise<number> {
  const clock = systemClock()
  const service = createService({
    contract,
    clock,
    seed: plan.seed,
    openingBalanceUsd: balance,
    openingBalanceDiem: balance,
    timing: noLatency,
    lies: [],
  })
  let server: RunningServer
  try {
    server = await startServer({ service, port: 0, host: '127.0.0.1' })
  } catch {
    return 0
  }
  const target = `http://127.0.0.1:${server.port}/api/v1`
  const transport = undiciTransport({ baseUrl: target, clock, maxConnections: plan.bounds.maxInFlight })
  // The balances are not checked, so they need no time to settle.
  const withoutSettling = { ...contract, billing: { ...contract.billing, settleMs: 0 } }
  const info = { runId: 'warm-up', target, startedAtMs: clock.wallMs() }
  const io = inlineIo({ clock, transport: transport.send })
  const { load } = await run(unrecordedJob(warmUpPlan(plan), withoutSettling, info), io)
  await transport.close()
  await server.close()
  collectGarbage()
  return load.sent
}

/** All calls with the same weight, first with the closed model and then with the open model. */
export function warmUpPlan(plan: Plan): Plan {
  const mix = Object.keys(plan.calls).map(call => [call, 1] as const)
  const stages: readonly Pick<StagePlan, 'durationMs' | 'load'>[] = [
    { durationMs: 300, load: { model: 'closed', users, thinkMs: 0, mix } },
    { durationMs: 150, load: { model: 'open', shape: { kind: 'constant', perSecond: 500 }, mix } },
  ]
  const common = { callers, firstCaller: 0, beyondFailures: false }
  return {
    ...plan,
    callers: { ...plan.callers, names: Array.from({ length: callers }, (_, index) => `c${index}`), keysFile: null },
    stages: stages.map((stage, index) => ({
      ...common,
      ...stage,
      name: `warm-up-${index}`,
      startMs: stages.slice(0, index).reduce((sum, { durationMs }) => sum + durationMs, 0),
    })),
    calls: Object.fromEntries(Object.entries(plan.calls).map(([name, call]) => [name, withoutWaits(call)])),
    bounds: { ...plan.bounds, drainMs: 0 },
    slo: {},
    thresholds: [],
    budgetUsd: null,
    record: 'none',
  }
}

const withoutWaits = (call: Call): Call => (call.kind === 'replay' ? { ...call, repeatAfterMs: null } : call)

/** Collects the garbage of the warm-up now; during the load this would stall the thread for 10 ms. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const gc: () => void = runInNewContext('gc')
  gc()
}
