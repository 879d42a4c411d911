import { randomStream } from '../../../../../src/lib/random.ts'
import type { Observation } from '../../../../../src/observation/observation.ts'
import type { RequestDescriptor } from '../../../../../src/observation/requests/request.ts'
import { chatDescriptor, observed, responseOf, singleDescriptor } from '../../checks/observed.ts'

/** Ways in which an honest service may implement the block, if the document leaves it open. */
export type Guarding = {
  /** The last failure before a block gets its own response, or that of the block. */
  readonly lastFailure?: 'shown' | 'blocked'
  /** Whether a block begins at a whole second, rounded up. */
  readonly wholeSeconds?: boolean
  /** Failures before the run. */
  readonly failedBefore?: number
  /** Whether the account is blocked when the run begins. */
  readonly blockedBefore?: boolean
  readonly status?: number
  readonly text?: string
}

export type Traffic = {
  readonly seed: number
  readonly requests?: number
  readonly gapMs?: number
  readonly latencyMs?: number
  /** Ratios of requests that fail, that get no response, and that a gateway rejects with 502. */
  readonly failing?: number
  readonly lost?: number
  readonly proxied?: number
}

/** Faults of a service. */
export type Fault = {
  readonly limit?: number
  readonly windowMs?: number
  readonly blockMs?: number
  readonly counts?: (status: number) => boolean
  readonly spares?: (request: RequestDescriptor) => boolean
  readonly text?: string
}

export const blockText =
  'Too many failed attempts (> 20) resulting in a non-success status code. Please wait 30s and try again.'

/** The responses of an abuse block to random traffic of one caller, in the order in which they end. */
export function guard(guarding: Guarding, traffic: Traffic, fault: Fault = {}): readonly Observation[] {
  const {
    lastFailure = 'shown',
    wholeSeconds = false,
    failedBefore = 0,
    blockedBefore = false,
    status = 429,
  } = guarding
  const { seed, requests = 500, gapMs = 800, latencyMs = 400, failing = 0.5, lost = 0.03, proxied = 0.03 } = traffic
  const { limit = 20, windowMs = 30_000, blockMs = 30_000, counts = code => code >= 300, spares = () => false } = fault
  const random = randomStream(seed, 'guard')
  let sentMs = 20
  const plan = Array.from({ length: requests }, (_, id) => {
    sentMs += random.next() < 0.5 ? random.int(30) : random.int(gapMs)
    const arrivedMs = sentMs + 0.5 + random.next() * latencyMs
    const headersMs = arrivedMs + 0.5 + random.next() * latencyMs
    const draw = random.next()
    const fate = draw < lost ? 'lost' : draw < lost + proxied ? 'proxied' : 'usual'
    const wanted = random.next() < failing ? (random.next() < 0.8 ? 400 : 415) : 200
    const request: RequestDescriptor =
      wanted === 400
        ? { kind: 'probe', probe: 'unlisted-method' }
        : random.next() < 0.5
          ? chatDescriptor
          : singleDescriptor
    return { id, sentMs, arrivedMs, headersMs, endMs: headersMs + random.next() * latencyMs, fate, wanted, request }
  })

  let failedMs: number[] = Array.from({ length: failedBefore }, () => 0)
  let blockedUntilMs = blockedBefore ? 12_000 : 0
  const responses = plan
    .toSorted((a, b) => a.arrivedMs - b.arrivedMs)
    .map(({ id, arrivedMs, sentMs, headersMs, endMs, fate, wanted, request }) => {
      const times = { id, dueMs: sentMs, sentMs, headersMs, endMs }
      if (fate === 'proxied') {
        return observed(request, responseOf(502, 'Bad gateway', { 'x-service-version': undefined }), times)
      }
      const block = responseOf(status, { error: fault.text ?? guarding.text ?? blockText })
      let response = arrivedMs < blockedUntilMs && !spares(request) ? block : responseOf(wanted, { error: 'No' })
      if (response !== block && counts(wanted)) {
        failedMs = [...failedMs.filter(atMs => atMs > arrivedMs - windowMs), arrivedMs]
        if (failedMs.length > limit) {
          const fromMs = wholeSeconds ? Math.ceil(arrivedMs / 1000) * 1000 : arrivedMs
          blockedUntilMs = fromMs + blockMs
          failedMs = []
          if (lastFailure === 'blocked' && request.kind === 'probe') response = block
        }
      }
      if (fate !== 'lost') return observed(request, response, times)
      const failed = { kind: 'failed', reason: 'connection-lost', detail: '' } as const
      return observed(request, null, { ...times, headersMs: null, outcome: failed })
    })
  return responses.toSorted((a, b) => (a.endMs ?? 0) - (b.endMs ?? 0))
}
