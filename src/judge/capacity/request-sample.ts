/** The instants of a request of a trial, and the longest stall of Turnpike while it waited for the response. */
export type TimedRequest = {
  readonly dueMs: number
  readonly sentMs: number
  readonly endMs: number
  readonly stallMs: number
}

/** One in `stride` of the requests of a trial, as plain data: due, sent, end and stall of each, one after the other. */
export type RequestSample = { readonly stride: number; readonly instants: Float64Array }

/** A sample has fewer requests. When it is full, every second one is dropped. */
const maxSampledRequests = 1_024
const instantsEach = 4

/** Samples the requests of a trial, in the order in which they are added. */
export function createRequestSample(): {
  readonly add: (request: TimedRequest) => void
  readonly snapshot: () => RequestSample
} {
  let requests: TimedRequest[] = []
  let stride = 1
  let added = 0
  return {
    add: ({ dueMs, sentMs, endMs, stallMs }) => {
      if (added++ % stride !== 0) return
      requests.push({ dueMs, sentMs, endMs, stallMs })
      if (requests.length < maxSampledRequests) return
      requests = requests.filter((_, index) => index % 2 === 0)
      stride *= 2
    },
    snapshot: () => ({
      stride,
      instants: Float64Array.from(
        requests.flatMap(({ dueMs, sentMs, endMs, stallMs }) => [dueMs, sentMs, endMs, stallMs]),
      ),
    }),
  }
}

/** A sample of all requests of which these are samples. It has fewer than 1,024 requests, too. */
export function mergeSamples(samples: readonly RequestSample[]): RequestSample {
  const taken = (each: RequestSample, stride: number) => Math.ceil(lengthOf(each) / (stride / each.stride))
  // Strides are powers of two, so the largest is a multiple of each.
  let stride = Math.max(1, ...samples.map(each => each.stride))
  while (samples.reduce((sum, each) => sum + taken(each, stride), 0) >= maxSampledRequests) stride *= 2
  const parts = samples.map(({ instants, stride: from }) =>
    from === stride
      ? instants
      : instants.filter((_, index) => Math.floor(index / instantsEach) % (stride / from) === 0),
  )
  const merged = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    merged.set(part, at)
    at += part.length
  }
  return { stride, instants: merged }
}

/** The requests of a sample, by due time. The order in which samples were merged does not matter. */
export const requestsIn = (sample: RequestSample): readonly TimedRequest[] =>
  Array.from({ length: lengthOf(sample) }, (_, index) => requestAt(sample, index * instantsEach)).sort(
    (a, b) => a.dueMs - b.dueMs || a.endMs - b.endMs,
  )

const requestAt = ({ instants }: RequestSample, at: number): TimedRequest => ({
  dueMs: instants[at] ?? 0,
  sentMs: instants[at + 1] ?? 0,
  endMs: instants[at + 2] ?? 0,
  stallMs: instants[at + 3] ?? 0,
})

const lengthOf = ({ instants }: RequestSample): number => instants.length / instantsEach
