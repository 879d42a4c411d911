import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRunState, DamagedState, type NewRun, type RunState } from '../../src/run/queue/run-state.ts'
import { describeWith } from '../support/real-part.ts'
import { type RealRedis, startRedis } from '../support/real-redis.ts'

describeWith('redis', 'the state of a run in Redis', () => {
  let server: RealRedis
  let redis: Redis
  let runs = 0
  beforeAll(async () => {
    server = await startRedis()
    redis = new Redis(server.url)
  })
  afterAll(async () => {
    redis.disconnect()
    await server.kill()
  })

  async function newRun(more: Partial<NewRun> = {}): Promise<RunState> {
    const state = createRunState(redis, `run-${runs++}`)
    const [seconds] = await redis.time()
    await state.create({
      shards: 2,
      job: Buffer.from('job'),
      deadlineMs: Number(seconds) * 1_000 + 60_000,
      silenceMs: 300,
      ...more,
    })
    return state
  }

  test('gives a shard to one worker, for all time', async () => {
    const state = await newRun()
    const claims = await Promise.all(['a', 'b', 'c'].map(worker => state.claim(0, worker, 'key')))
    expect(claims.filter(refusal => refusal === null)).toHaveLength(1)
    const [claim] = await state.claims(2)
    for (const refusal of claims) if (refusal !== null) expect(refusal).toBe(`it belongs to ${claim?.worker}`)
  })

  test('gives no shard of a run that has ended, or that it does not know', async () => {
    const state = await newRun()
    await state.stop('interrupted', 'because')
    expect(await state.claim(0, 'a', 'key')).toBe('the run has ended: interrupted')
    expect(await createRunState(redis, 'none').claim(0, 'a', 'key')).toBe('the run is unknown')
  })

  test('tells only the last shard that all are ready, and starts the load once', async () => {
    const state = await newRun()
    for (const shard of [0, 1]) await state.claim(shard, `w${shard}`, 'key')
    expect(await state.arrive(0, 'w0', Buffer.from('first'))).toBeNull()
    expect(await state.arrive(1, 'another', Buffer.from('x'))).toBeNull()
    expect(await state.arrive(1, 'w1', Buffer.from('second'))).toEqual([Buffer.from('first'), Buffer.from('second')])
    await state.start(500)
    const { startMs } = await state.look()
    await state.start(9_000)
    expect((await state.look()).startMs).toBe(startMs)
  })

  test('keeps the first reason to stop, unless a worker is lost', async () => {
    const state = await newRun()
    await state.stop('budget-reached', 'first')
    await state.stop('interrupted', 'second')
    expect((await state.look()).stop).toEqual({ reason: 'budget-reached', why: 'first' })
    await state.stop('worker-lost', 'third')
    expect((await state.look()).stop).toEqual({ reason: 'worker-lost', why: 'third' })
  })

  test('ends a run whose worker is silent, and takes no result from it', async () => {
    const state = await newRun()
    for (const shard of [0, 1]) await state.claim(shard, `w${shard}`, 'key')
    await pause(200)
    await state.beat(0, 'w0', null)
    await pause(200)
    expect((await state.look()).stop).toEqual({ reason: 'worker-lost', why: 'shard 2 was silent for too long' })
    expect(await state.finish(1, 'w1', Buffer.from('late'))).toBe(false)
    // A network that was silent may deliver a heartbeat late. The run has ended, and the report lacks this shard.
    expect((await state.beat(1, 'w1', null)).working).toBe(1)
    expect(await state.finish(1, 'w1', Buffer.from('late'))).toBe(false)
    expect(await state.finish(0, 'another', Buffer.from('foreign'))).toBe(false)
    expect(await state.finish(0, 'w0', Buffer.from('result'))).toBe(true)
    expect(await state.finish(0, 'w0', Buffer.from('result'))).toBe(true)
    expect((await state.look()).finished).toBe(1)
  })

  test('ends a run that does not start in time, and never starts it then', async () => {
    const state = await newRun({ deadlineMs: 1 })
    expect((await state.look()).stop).toEqual({ reason: 'worker-lost', why: 'not every shard was ready in time' })
    await state.start(1)
    expect((await state.look()).startMs).toBeNull()
  })

  const nothing = { limit: 1_000_000n, least: 1_000n, givenBack: 0n, lacking: 0n, isSpare: false, answered: 0 }

  test('leases a budget in parts that never add up to more', async () => {
    const state = await newRun()
    let granted = 0n
    for (let shard = 0; ; shard = 1 - shard) {
      const before = await state.leased()
      await state.lease(shard, { ...nothing, isSpare: true })
      granted = await state.leased()
      if (granted === before) break
    }
    expect(granted).toBe(1_000_000n)
    await state.lease(0, { ...nothing, givenBack: 5_000n })
    await state.lease(0, { ...nothing, givenBack: 5_000n })
    expect(await state.leased()).toBe(995_000n)
    const { granted: before } = await state.lease(1, nothing)
    expect((await state.lease(1, { ...nothing, lacking: 2_000n })).granted - before).toBe(2_000n)
  })

  test('grants what a shard lacks once the other has given it back', async () => {
    const state = await newRun()
    const { granted } = await state.lease(0, { ...nothing, lacking: 900_000n })
    expect(granted).toBe(900_000n)
    const asks = { ...nothing, lacking: 300_000n }
    expect(await state.lease(1, asks)).toEqual({ granted: 0n, asks: 1, isOlderAsk: false, isFinal: false })
    // The other one has not answered yet.
    expect((await state.lease(1, asks)).isFinal).toBe(false)
    expect(await state.lease(0, nothing)).toMatchObject({ asks: 1, isOlderAsk: true })
    await state.lease(0, { ...nothing, givenBack: 250_000n, answered: 1 })
    expect(await state.lease(1, asks)).toMatchObject({ granted: 300_000n, isFinal: false })
    expect(await state.lease(0, { ...nothing, givenBack: 250_000n })).toMatchObject({ isOlderAsk: false })
    // Nobody takes a part in advance any more.
    expect((await state.lease(0, { ...nothing, givenBack: 250_000n, isSpare: true })).granted).toBe(900_000n)
  })

  test('tells a shard that nothing more can be granted only after all others have answered', async () => {
    const state = await newRun({ shards: 3 })
    await state.lease(0, { ...nothing, lacking: 900_000n })
    const asks = { ...nothing, lacking: 300_000n }
    await state.lease(1, asks)
    await state.lease(0, { ...nothing, givenBack: 100_000n, answered: 1 })
    expect((await state.lease(1, asks)).isFinal).toBe(false)
    // The third one is at its end.
    await state.lease(2, { ...nothing, answered: null })
    expect((await state.lease(1, asks)).isFinal).toBe(true)
    // A smaller need can be met.
    expect((await state.lease(1, { ...asks, lacking: 200_000n })).granted).toBe(200_000n)
  })

  test('serves the shard that asked first', async () => {
    const state = await newRun()
    await state.lease(0, { ...nothing, lacking: 500_000n })
    await state.lease(1, { ...nothing, lacking: 500_000n })
    const first = { ...nothing, lacking: 10_000n }
    await state.lease(1, first)
    await state.lease(0, { ...nothing, givenBack: 0n, lacking: 5_000n })
    expect(await state.lease(0, { ...nothing, givenBack: 6_000n, lacking: 5_000n, answered: 1 })).toMatchObject({
      ...{ granted: 500_000n, isOlderAsk: true, isFinal: false },
    })
    expect(await state.lease(1, first)).toMatchObject({ isOlderAsk: false, isFinal: true })
  })

  const whole = 'should be a whole number'
  const damages = [
    ['', 'shards', 'two', `${whole} up to 10000, but is "two"`],
    ['', 'shards', '1e12', `${whole} up to 10000, but is "1e12"`],
    ['', 'shards', '999999999999', `${whole} up to 10000, but is "999999999999"`],
    ['', 'silenceMs', '-1', `${whole}, but is "-1"`],
    ['', 'deadlineMs', null, `${whole}, but is nothing`],
    ['', 'startMs', 'a\u0000b', `${whole}, but is "a?b"`],
    ['', 'finished', 'x'.repeat(99), `${whole}, but is "${'x'.repeat(40)}"`],
    ['', 'leased', '1.5', `${whole}, but is "1.5"`],
    [':leases', 'g0', 'lots', `${whole}, but is "lots"`],
    [':leases', 'a1', '', `${whole}, but is ""`],
  ] as const
  test.each(damages)('ends with the place of a damaged number: %s %s %j', async (key, field, value, found) => {
    const state = await newRun()
    const hash = `turnpike:{run-${runs - 1}}${key}`
    await state.claim(0, 'w0', 'key')
    await state.lease(1, { ...nothing, lacking: 1_000_000n })
    await state.lease(0, { ...nothing, lacking: 1_000n })
    await (value === null ? redis.hdel(hash, field) : redis.hset(hash, field, value))
    const why = `the state of the run in Redis is damaged: field ${field} of ${hash} ${found}`
    await expect(state.lease(0, { ...nothing, lacking: 1_000n })).rejects.toThrow(new DamagedState(why))
    const stop = { reason: 'worker-lost', why }
    expect([(await state.look()).stop, (await state.beat(0, 'w0', null)).stop]).toEqual([stop, stop])
    expect(await redis.hget(`turnpike:{run-${runs - 1}}`, 'why')).toBe(why)
  })

  test('is over if Redis has lost it', async () => {
    const state = createRunState(redis, 'forgotten')
    expect((await state.look()).stop).toEqual({ reason: 'worker-lost', why: 'Redis no longer knows the run' })
    await state.stop('interrupted', 'x')
    await state.beat(0, 'w0', Buffer.from('snapshot'))
    expect([await state.claims(2), await state.views()]).toEqual([[null, null], []])
  })
})
