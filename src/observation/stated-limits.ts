import { memoizeLast } from '../lib/memoize.ts'
import { numberIn } from '../lib/numbers.ts'
import type { ObservedResponse } from './observation.ts'

/** The numbers in the headers about one limit, as they are; null if a header is missing or no number. */
export type StatedLimit = {
  readonly limit: number | null
  readonly remaining: number | null
  readonly reset: number | null
}

type Headers = ObservedResponse['headers']

/** What a response states about requests and about tokens. Several judges read it, so it is parsed once. */
export const statedRequests = memoizeLast(
  (headers: Headers): StatedLimit => ({
    limit: numberIn(headers['x-ratelimit-limit-requests']),
    remaining: numberIn(headers['x-ratelimit-remaining-requests']),
    reset: numberIn(headers['x-ratelimit-reset-requests']),
  }),
)
export const statedTokens = memoizeLast(
  (headers: Headers): StatedLimit => ({
    limit: numberIn(headers['x-ratelimit-limit-tokens']),
    remaining: numberIn(headers['x-ratelimit-remaining-tokens']),
    reset: numberIn(headers['x-ratelimit-reset-tokens']),
  }),
)
