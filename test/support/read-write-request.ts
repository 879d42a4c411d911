import { uncompress } from 'snappyjs'

/** A series of a remote write request, as a receiver reads it. */
export type ReadSeries = {
  readonly labels: readonly (readonly [name: string, value: string])[]
  readonly samples: readonly { readonly value: number; readonly isStale: boolean; readonly atMs: number }[]
  readonly histograms: readonly ReadHistogram[]
}

export type ReadHistogram = {
  readonly count: number
  readonly sum: number
  readonly isStale: boolean
  readonly schema: number
  readonly zeroCount: number
  /** The count of each bucket, by bucket index. */
  readonly buckets: ReadonlyMap<number, number>
  readonly atMs: number
}

/** An independent reader for tests, written from the specification of the format. */
export function readWriteRequest(body: Uint8Array): readonly ReadSeries[] {
  return many(fieldsOf(Buffer.from(uncompress(new Uint8Array(body)))), 1).map(series => {
    const fields = fieldsOf(series)
    return {
      labels: many(fields, 1).map(label => {
        const [name = '', value = ''] = [1, 2].map(field => many(fieldsOf(label), field)[0]?.toString('utf8'))
        return [name, value] as const
      }),
      samples: many(fields, 2).map(sample => {
        const own = fieldsOf(sample)
        return { value: double(own, 1), isStale: isStale(own, 1), atMs: varint(own, 2) }
      }),
      histograms: many(fields, 4).map(histogram => readHistogram(fieldsOf(histogram))),
    }
  })
}

function readHistogram(fields: Fields): ReadHistogram {
  const buckets = new Map<number, number>()
  const deltas = varintsOf(many(fields, 12)[0] ?? Buffer.alloc(0)).map(unzigzag)
  let [bucket, count, position] = [0, 0, 0]
  for (const span of many(fields, 11).map(fieldsOf)) {
    bucket += unzigzag(varint(span, 1))
    for (let left = varint(span, 2); left > 0; left--) {
      count += deltas[position++] ?? Number.NaN
      buckets.set(bucket++, count)
    }
  }
  return {
    count: varint(fields, 1),
    sum: double(fields, 3),
    isStale: isStale(fields, 3),
    schema: unzigzag(varint(fields, 4)),
    zeroCount: varint(fields, 6),
    buckets,
    atMs: varint(fields, 15),
  }
}

type Fields = readonly { readonly field: number; readonly varint: number; readonly bytes: Buffer }[]

const many = (fields: Fields, wanted: number) =>
  fields.filter(({ field }) => field === wanted).map(({ bytes }) => bytes)
const one = (fields: Fields, wanted: number) => fields.find(({ field }) => field === wanted)
const varint = (fields: Fields, wanted: number): number => one(fields, wanted)?.varint ?? 0
const double = (fields: Fields, wanted: number): number => one(fields, wanted)?.bytes.readDoubleLE() ?? 0
const isStale = (fields: Fields, wanted: number): boolean =>
  one(fields, wanted)?.bytes.toString('hex') === '020000000000f07f'
const unzigzag = (value: number): number => (value % 2 === 0 ? value / 2 : -(value + 1) / 2)

function fieldsOf(bytes: Buffer): Fields {
  const fields: Fields[number][] = []
  let at = 0
  const next = (): number => {
    let [value, scale] = [0, 1]
    for (; ; scale *= 128) {
      const byte = bytes[at++] ?? 0
      value += (byte % 128) * scale
      if (byte < 128) return value
    }
  }
  while (at < bytes.length) {
    const tag = next()
    const [field, type] = [Math.floor(tag / 8), tag % 8]
    const number = type === 0 || type === 2 ? next() : 8
    const length = type === 0 ? 0 : number
    fields.push({ field, varint: number, bytes: bytes.subarray(at, at + length) })
    at += length
  }
  return fields
}

function varintsOf(bytes: Buffer): readonly number[] {
  const values: number[] = []
  let [value, scale] = [0, 1]
  for (const byte of bytes) {
    value += (byte % 128) * scale
    scale *= 128
    if (byte >= 128) continue
    values.push(value)
    ;[value, scale] = [0, 1]
  }
  return values
}
