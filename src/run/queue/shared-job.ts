import { deserialize, serialize } from 'node:v8'
import { deflateSync, inflateSync } from 'node:zlib'
import { UsageError } from '../../lib/usage-error.ts'
import { ownsCaller } from '../../plan/shard.ts'
import type { Caller } from '../../produce/callers/caller.ts'
import { solanaKeyTexts } from '../../produce/callers/wallet-kinds.ts'
import type { WorkerJob } from '../messages.ts'
import type { RunJob } from '../run.ts'
import { digestOf } from './seal.ts'

/** What every worker of a run may read, and Redis with it: no secret. */
export type SharedJob = Pick<WorkerJob, 'info' | 'plan' | 'contract' | 'warmUp' | 'failFast' | 'details'> & {
  readonly shards: number
  /** Whether the terminals that follow the run end it once every threshold is decided. */
  readonly untilDecided: boolean
  /** How long a worker may be silent. */
  readonly silenceMs: number
  /** Whether workers send their records to the terminal that concludes the run. */
  readonly collect: boolean
  /** Time 0 of the run, on the clock of Redis. */
  readonly zeroMs: number
}

/** What only the worker of one shard may read. */
export type ShardSecrets = Pick<
  WorkerJob,
  'callers' | 'specialKeys' | 'secrets' | 'addedSecrets' | 'baseUrl' | 'solanaNode'
>

/** The secrets of a shard: the keys of its own callers. The others are there by name. */
export function shardSecretsOf(job: RunJob, shard: number, shards: number): ShardSecrets {
  const isOwn = ownsCaller(job.plan, { worker: shard, workers: shards })
  const callers = job.callers.map((caller, index): Caller => {
    if (isOwn(index)) return caller
    return caller.kind === 'key' ? { ...caller, keys: [] } : { ...caller, privateKey: '' }
  })
  const { specialKeys, addedSecrets, baseUrl, solanaNode } = job
  const foreign = new Set(job.callers.flatMap((caller, index) => (isOwn(index) ? [] : textsOf(caller))))
  const secrets = job.secrets.filter(secret => !foreign.has(secret))
  return { callers, specialKeys, secrets, addedSecrets, baseUrl, solanaNode }
}

/** The secrets of a caller, in all forms in which they may be among the secrets of a run. */
const textsOf = (caller: Caller): readonly string[] =>
  caller.kind === 'key'
    ? caller.keys
    : [caller.privateKey, `0x${caller.privateKey}`, ...solanaKeyTexts(caller.privateKey)]

/** What Turnpike writes to Redis, and reads from there. */
export type PayloadKind =
  | 'job'
  | 'worker'
  | 'keys'
  | 'opening'
  | 'snapshot'
  | 'result'
  | 'search report'
  | 'search order'

/** Any plain data as bytes: maps, big integers and typed arrays, too. */
export function pack(kind: PayloadKind, value: unknown): Buffer {
  const packed = deflateSync(serialize(value), { level: 1 })
  return Buffer.concat([checksumOf(kind, packed), packed])
}

/**
 * The reverse of `pack`. Throws a UsageError for bytes that `pack` did not make of this kind: other programs can write to
 * the same Redis, and what reads a payload relies on its shape.
 */
export function unpack<Value>(kind: PayloadKind, bytes: Buffer): Value {
  const packed = bytes.subarray(checksumBytes)
  if (!checksumOf(kind, packed).equals(bytes.subarray(0, checksumBytes))) throw foreign(kind, bytes)
  return deserialize(inflateSync(packed)) as Value
}

/** The same; null for other bytes. */
export function unpackOrNull<Value>(kind: PayloadKind, bytes: Buffer): Value | null {
  try {
    return unpack<Value>(kind, bytes)
  } catch {
    return null
  }
}

const foreign = (kind: PayloadKind, bytes: Buffer): UsageError =>
  new UsageError({
    where: `Redis: ${kind}`,
    got: `${bytes.length} bytes that this version of Turnpike does not know`,
    expected: 'data of the same version; install one version on all machines',
  })

const checksumBytes = 32

const checksumOf = (kind: PayloadKind, packed: Buffer): Buffer => digestOf([`turnpike ${kind}\n`, packed])

/** Binds what is sealed to one shard of one run. */
export const sealContext = (runId: string, shard: number): string => `turnpike/${runId}/${shard}`
