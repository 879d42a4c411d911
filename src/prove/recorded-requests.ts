import type { Clock } from '../lib/clock.ts'
import type { Reply, ServiceRequest } from '../service/message.ts'
import type { Service } from '../service/service.ts'

/** A request as a service got it, with the time there, and its reply. */
type RecordedRequest = {
  readonly request: ServiceRequest
  readonly nowMs: number
  readonly wallMs: number
  readonly reply: string
}

/** Everything that a reply consists of. */
const textOf = (reply: Reply): string =>
  JSON.stringify(reply, (_, value) => (typeof value === 'bigint' ? String(value) : value))

/** The same service, which records its requests in order. `isWhole`: none of them took time inside the service. */
export function recordRequests(service: Service, clock: Pick<Clock, 'nowMs' | 'wallMs'>) {
  const requests: RecordedRequest[] = []
  let isWhole = true
  const recorded: Service = {
    ...service,
    respond: request => {
      const [nowMs, wallMs] = [clock.nowMs(), clock.wallMs()]
      const reply = service.respond(request)
      requests.push({ request, nowMs, wallMs, reply: textOf(reply) })
      return reply
    },
    respondLater: (request, leaves) => {
      const later = service.respondLater(request, leaves)
      if (later !== null) isWhole = false
      return later
    },
  }
  return { service: recorded, requests, isWhole: () => isWhole }
}

/**
 * Whether another service gives the same reply to every request. Then a run against it would be the same run, since its
 * requests depend on nothing but the replies.
 */
export function repliesTheSame(requests: readonly RecordedRequest[], createOther: (clock: Clock) => Service): boolean {
  let [nowMs, wallMs] = [0, requests[0]?.wallMs ?? 0]
  const never = () => () => {}
  const service = createOther({ nowMs: () => nowMs, wallMs: () => wallMs, at: never, atPrecisely: never })
  return requests.every(({ request, reply, ...at }) => {
    nowMs = at.nowMs
    wallMs = at.wallMs
    return textOf(service.respond(request)) === reply
  })
}
