import { expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { type Ask, type AskerOptions, createAsker } from '../../../src/learn/asker.ts'
import type { Exchange, Transport } from '../../../src/produce/transport/transport.ts'
import { type ManualClock, manualClock } from '../../../src/prove/manual-clock.ts'

type Scripted = { readonly status?: number; readonly headers?: Exchange['headers']; readonly body?: string }

/** A target that answers at once, and the instants of its requests. */
function scripted(clock: ManualClock, answer: (call: number) => Scripted | null) {
  const sentMs: number[] = []
  const send: Transport = async () => {
    const reply = answer(sentMs.push(clock.nowMs()))
    const base = {
      sentMs: 0,
      headersMs: 0,
      endMs: 0,
      bytes: 0,
      headers: reply?.headers ?? {},
      body: Buffer.from(reply?.body ?? '{}'),
    }
    return reply === null
      ? { ...base, status: null, failure: { reason: 'headers-timeout', detail: '' } }
      : { ...base, status: reply.status ?? 200, failure: null }
  }
  return { send, sentMs }
}

const look: Ask = { call: { kind: 'models' }, worstPico: 0n }

const rpcCall: Ask = {
  call: { kind: 'rpc', network: 'ethereum-mainnet', methods: [['eth_chainId', 1]], batchSize: null, failing: 0 },
  worstPico: 0n,
}

function askerFor(answer: (call: number) => Scripted | null, options: Partial<AskerOptions> = {}) {
  const clock = manualClock()
  const { send, sentMs } = scripted(clock, answer)
  const caller = { kind: 'key' as const, name: 'learn', keys: ['sk-live-4f9a8b7c6d5e'] }
  const asker = createAsker({ send, clock, caller, zeroBalanceKey: null, budgetPico: null, maxCalls: 60, ...options })
  return {
    asker,
    clock,
    sentMs,
    times: (count: number, ask = look) => clock.run(repeat(count, () => asker.ask(ask, documentedContract))),
  }
}

async function repeat<T>(count: number, work: () => Promise<T>): Promise<readonly T[]> {
  const results: T[] = []
  for (let index = 0; index < count; index++) results.push(await work())
  return results
}

test('makes no call beyond the maximum', async () => {
  const { times, sentMs } = askerFor(() => ({}), { maxCalls: 3 })
  const replies = await times(5)
  expect(sentMs.length).toBe(3)
  expect(replies.slice(3).map(({ why }) => why)).toEqual(Array(2).fill('not asked, because 3 calls are the maximum'))
})

test('makes no call whose maximum exceeds what is left of the budget', async () => {
  const paid = { ...look, worstPico: 40n }
  const { times, asker } = askerFor(() => ({}), { budgetPico: 100n })
  const replies = await times(3, paid)
  expect(replies.map(({ call }) => call)).toEqual([1, 2, 0])
  expect(asker.spentPico()).toBe(80n)
})

test('counts a claimed cost, and a negative one as the maximum', async () => {
  const claims = ['0.00000000001', '-5']
  const { times, asker } = askerFor(call => ({ headers: { 'x-a-rpc-cost-usd': claims[call - 1] ?? '' } }))
  await times(2, { ...look, worstPico: 40n })
  expect(asker.spentPico()).toBe(50n)
})

test('a refusal costs what it claims, and the maximum if its claim cannot be read', async () => {
  const claims = ['0.00000000001', '1e400', undefined]
  const { times, asker } = askerFor(call => {
    const claim = claims[call - 1]
    return { status: 400, headers: claim === undefined ? {} : { 'x-a-rpc-cost-usd': claim } }
  })
  const spent = async () => {
    await times(1, { ...look, worstPico: 40n })
    return asker.spentPico()
  }
  expect(await spent()).toBe(10n)
  expect(await spent()).toBe(50n)
  expect(await spent()).toBe(50n)
})

test('counts what has left a balance, if the claims are less', async () => {
  const { times, asker } = askerFor(call => ({
    headers: { 'x-a-balance-usd': call === 1 ? '10' : '9.5', 'x-a-rpc-cost-usd': '0' },
  }))
  await times(2)
  expect(asker.spentPico()).toBe(500_000_000_000n)
})

test('a balance that is missing from some responses is no charge', async () => {
  const { times, asker } = askerFor(call => ({
    headers: { 'x-a-balance-diem': '0', 'x-a-rpc-cost-usd': '0', ...(call === 1 && { 'x-a-balance-usd': '10' }) },
  }))
  await times(2)
  expect(asker.spentPico()).toBe(0n)
})

test('has at most 15 failures within any 30 seconds', async () => {
  const { times, sentMs } = askerFor(() => ({ status: 400 }))
  await times(50)
  expect(sentMs.length).toBe(50)
  for (const [index, atMs] of sentMs.entries())
    expect((sentMs[index + 15] ?? Number.POSITIVE_INFINITY) - atMs).toBeGreaterThan(30_000)
})

test('waits for the end of a window that has no request left', async () => {
  const wallMs = manualClock().wallMs()
  const headers = (call: number) => ({
    'x-ratelimit-remaining-requests': call === 2 ? '0' : '1',
    'x-ratelimit-reset-requests': String(Math.ceil(wallMs / 1000) + 20),
  })
  const { times, sentMs } = askerFor(call => ({ headers: headers(call) }))
  await times(3)
  expect(sentMs[1]).toBe(0)
  expect(sentMs[2]).toBeGreaterThan(20_000)
  expect(sentMs[2]).toBeLessThan(23_000)
})

test('a window that no wait can end ends the calls on its limit, and no others', async () => {
  const { times, asker, clock } = askerFor(() => ({ status: 429 }))
  const replies = await times(8, rpcCall)
  expect(replies.at(-1)?.why).toContain('too long a wait')
  expect(clock.nowMs()).toBeLessThanOrEqual(240_000)
  expect((await clock.run(asker.ask(look, documentedContract))).call).toBeGreaterThan(0)
})

test('a refusal without a stated wait is asked again, soon at first, and its answer is what counts', async () => {
  const { times, sentMs } = askerFor(call => ({ status: call === 2 || call === 3 ? 429 : 200 }))
  const replies = await times(2, rpcCall)
  expect(replies.map(({ status, call }) => [status, call])).toEqual([
    [200, 1],
    [200, 4],
  ])
  expect(sentMs[2]).toBeLessThan(2_000)
  expect(sentMs[3]).toBeLessThan(8_000)
})

test.each<[string, Record<string, string>]>([
  ['seconds', { 'retry-after': '9' }],
  ['milliseconds', { 'retry-after-ms': '9000' }],
  ['a date', { 'retry-after': 'Sat, 01 Aug 2026 12:00:09 GMT', date: 'Sat, 01 Aug 2026 12:00:00 GMT' }],
  ['a reset as a duration', { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '9s' }],
])('waits after a refusal for as long as it states: %s', async (_, headers) => {
  const { times, sentMs } = askerFor(call => (call === 2 ? { status: 429, headers } : {}))
  await times(2, rpcCall)
  expect(sentMs[2]).toBeGreaterThanOrEqual(9_000)
  expect(sentMs[2]).toBeLessThan(11_000)
})

test('requests beyond a limit are asked once, since their refusal is the answer', async () => {
  const { times, sentMs } = askerFor(() => ({ status: 429 }))
  const replies = await times(3, { ...rpcCall, isBeyondLimit: true })
  expect([replies.map(({ status }) => status), sentMs.length]).toEqual([[429, 429, 429], 3])
})

test('stops after three calls in a row without a response', async () => {
  const { times, sentMs } = askerFor(() => null)
  const replies = await times(6)
  expect(sentMs.length).toBe(3)
  expect(replies.at(-1)?.why).toBe('not asked, because the target stopped responding')
})

test('hides the key in whatever the target sends back', async () => {
  const key = 'sk-live-4f9a8b7c6d5e'
  const { times } = askerFor(() => ({ headers: { 'x-echo': `Bearer ${key}` }, body: JSON.stringify({ said: key }) }))
  const [reply] = await times(1)
  expect(JSON.stringify(reply)).not.toContain(key)
  expect(JSON.stringify(reply)).toContain('Bearer ')
})
