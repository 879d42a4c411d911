import { deserialize, serialize } from 'node:v8'
import { deflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { type Random, randomStream } from '../../../../src/lib/random.ts'
import { UsageError } from '../../../../src/lib/usage-error.ts'
import { createSealKeys, seal, unseal } from '../../../../src/run/queue/seal.ts'
import { pack, unpack, unpackOrNull } from '../../../../src/run/queue/shared-job.ts'

const keys = createSealKeys()
const value = { shards: 2, sums: new Map([['a', 7n]]), times: new Float64Array([1, 2]), none: null }

test('a payload is what was packed', () => {
  expect(unpack('job', pack('job', value))).toEqual(value)
  expect(unpackOrNull('job', pack('job', value))).toEqual(value)
})

test('what another program wrote is a mistake that says where, got and expected', () => {
  const others = ['', 'x', '{"shards":2}', 'a'.repeat(100_000), serialize(value), deflateSync(serialize(value))]
  for (const bytes of [...others.map(each => Buffer.from(each)), pack('result', value)]) {
    expect(() => unpack('job', bytes)).toThrow(UsageError)
    expect(() => unpack('job', bytes)).toThrow(
      `Redis: job: got ${bytes.length} bytes that this version of Turnpike does not know, expected data of the same version; install one version on all machines`,
    )
    expect(unpackOrNull('job', bytes)).toBeNull()
  }
})

test('a payload with one changed, missing or added byte is not read', () => {
  const random = randomStream(7, 'bytes')
  const packed = pack('result', value)
  const sealed = seal(packed, keys.publicKey, 'a')
  for (let round = 0; round < 200; round++) {
    expect(unpackOrNull('result', changed(packed, random))).toBeNull()
    expect(() => unseal(changed(sealed, random), keys, 'a')).toThrow(UsageError)
  }
  expect(deserialize(serialize(unpack('result', unseal(sealed, keys, 'a'))))).toEqual(value)
})

function changed(bytes: Buffer, random: Random): Buffer {
  const at = Math.floor(random.next() * bytes.length)
  const kind = Math.floor(random.next() * 3)
  if (kind === 0) return bytes.subarray(0, at)
  if (kind === 1) return Buffer.concat([bytes, bytes.subarray(0, 1 + at)])
  const copy = Buffer.from(bytes)
  copy[at] = (bytes[at] ?? 0) ^ (1 + Math.floor(random.next() * 255))
  return copy
}
