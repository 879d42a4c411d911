import { isDeepStrictEqual } from 'node:util'
import type { Contract } from '../contract/contract.ts'
import type { Clock } from '../lib/clock.ts'
import type { Behavior } from '../service/behavior.ts'
import type { Lie } from '../service/lies/lie.ts'
import type { Reply, ServiceRequest } from '../service/message.ts'
import type { Service } from '../service/service.ts'

/** A request as a service got it, with the time there, and its reply. */
type RecordedRequest = {
  readonly kind: 'request'
  readonly request: ServiceRequest
  readonly nowMs: number
  readonly wallMs: number
  readonly reply: string
}

/** A client that left before the end of the reply to this event, so long after its request arrived. */
type RecordedLeave = {
  readonly kind: 'leave'
  readonly of: number
  readonly nowMs: number
  readonly wallMs: number
  readonly afterMs: number
}

type RecordedEvent = RecordedRequest | RecordedLeave

/** Everything that a reply consists of. */
const textOf = (reply: Reply): string =>
  JSON.stringify(reply, (_, value) => (typeof value === 'bigint' ? String(value) : value))

/** The same service, which records its requests in order. `isWhole`: none of them took time inside the service. */
export function recordRequests(service: Service, clock: Pick<Clock, 'nowMs' | 'wallMs'>) {
  const requests: RecordedEvent[] = []
  let isWhole = true
  const now = () => ({ nowMs: clock.nowMs(), wallMs: clock.wallMs() })
  const recorded: Service = {
    ...service,
    respond: request => {
      const at = now()
      const reply = service.respond(request)
      const of = requests.push({ kind: 'request', request, ...at, reply: textOf(reply) }) - 1
      const { onLeave } = reply
      if (onLeave === undefined) return reply
      return {
        ...reply,
        onLeave: afterMs => {
          requests.push({ kind: 'leave', of, ...now(), afterMs })
          onLeave(afterMs)
        },
      }
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
export const repliesTheSame = (requests: readonly RecordedEvent[], createOther: (clock: Clock) => Service): boolean =>
  replay(requests, createOther, () => false)

/** Further requests that are answered in another way are not looked for. */
const maxDifferent = 100

/** The requests that another service answers in another way, at most `maxDifferent` of them. */
export function answeredDifferently(
  requests: readonly RecordedEvent[],
  createOther: (clock: Clock) => Service,
): readonly ServiceRequest[] {
  const different: ServiceRequest[] = []
  replay(requests, createOther, request => different.push(request) < maxDifferent)
  return different
}

/** Whether all replies are the same. `onOther` tells whether to go on after one that is not. */
function replay(
  requests: readonly RecordedEvent[],
  createOther: (clock: Clock) => Service,
  onOther: (request: ServiceRequest) => boolean,
): boolean {
  let [nowMs, wallMs] = [0, requests[0]?.wallMs ?? 0]
  const never = () => () => {}
  const service = createOther({
    nowMs: () => nowMs,
    wallMs: () => wallMs,
    at: never,
    atPrecisely: never,
    wakeDue: () => false,
  })
  const replies: (Reply | null)[] = []
  return requests.every(event => {
    nowMs = event.nowMs
    wallMs = event.wallMs
    if (event.kind === 'leave') {
      replies.push(null)
      replies[event.of]?.onLeave?.(event.afterMs)
      return true
    }
    const reply = service.respond(event.request)
    replies.push(reply.onLeave === undefined ? null : reply)
    return textOf(reply) === event.reply || onOther(event.request)
  })
}

type Decision = (...given: readonly unknown[]) => unknown

/** What they change is not seen in what they return. */
const acting = ['charge', 'logRejection'] as const satisfies readonly (keyof Behavior)[]
const isActing = (key: string): boolean => acting.some(each => each === key)

/**
 * The honest service, which asks all `lies` at each decision what they would decide. One that always decided the same
 * would have given the same replies: `decidesTheSame`, of all services with `honest`.
 */
export function compareDecisions(lies: readonly Lie[]) {
  const asked = new Set(lies.map(({ name }) => name))
  const different = new Set<string>()
  const overrides = (honest: Behavior, contract: Contract): Partial<Behavior> => {
    const rivals = new Map<string, Map<string, Decision>>()
    for (const { name, overrides: overridesOf } of lies) {
      const act = () => void different.add(name)
      const harmless = { ...honest, ...Object.fromEntries(acting.map(key => [key, act])) }
      for (const [key, own] of Object.entries(overridesOf(harmless, contract))) {
        if (typeof own === 'function' && !isActing(key))
          rivals.set(key, (rivals.get(key) ?? new Map()).set(name, own as Decision))
        else if (own !== honest[key as keyof Behavior]) different.add(name)
      }
    }
    const watched = [...rivals].map(([key, byName]) => {
      const documented = honest[key as keyof Behavior] as Decision
      const decide: Decision = (...given) => {
        const decided = documented(...given)
        for (const [name, rival] of byName) {
          if (!different.has(name) && isSame(rival, given, decided)) continue
          different.add(name)
          byName.delete(name)
        }
        return decided
      }
      return [key, decide]
    })
    return Object.fromEntries(watched)
  }
  const honest: Lie = { name: 'honest', text: 'Decides as documented.', overrides, alsoViolates: [] }
  return { honest, decidesTheSame: (name: string) => asked.has(name) && !different.has(name) }
}

function isSame(rival: Decision, given: readonly unknown[], decided: unknown): boolean {
  try {
    const other = rival(...given)
    return Object.is(other, decided) || isDeepStrictEqual(other, decided)
  } catch {
    return false
  }
}
