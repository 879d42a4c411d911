import { expect, test } from 'vitest'
import { documentedContract } from '../../src/contract/documented.ts'
import type { Plan } from '../../src/plan/plan.ts'
import { plannedRequests } from '../../src/produce/arrivals/planned-requests.ts'
import { buildRequest } from '../../src/produce/calls/kinds.ts'
import type { Report } from '../../src/report/document.ts'
import { readJudgedPlan } from '../../src/storage/run-directory.ts'
import { reportIn, scenarioFile, startQueue } from '../support/queued-run.ts'
import { describeWith } from '../support/real-part.ts'
import { freshDirectory, turnpike } from '../support/turnpike.ts'
import { contentOf, type SeenRequest, type WatchedService } from '../support/watched-service.ts'

/** Calls that all callers share. Their cost does not depend on the order in which the service gets them. */
const scenario = () =>
  scenarioFile('sixteen', [
    'callers: { count: 20 }',
    'calls:',
    '  batch: { kind: rpc-batch, network: ethereum-mainnet, size: 4, failing-items: 1, methods: { eth_getBalance: 1 } }',
    '  replay: { kind: replay, of: batch, duplicates: 1 }',
    '  models: { kind: models }',
    'stages:',
    '  - { name: ramp, duration: 2s, shape: ramp, to: 40/s, mix: { batch: 4, replay: 1 }, exceed-tier: true }',
    '  - { name: steady, duration: 4s, shape: poisson, rate: 40/s, mix: { batch: 4, replay: 1, models: 1 }, exceed-tier: true }',
    'thresholds:',
    '  - { expect: violations == 0, why: The reference service meets every clause. }',
    '  - { expect: failed == 0, why: The service answers. }',
  ])

/** How much earlier than it was due a request may arrive: half a round trip to Redis, on a busy machine. */
const clockErrorMs = 100

/**
 * How often a clause is judged may depend on the shards: balances, on how many requests of a caller overlap; prices that
 * nobody states, on the first response of each shard, with which it compares the others.
 */
const isTimed = (clause: string): boolean =>
  ['billing.conservation', 'rpc.replay.charge', 'rpc.credits.amount', 'rpc.batch.error-price'].includes(clause)

/** What one process and many must have in common. */
const essence = ({ verdict, clauses, billing, load, calls, thresholds }: Report) => ({
  verdict,
  clauses: clauses.map(({ id, verdict, judged, violated }) => [id, verdict, isTimed(id) ? null : judged, violated]),
  billing: [billing.expectedUsd, billing.claimedUsd, billing.discrepancies],
  load: [load.planned, load.sent, load.answered, load.failed, load.dropped],
  calls: calls.map(({ stage, call, count }) => [stage, call, count]),
  thresholds: thresholds.map(({ expression, verdict }) => [expression, verdict]),
})

describeWith('redis', 'sixteen shards', () => {
  test('give the verdict, clauses, ledger and requests of one process', async ({ onTestFinished }) => {
    const { serve, startWorkers, startLoad } = await startQueue(onTestFinished)
    const [service, another] = await Promise.all([serve(), serve()])
    const flags = ['--seed', '7']
    await startWorkers(16)
    const sharded = await startLoad({ shards: 16, scenario: scenario(), target: service.target, flags })
    const { startMs } = await sharded.progress()
    const many = await sharded.conclude()
    expect(many.code, many.stderr).toBe(0)
    expect(many.report.load.workers).toHaveLength(16)
    const [out, target] = [freshDirectory(), another.target]
    const single = ['run', scenario(), '--target', target, '--out', out, '--no-progress', '--no-warm-up', ...flags]
    expect((await turnpike(single)).code).toBe(0)

    const one = reportIn(out)
    expect(essence(many.report)).toEqual(essence(one))
    const { plan } = readJudgedPlan(sharded.out)
    const planned = scheduleOf(plan)
    expect(planned.length).toBeGreaterThan(200)
    const ofMany = requestsOf(service, sharded.id)
    const ofOne = requestsOf(another, one.run.id)
    expect(loadOf(ofMany)).toEqual(planned.map(({ request }) => request).toSorted())
    expect(loadOf(ofOne)).toEqual(loadOf(ofMany))
    expect(checksOf(ofOne)).toEqual(checksOf(ofMany))

    // A repetition waits for its original, so the first request of each kind is the one with the due time.
    const dueMs = new Map(planned.toReversed().map(({ request, dueMs }) => [request, dueMs]))
    const firstMs = new Map(ofMany.toReversed().map(seen => [nameOf(seen), seen.atMs]))
    const late = [...dueMs].flatMap(([request, due]) =>
      request.includes(' POST ') ? [(firstMs.get(request) ?? 0) - (startMs ?? 0) - due] : [],
    )
    expect(Math.min(...late)).toBeGreaterThan(-clockErrorMs)
    expect(late.toSorted((a, b) => a - b)[Math.floor(late.length / 2)]).toBeLessThan(1_000)
  })
})

const nameOf = ({ caller, content }: Pick<SeenRequest, 'caller' | 'content'>): string => `${caller} ${content}`

const isCheck = ({ content }: SeenRequest): boolean => content.startsWith(`GET ${documentedContract.paths.rateLimits}`)

/** What the target got of a run, in any order. Requests without a key are of any run. */
const requestsOf = (service: WatchedService, runId: string): readonly SeenRequest[] => {
  const [{ run } = { run: '' }] = service.load(runId)
  return service.seen().filter(seen => seen.run === run || seen.run === '')
}

/** Its load: what asks for a list is a question before it, or a balance check, or a call of its own. */
const loadOf = (requests: readonly SeenRequest[]): readonly string[] => {
  const beganMs = Math.min(...requests.flatMap(({ isPost, atMs }) => (isPost ? atMs : [])))
  return requests
    .filter(seen => seen.isPost || (seen.atMs >= beganMs && !isCheck(seen)))
    .map(nameOf)
    .toSorted()
}

const checksOf = (requests: readonly SeenRequest[]): readonly string[] =>
  requests.filter(isCheck).map(nameOf).toSorted()

/** Every request of the load as the plan and the seed decide it. */
function scheduleOf(plan: Plan): readonly { readonly request: string; readonly dueMs: number }[] {
  const contract = documentedContract
  const runId = 'run'
  return [...plannedRequests(plan, true)].flatMap(({ stage, call: name, firstId, step, caller, dueMs }) => {
    const call = plan.calls[name]
    if (stage === '(opening)' || call === undefined) return []
    const context = { contract, bounds: plan.bounds, seed: plan.seed, runId }
    const { request } = buildRequest(call, { firstId, step }, { authorization: caller }, context)
    const { method, path, headers, body } = request
    const group = headers['idempotency-key']?.slice(`${runId}-`.length) ?? null
    const sender = headers.authorization === undefined ? '' : (/[^-_]+$/.exec(caller)?.[0] ?? '')
    return [{ request: nameOf({ caller: sender, content: contentOf(method, path, group, String(body ?? '')) }), dueMs }]
  })
}
