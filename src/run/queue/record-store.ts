import type { RedisClient } from './queue.ts'
import { keptSeconds, runKeyOf } from './run-state.ts'
import { hashOf } from './seal.ts'

/**
 * The records of a run on their way through Redis, in sealed chunks that expire. A chunk is deleted when it is read, and
 * the terminal notes how far it is. Every function rejects if Redis does not answer in time, and may be repeated.
 */
export type RecordStore = {
  /** Makes the owner of this key the terminal that gets the records. */
  readonly take: (publicKey: string) => Promise<void>
  readonly put: (place: ChunkPlace, sealed: Buffer) => Promise<void>
  /** Which terminal gets the records, if any, and how many chunks of a shard `taker` has read. */
  readonly progress: (taker: string, shard: number) => Promise<{ readonly taker: string | null; readonly read: number }>
  /** Notes that a terminal has read a chunk and all before it. */
  readonly confirm: (place: ChunkPlace) => Promise<void>
  readonly remove: (places: readonly ChunkPlace[]) => Promise<void>
  /** What a terminal finds: its next chunk, whether it is still the one that gets them, and why a worker sends no more. */
  readonly look: (place: ChunkPlace) => Promise<{
    readonly taker: string | null
    readonly chunk: Buffer | null
    readonly kept: string | null
  }>
  /** Notes why a worker keeps its records. */
  readonly keep: (shard: number, why: string) => Promise<void>
}

/** A chunk of the log of a shard, for the terminal with this public key. `index`: from 0. */
export type ChunkPlace = { readonly taker: string; readonly shard: number; readonly index: number }

/** An unread chunk is deleted after this time. */
const chunkSeconds = 120

export function createRecordStore(redis: RedisClient, runId: string): RecordStore {
  const run = runKeyOf(runId)
  const takerKey = `${run}:taker`
  const keptKey = (shard: number) => `${run}:${shard}:kept`
  const readKey = (taker: string, shard: number) => `${run}:${shard}:read:${hashOf(Buffer.from(taker))}`
  const chunkKey = ({ taker, shard, index }: ChunkPlace) =>
    `${run}:${shard}:record:${hashOf(Buffer.from(taker))}:${index}`

  return {
    take: async publicKey => void (await redis.set(takerKey, publicKey, 'EX', keptSeconds)),
    put: async (place, sealed) => void (await redis.set(chunkKey(place), sealed, 'EX', chunkSeconds)),
    progress: async (of, shard) => {
      const [taker, read] = await redis.mget(takerKey, readKey(of, shard))
      return { taker: taker ?? null, read: Number(read ?? 0) }
    },
    confirm: async place => {
      await redis.set(readKey(place.taker, place.shard), place.index + 1, 'EX', keptSeconds)
      await redis.del(chunkKey(place))
    },
    remove: async places => {
      if (places.length > 0) await redis.del(places.map(chunkKey))
    },
    look: async place => {
      const [taker, chunk, kept] = await Promise.all([
        redis.get(takerKey),
        redis.getBuffer(chunkKey(place)),
        redis.get(keptKey(place.shard)),
      ])
      return { taker, chunk, kept }
    },
    keep: async (shard, why) => void (await redis.set(keptKey(shard), why, 'EX', keptSeconds)),
  }
}
