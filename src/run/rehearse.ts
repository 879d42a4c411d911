import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Contract } from '../contract/contract.ts'
import { systemClock } from '../lib/clock.ts'
import type { CallPlan, Plan, StagePlan } from '../plan/plan.ts'
import { type RunningServer, startServer } from '../service/server.ts'
import { createService } from '../service/service.ts'
import { undiciTransport } from '../transport/undici.ts'
import { carryOutUnrecorded } from './carry-out-unrecorded.ts'

/** So many that few of them reach a limit, and most are answered as in the load. */
const callers = 64
const users = 8
const balance = '1000'
const atOnce = { ttftMs: 0, ttftSigma: 0, itlMs: 0, itlSigma: 0, rpcMs: 0, rpcSigma: 0 }

/**
 * Carries out the calls of a plan for half a second against a reference service in this very thread, and forgets what came
 * of it. JavaScript is compiled while it runs, first roughly and then well: a call that waits for that goes out late, or
 * its answer is read late, and the target would be blamed for it. Gives how many requests there were; a run goes without,
 * where there is nothing to listen at.
 */
export async function rehearse(plan: Plan, contract: Contract): Promise<number> {
  const clock = systemClock()
  const service = createService({
    contract,
    clock,
    seed: plan.seed,
    openingBalanceUsd: balance,
    openingBalanceDiem: balance,
    timing: atOnce,
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
  let requests = 0
  await carryOutUnrecorded({
    plan: rehearsalOf(plan),
    // A balance is not waited for that nobody will look at.
    contract: { ...contract, billing: { ...contract.billing, settleMs: 0 } },
    target,
    runId: 'rehearsal',
    clock,
    send: transport.send,
    watch: ({ sentMs }) => {
      if (sentMs !== null) requests++
    },
  })
  await transport.close()
  await server.close()
  collectGarbage()
  return requests
}

/** All of its calls alike, as fast as they are answered, and then by a driver that waits for their time. */
export function rehearsalOf(plan: Plan): Plan {
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
      name: `rehearsal-${index}`,
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

const withoutWaits = (call: CallPlan): CallPlan => (call.kind === 'replay' ? { ...call, againAfterMs: null } : call)

/** What a rehearsal leaves behind would be moved about, for 10 ms, when the load has begun. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const gc: () => void = runInNewContext('gc')
  gc()
}
