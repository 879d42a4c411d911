import { describe, expect, test } from 'vitest'
import { parseProfile } from '../../../src/contract/profile.ts'
import { notPromised } from '../../../src/contract/promises.ts'
import { firstScenario } from '../../../src/learn/first-scenario.ts'
import { parseJson } from '../../../src/lib/json.ts'
import type { Transport } from '../../../src/produce/transport/transport.ts'
import { learnFrom } from '../../support/learn-from.ts'
import { nodeServer, scripted } from '../../support/scripted.ts'

test('a node keeps JSON-RPC and nothing else', async () => {
  const { yaml, differences, replies } = await learnFrom({ over: () => nodeServer })
  // With 13 that look for a limit that it does not state.
  expect(replies.length).toBeLessThanOrEqual(30 + 13)
  expect(differences).toEqual(['missing: it is a JSON-RPC node, and nothing else of the document'])
  const contract = parseProfile(yaml, 'x')
  expect(contract.paths.rpc).toBe('')
  expect(contract.rpc.requestsPerMinute).toBe(null)
  expect(notPromised(contract)).not.toContain('rpc.id')
  expect(notPromised(contract)).toContain('rpc.credits.amount')
})

test('a node whose responses lack their version is one, too, and has a defect', async () => {
  const over = (): Transport => async (request, signal) => {
    const answer = await nodeServer(request, signal)
    return { ...answer, body: Buffer.from(answer.body.toString().replaceAll('"jsonrpc":"2.0",', '')) }
  }
  const { differences } = await learnFrom({ over })
  expect(differences).toContainEqual(expect.stringMatching(/^rpc\.response: .* jsonrpc is/))
})

const tooLarge = { jsonrpc: '2.0', id: 1, error: { code: -32600, message: 'batch too large' } }

test('a limit that refuses each longer batch leaves a first scenario that fits', async () => {
  const limitExceeded = { jsonrpc: '2.0', id: null, error: { code: -32005, message: 'limit exceeded' } }
  const over = (): Transport => (request, signal) => {
    const items: unknown = parseJson(request.body ?? '')
    const length = Array.isArray(items) ? items.length : 0
    const tooLong = { ...tooLarge, error: { ...tooLarge.error, message: 'at most 50 items' } }
    const refusal = length > 50 ? tooLong : limitExceeded
    return (length > 2 ? scripted(() => ({ body: JSON.stringify(refusal) })) : nodeServer)(request, signal)
  }
  const lesson = await learnFrom({ over })
  expect(lesson.contract.rpc.batchLimit).toBe(2)
  expect(firstScenario(lesson, { tierPerMinute: null, budgetUsd: null })).toContain('size: 2, failing-items: 1')
})

test.each([
  ['a list of one error, as Geth does', [tooLarge]],
  ['one error', tooLarge],
])('a batch is too long if its answer is %s', async (_, refusal) => {
  const over = (): Transport => async (request, signal) => {
    const items: unknown = parseJson(request.body ?? '')
    const isTooLong = Array.isArray(items) && items.length > 250
    return isTooLong
      ? scripted(() => ({ body: JSON.stringify(refusal) }))(request, signal)
      : nodeServer(request, signal)
  }
  const contract = parseProfile((await learnFrom({ over })).yaml, 'x')
  expect(contract.rpc.batchLimit).toBe(250)
  expect(notPromised(contract)).not.toContain('rpc.protocol.batch-limit')
})

test.each([200, 429])('a limit that refuses with a JSON-RPC error and status %s is waited for', async status => {
  const limitExceeded = { jsonrpc: '2.0', id: null, error: { code: -32005, message: 'limit exceeded' } }
  const over = (_: Transport, { wallMs }: { readonly wallMs: () => number }): Transport => {
    let [second, used] = [0, 0]
    return async (request, signal) => {
      const now = Math.floor(wallMs() / 1_000)
      ;[second, used] = [now, now === second ? used + 1 : 1]
      const refusal = scripted(() => ({ status, body: JSON.stringify(limitExceeded) }))
      return used > 3 ? refusal(request, signal) : nodeServer(request, signal)
    }
  }
  const limited = await learnFrom({ over })
  const free = await learnFrom({ over: () => nodeServer })
  expect(limited.differences).toEqual(free.differences)
  const [contract, unlimited] = [parseProfile(limited.yaml, 'x'), parseProfile(free.yaml, 'x')]
  expect([contract.promises, contract.rpc]).toEqual([unlimited.promises, unlimited.rpc])
})

test.each([
  ['a node that answers batches', (body: unknown) => body, true],
  ['one that refuses them', (body: unknown) => (Array.isArray(body) ? { id: null } : body), false],
])('the first scenario for %s puts to the test what it answers', async (_, read, hasBatches) => {
  const over = (): Transport => request =>
    nodeServer({ ...request, body: JSON.stringify(read(parseJson(request.body ?? ''))) }, new AbortController().signal)
  const scenario = firstScenario(await learnFrom({ over }), { tierPerMinute: null, budgetUsd: null })
  expect(scenario.includes('kind: rpc-batch, methods: { eth_blockNumber: 1 }, size: 4, failing-items: 1')).toBe(
    hasBatches,
  )
  expect(scenario).toContain('  rpc: { kind: rpc, methods: { eth_blockNumber: 1 } }')
  expect(scenario).toMatch(/name: rules, .* calls: \[rpc-batch-of-nothing, rpc-notification, /)
})

describe.each([200, 429])('a limit of items that refuses with -32005 and status %s', status => {
  test.each([
    [10, 1_000],
    [25, 1_000],
    [1_000, 1_000],
    [60, 10_000],
  ])('of %i in %i ms leaves a first scenario that calls the node', async (amount, windowMs) => {
    const limitExceeded = { jsonrpc: '2.0', id: null, error: { code: -32005, message: 'limit exceeded' } }
    const over = (_: Transport, { wallMs }: { readonly wallMs: () => number }): Transport => {
      let [window, used] = [0, 0]
      return (request, signal) => {
        const now = Math.floor(wallMs() / windowMs)
        const items: unknown = parseJson(request.body ?? '')
        used = (now === window ? used : 0) + (Array.isArray(items) ? items.length : 1)
        window = now
        const refusal = scripted(() => ({ status, body: JSON.stringify(limitExceeded) }))
        return (used > amount ? refusal : nodeServer)(request, signal)
      }
    }
    const lesson = await learnFrom({ over, isBrief: true })
    const scenario = firstScenario(lesson, { tierPerMinute: null, budgetUsd: null })
    expect(scenario).toContain('  rpc: { kind: rpc, methods: { eth_blockNumber: 1 } }')
    expect(scenario).not.toContain('models')
    expect(lesson.differences).toEqual(['missing: it is a JSON-RPC node, and nothing else of the document'])
    expect(lesson.tookMs).toBeLessThan(30_000)
  })
})
