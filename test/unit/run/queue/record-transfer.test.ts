import { describe, expect, test } from 'vitest'
import { randomStream } from '../../../../src/lib/random.ts'
import { manualClock } from '../../../../src/prove/manual-clock.ts'
import type { ChunkPlace, RecordStore } from '../../../../src/run/queue/record-store.ts'
import { chunkBytesOf, collectRecords, sendRecord, type TransferIo } from '../../../../src/run/queue/record-transfer.ts'
import type { LogSource, LogTarget } from '../../../../src/storage/log-copy.ts'

/** Chunks in memory. `fails` decides which commands get no response; it is asked before and after each takes effect. */
function memoryStore(fails: () => boolean = () => false) {
  const chunks = new Map<string, Buffer>()
  const kept = new Map<number, string>()
  const read = new Map<string, number>()
  let taker: string | null = null
  let most = 0
  const nameOf = ({ taker, shard, index }: ChunkPlace) => `${taker} ${shard} ${index}`
  const reply = async <Value>(act: () => Value): Promise<Value> => {
    if (fails()) throw new Error('no response')
    const value = act()
    if (fails()) throw new Error('no response')
    return value
  }
  const store: RecordStore = {
    take: key =>
      reply(() => {
        taker = key
      }),
    put: (place, sealed) =>
      reply(() => {
        chunks.set(nameOf(place), sealed)
        most = Math.max(
          most,
          [...chunks.values()].reduce((sum, { length }) => sum + length, 0),
        )
      }),
    progress: (of, shard) => reply(() => ({ taker, read: read.get(`${of} ${shard}`) ?? 0 })),
    confirm: place =>
      reply(() => {
        read.set(`${place.taker} ${place.shard}`, place.index + 1)
        chunks.delete(nameOf(place))
      }),
    remove: places => reply(() => places.forEach(place => void chunks.delete(nameOf(place)))),
    look: place =>
      reply(() => ({ taker, chunk: chunks.get(nameOf(place)) ?? null, kept: kept.get(place.shard) ?? null })),
    keep: (shard, why) => reply(() => void kept.set(shard, why)),
  }
  return { store, chunks, kept, mostBytes: () => most }
}

const logOf = (bytes: Buffer) => async (): Promise<LogSource> => ({
  size: bytes.length,
  read: async (offset, length) => bytes.subarray(offset, offset + length),
  close: async () => {},
})

/** Files in memory, by shard: null while a log is not whole. */
function memoryFiles() {
  const files = new Map<number, Buffer>()
  const create = async (shard: number): Promise<LogTarget> => {
    const parts: Buffer[] = []
    return {
      append: async bytes => void parts.push(bytes),
      keep: async () => void files.set(shard, Buffer.concat(parts)),
      discard: async () => {},
    }
  }
  return { files, create }
}

const patternOf = (length: number, shard: number): Buffer =>
  Buffer.from(Uint8Array.from({ length }, (_, index) => (index * 31 + shard) % 251))

const mebibyte = 2 ** 20

/** Every fifth time on average, by a seed. */
function createFailures(seed: number): () => boolean {
  const random = randomStream(seed, 'failures')
  return () => random.next() < 0.2
}

function setUp(shards: number, fails?: () => boolean) {
  const clock = manualClock()
  const memory = memoryStore(fails)
  const io: TransferIo = { store: memory.store, runId: 'run', shards, clock, quit: new AbortController().signal }
  return { clock, io, ...memory }
}

