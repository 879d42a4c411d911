import { gunzipSync } from 'node:zlib'
import { z } from 'zod'

/**
 * The messages of OTLP 1.x in JSON, as strict as the encoding allows: names in lowerCamelCase, 64-bit integers as text, ids
 * as hexadecimal digits, enumerations as integers, and exactly one kind of data. Written from the published .proto files.
 */
const uint64 = z.string().regex(/^\d{1,20}$/)
const int64 = z.string().regex(/^-?\d{1,19}$/)
const nanos = uint64.refine(text => text.length === 19, 'nanoseconds of this century')
const uint32 = z.number().int().min(0).max(0xffffffff)

const anyValue = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ boolValue: z.boolean() }),
  z.strictObject({ intValue: int64 }),
  z.strictObject({ doubleValue: z.number() }),
  z.strictObject({ arrayValue: z.strictObject({ values: z.array(z.strictObject({ stringValue: z.string() })) }) }),
])
const attributes = z
  .array(z.strictObject({ key: z.string().min(1), value: anyValue }))
  .refine(all => new Set(all.map(({ key }) => key)).size === all.length, 'unique keys')
const resource = z.strictObject({ attributes })
const scope = z.strictObject({ name: z.string().min(1), version: z.string() })

const point = { attributes, startTimeUnixNano: nanos, timeUnixNano: nanos }
const ended = z.strictObject({ ...point, flags: z.literal(1) })
const number = z.union([z.strictObject({ ...point, asDouble: z.number() }), ended])
const sumOf = (counts: readonly string[]) => counts.reduce((sum, count) => sum + BigInt(count), 0n)
const exponential = z
  .strictObject({
    ...point,
    count: uint64,
    sum: z.number(),
    scale: z.number().int().min(-10).max(20),
    zeroCount: uint64,
    zeroThreshold: z.number().nonnegative(),
    positive: z.strictObject({ offset: z.number().int(), bucketCounts: z.array(uint64) }),
  })
  .refine(
    ({ count, zeroCount, positive }) => BigInt(count) === BigInt(zeroCount) + sumOf(positive.bucketCounts),
    'the count is that of all buckets',
  )
const explicit = z
  .strictObject({
    ...point,
    count: uint64,
    sum: z.number(),
    bucketCounts: z.array(uint64),
    explicitBounds: z.array(z.number()),
  })
  .refine(({ bucketCounts, explicitBounds }) => bucketCounts.length === explicitBounds.length + 1, 'one more bucket')
  .refine(({ count, bucketCounts }) => BigInt(count) === sumOf(bucketCounts), 'the count is that of all buckets')

const named = { name: z.string().regex(/^[A-Za-z][\w./-]{0,254}$/), description: z.string(), unit: z.string().max(63) }
const cumulative = { aggregationTemporality: z.literal(2) }
const points = <Point extends z.ZodType>(each: Point) => ({ dataPoints: z.array(each).min(1) })
const metric = z.union([
  z.strictObject({ ...named, gauge: z.strictObject(points(number)) }),
  z.strictObject({ ...named, sum: z.strictObject({ ...cumulative, isMonotonic: z.literal(true), ...points(number) }) }),
  z.strictObject({
    ...named,
    exponentialHistogram: z.strictObject({ ...cumulative, ...points(z.union([exponential, ended])) }),
  }),
  z.strictObject({ ...named, histogram: z.strictObject({ ...cumulative, ...points(z.union([explicit, ended])) }) }),
])

const metricsRequest = z.strictObject({
  resourceMetrics: z
    .array(
      z.strictObject({ resource, scopeMetrics: z.array(z.strictObject({ scope, metrics: z.array(metric).min(1) })) }),
    )
    .length(1),
})

const hex = (digits: number) =>
  z
    .string()
    .regex(new RegExp(`^[0-9a-f]{${digits}}$`))
    .refine(id => !/^0+$/.test(id), 'an id that is not zero')
const span = z
  .strictObject({
    traceId: hex(32),
    spanId: hex(16),
    flags: uint32,
    name: z.string().min(1),
    kind: z.number().int().min(0).max(5),
    startTimeUnixNano: nanos,
    endTimeUnixNano: nanos,
    attributes,
    events: z.array(z.strictObject({ timeUnixNano: nanos, name: z.string().min(1) })),
    status: z.strictObject({ code: z.number().int().min(0).max(2) }).optional(),
  })
  .refine(each => each.endTimeUnixNano >= each.startTimeUnixNano, 'an end after the start')

const tracesRequest = z.strictObject({
  resourceSpans: z
    .array(z.strictObject({ resource, scopeSpans: z.array(z.strictObject({ scope, spans: z.array(span).min(1) })) }))
    .length(1),
})

export type ReadMetric = z.infer<typeof metric>
export type ReadPoint = z.infer<typeof number> | z.infer<typeof exponential> | z.infer<typeof explicit>
export type ReadSpan = z.infer<typeof span>

const jsonOf = (body: Uint8Array): unknown => JSON.parse(gunzipSync(body).toString('utf8'))

/** The metrics of a request, and the attributes of its resource. Throws if it breaks a rule of the format. */
export function readMetricsRequest(body: Uint8Array) {
  const [each] = metricsRequest.parse(jsonOf(body)).resourceMetrics
  return {
    resource: valuesOf(each?.resource.attributes ?? []),
    metrics: each?.scopeMetrics.flatMap(_ => _.metrics) ?? [],
  }
}

/** The spans of a request. Throws if it breaks a rule of the format. */
export function readTracesRequest(body: Uint8Array): readonly ReadSpan[] {
  return tracesRequest.parse(jsonOf(body)).resourceSpans.flatMap(each => each.scopeSpans.flatMap(_ => _.spans))
}

/** Attributes by key. Integers stay texts, to tell them from doubles. */
export const valuesOf = (all: z.infer<typeof attributes>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    all.map(({ key, value }) => {
      const [only] = Object.values(value)
      return [key, 'arrayValue' in value ? value.arrayValue.values.map(each => each.stringValue) : only]
    }),
  )

/** The points of a metric of any kind. */
export function pointsOf(read: ReadMetric): readonly ReadPoint[] {
  if ('gauge' in read) return read.gauge.dataPoints
  if ('sum' in read) return read.sum.dataPoints
  return 'histogram' in read ? read.histogram.dataPoints : read.exponentialHistogram.dataPoints
}
