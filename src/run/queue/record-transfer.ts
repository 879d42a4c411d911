import { type Clock, sleepUntil } from '../../lib/clock.ts'
import { whyUnreadable } from '../../lib/read-text.ts'
import type { LogSource, LogTarget } from '../../storage/log-copy.ts'
import type { RecordStore } from './record-store.ts'
import { createSealKeys, seal, unseal } from './seal.ts'

/** The records of a run that Redis holds at most, in bytes. The chunks of many shards are smaller. */
const maxHeldBytes = 16 * 2 ** 20
const maxChunkBytes = 256 * 1024
/** Unread chunks of one shard. */
const maxUnread = 2
/** How long either side waits for the other. */
const patienceMs = 30_000
const lookEveryMs = 25
/** How often a chunk is confirmed, if Redis does not answer. */
const maxTries = 100

export type TransferIo = {
  readonly store: RecordStore
  readonly runId: string
  readonly shards: number
  readonly clock: Clock
  /** Aborted to stop waiting. */
  readonly quit: AbortSignal
}

/** The bytes of a log in one chunk. */
export const chunkBytesOf = (shards: number): number =>
  Math.min(maxChunkBytes, Math.floor(maxHeldBytes / (maxUnread * shards)))

/**
 * Sends the log of a shard to the terminal that gets the records, and starts again if that becomes another one. Resolves
 * with null when the terminal has all of it; otherwise with why the records stay here, which it notes in Redis.
 */
export async function sendRecord(
  shard: number,
  openLog: () => Promise<LogSource>,
  io: TransferIo,
): Promise<string | null> {
  const why = await openLog().then(
    async log => {
      const sent = await send(shard, log, io).catch(whyUnreadable)
      await log.close()
      return sent
    },
    (cause: unknown) => whyUnreadable(cause),
  )
  if (why !== null) await io.store.keep(shard, why).catch(() => {})
  return why
}

async function send(shard: number, log: LogSource, { store, runId, shards, clock, quit }: TransferIo) {
  const chunkBytes = chunkBytesOf(shards)
  // An empty log has one chunk, too.
  const count = Math.max(1, Math.ceil(log.size / chunkBytes))
  let taker = ''
  let index = 0
  let progressedMs = clock.nowMs()

  async function put(): Promise<void> {
    const isLast = index === count - 1
    const offset = index * chunkBytes
    const bytes = await log.read(offset, isLast ? log.size - offset : chunkBytes)
    const sealed = seal(Buffer.concat([Buffer.of(isLast ? 1 : 0), bytes]), taker, contextOf(runId, shard, index))
    await store.put({ taker, shard, index }, sealed)
  }
  /** Deletes what the terminal has not read, or what was put again because Redis did not answer. */
  const takeBack = (): Promise<void> => {
    const last = Array.from({ length: Math.min(maxUnread, index) }, (_, back) => index - 1 - back)
    return store.remove(last.map(each => ({ taker, shard, index: each }))).catch(() => {})
  }
  for (let read = 0; read < count; ) {
    if (quit.aborted || clock.nowMs() > progressedMs + patienceMs) {
      await takeBack()
      return quit.aborted ? 'the worker was interrupted' : `no terminal read them for ${patienceMs / 1_000} s`
    }
    const found = await store.progress(taker, shard).catch(() => null)
    if (found !== null && found.taker !== null && found.taker !== taker) {
      await takeBack()
      taker = found.taker
      index = 0
      read = 0
      continue
    }
    if (found !== null && found.read > read) {
      read = found.read
      progressedMs = clock.nowMs()
    }
    const mayPut = found !== null && taker !== '' && index < Math.min(count, read + maxUnread)
    if (mayPut && (await isWithoutFailure(put()))) index++
    else if (read < count) await sleepUntil(clock, clock.nowMs() + lookEveryMs)
  }
  await takeBack()
  return null
}

/** Gets the logs of all shards. */
export type Collector = {
  /** Starts with the log of a shard that has a result. */
  readonly begin: (shard: number) => void
  /** Why the log of each shard is missing, in order; null: it is there and whole. */
  readonly end: () => Promise<readonly (string | null)[]>
}

export function collectRecords(createLog: (shard: number) => Promise<LogTarget>, io: TransferIo): Collector {
  const { store, runId, shards, clock, quit } = io
  const keys = createSealKeys()
  const receiving = new Map<number, Promise<string | null>>()
  const taking = take()

  async function take(): Promise<void> {
    const untilMs = clock.nowMs() + patienceMs
    while (!quit.aborted && clock.nowMs() < untilMs && !(await isWithoutFailure(store.take(keys.publicKey))))
      await sleepUntil(clock, clock.nowMs() + lookEveryMs)
  }

  async function receive(shard: number): Promise<string | null> {
    await taking
    const log = await createLog(shard)
    const why = await fill(log, shard).catch(whyUnreadable)
    await (why === null ? log.keep() : log.discard())
    return why
  }

  /** Resolves with why the log is not whole. */
  async function fill(log: LogTarget, shard: number): Promise<string | null> {
    const taker = keys.publicKey
    let progressedMs = clock.nowMs()
    for (let index = 0; !quit.aborted; ) {
      const place = { taker, shard, index }
      const found = await store.look(place).catch(() => null)
      if (found?.chunk) {
        const bytes = unseal(found.chunk, keys, contextOf(runId, shard, index))
        await log.append(bytes.subarray(1))
        // The worker waits for this.
        for (let tries = 0; tries < maxTries && !(await isWithoutFailure(store.confirm(place))); tries++)
          await sleepUntil(clock, clock.nowMs() + lookEveryMs)
        if (bytes[0] === 1) return null
        index++
        progressedMs = clock.nowMs()
        continue
      }
      if (found !== null && found.kept !== null) return found.kept
      if (found !== null && found.taker !== taker) return 'another terminal collects them'
      if (clock.nowMs() > progressedMs + patienceMs) return `none arrived for ${patienceMs / 1_000} s`
      await sleepUntil(clock, clock.nowMs() + lookEveryMs)
    }
    return 'collecting them was interrupted'
  }

  return {
    begin: shard => {
      if (!receiving.has(shard)) receiving.set(shard, receive(shard).catch(whyUnreadable))
    },
    end: () =>
      Promise.all(Array.from({ length: shards }, (_, shard) => receiving.get(shard) ?? 'the shard has no result')),
  }
}

const isWithoutFailure = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  )

const contextOf = (runId: string, shard: number, index: number): string => `turnpike/${runId}/${shard}/record/${index}`