describe('the logs of shards', () => {
  test('arrive whole, sealed, and Redis never holds more than its bound', async () => {
    const { clock, io, chunks, mostBytes } = setUp(4)
    const logs = [3 * mebibyte + 17, 0, 256 * 1024, 5].map(patternOf)
    const { files, create } = memoryFiles()
    const collector = collectRecords(create, io)
    const sending = logs.map((log, shard) => sendRecord(shard, logOf(log), io))
    for (const shard of logs.keys()) collector.begin(shard)
    await clock.advanceTo(5_000)
    expect(await Promise.all(sending)).toEqual([null, null, null, null])
    expect(await collector.end()).toEqual([null, null, null, null])
    for (const [shard, log] of logs.entries()) expect(files.get(shard)?.equals(log)).toBe(true)
    expect(chunks.size).toBe(0)
    expect(mostBytes()).toBeLessThan(4 * 2 * 256 * 1024 + 4 * 2 * 200)
  })

  test('rest in Redis in no form that a reader of Redis understands', async () => {
    const { clock, io, chunks } = setUp(1)
    const sending = sendRecord(0, logOf(Buffer.from('a response of the target')), io)
    // A terminal that registers and then dies.
    collectRecords(memoryFiles().create, io)
    await clock.advanceTo(1_000)
    expect(chunks.size).toBe(1)
    for (const chunk of chunks.values()) expect(chunk.includes('response')).toBe(false)
    await clock.advanceTo(60_000)
    await sending
  })

  test.each([1, 16, 32, 33, 1_024])('of %i shards stay within 16 MiB', shards => {
    expect(chunkBytesOf(shards) * 2 * shards).toBeLessThanOrEqual(16 * mebibyte)
    expect(chunkBytesOf(shards)).toBeGreaterThanOrEqual(8 * 1024)
  })

  test('stay where they are if no terminal reads them for 30 s, and nothing of them stays in Redis', async () => {
    const { clock, io, chunks, kept } = setUp(1)
    // It registers, and reads nothing.
    collectRecords(memoryFiles().create, io)
    const sending = sendRecord(0, logOf(patternOf(mebibyte, 0)), io)
    await clock.advanceTo(29_000)
    expect([kept.size, chunks.size]).toEqual([0, 2])
    await clock.advanceTo(31_000)
    expect(await sending).toBe('no terminal read them for 30 s')
    expect([[...kept.values()], chunks.size]).toEqual([['no terminal read them for 30 s'], 0])

    const late = collectRecords(memoryFiles().create, io)
    late.begin(0)
    const ending = late.end()
    await clock.advanceTo(32_000)
    expect(await ending).toEqual(['no terminal read them for 30 s'])
  })

  test('go to another terminal from their start, if the first one is gone', async () => {
    const { clock, io, chunks } = setUp(1)
    const log = patternOf(4 * mebibyte, 1)
    const quit = new AbortController()
    const first = memoryFiles()
    const lost = collectRecords(first.create, { ...io, quit: quit.signal })
    const sending = sendRecord(0, logOf(log), io)
    lost.begin(0)
    await clock.advanceTo(60)
    quit.abort()
    await clock.advanceTo(1_000)
    expect(await lost.end()).toEqual(['collecting them was interrupted'])
    expect(first.files.size).toBe(0)

    const second = memoryFiles()
    const collector = collectRecords(second.create, io)
    collector.begin(0)
    await clock.advanceTo(10_000)
    expect([await sending, await collector.end()]).toEqual([null, [null]])
    expect(second.files.get(0)?.equals(log)).toBe(true)
    expect(chunks.size).toBe(0)
  })

  test('are missing, and leave no part of a file, if their worker is gone halfway', async () => {
    const { clock, io } = setUp(2)
    let isGone = false
    const store: RecordStore = {
      ...io.store,
      put: (place, sealed) => (isGone ? new Promise(() => {}) : io.store.put(place, sealed)),
    }
    const { files, create } = memoryFiles()
    const collector = collectRecords(create, io)
    void sendRecord(0, logOf(patternOf(2 * mebibyte, 0)), { ...io, store })
    collector.begin(0)
    await clock.advanceTo(60)
    isGone = true
    const ending = collector.end()
    await clock.advanceTo(32_000)
    expect(await ending).toEqual(['none arrived for 30 s', 'the shard has no result'])
    expect(files.size).toBe(0)
  })

  test('arrive whole although many commands get no response', async () => {
    const { clock, io, chunks } = setUp(2, createFailures(7))
    const logs = [patternOf(mebibyte, 0), patternOf(mebibyte + 1, 1)]
    const { files, create } = memoryFiles()
    const collector = collectRecords(create, io)
    const sending = logs.map((log, shard) => sendRecord(shard, logOf(log), io))
    for (const shard of logs.keys()) collector.begin(shard)
    expect(await clock.run(Promise.all([...sending, collector.end()]))).toEqual([null, null, [null, null]])
    expect(chunks.size).toBeLessThanOrEqual(2)
    for (const [shard, log] of logs.entries()) expect(files.get(shard)?.equals(log)).toBe(true)
  })

  test('are missing after a minute if Redis never answers', async () => {
    const { clock, io } = setUp(1, () => true)
    const collector = collectRecords(memoryFiles().create, io)
    collector.begin(0)
    const sending = sendRecord(0, logOf(patternOf(9, 0)), io)
    const work = Promise.all([sending, collector.end()])
    expect(await clock.run(work)).toEqual(['no terminal read them for 30 s', ['none arrived for 30 s']])
    expect(clock.nowMs()).toBeLessThan(61_000)
  })

  test('that cannot be opened are missing, with the reason', async () => {
    const { clock, io } = setUp(1)
    const failure = Object.assign(new Error('ENOENT: no such file or directory, open x'), { code: 'ENOENT' })
    expect(await sendRecord(0, async () => Promise.reject(failure), io)).toBe('ENOENT: no such file or directory')
    const collector = collectRecords(memoryFiles().create, io)
    collector.begin(0)
    const ending = collector.end()
    await clock.advanceTo(1_000)
    expect(await ending).toEqual(['ENOENT: no such file or directory'])
  })
})
