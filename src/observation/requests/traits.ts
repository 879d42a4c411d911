import { z } from 'zod'
import type { Contract } from '../../contract/contract.ts'
import type { LimiterName } from '../../contract/limiters.ts'
import { type ArrivalStep, replayRoles, twinForms, twinParts } from '../../contract/requests/steps.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import { is2xx } from '../../lib/numbers.ts'
import { whole } from '../../lib/schemas.ts'
import type { ApplicableLimit, LimitedCaller } from '../limit-scope.ts'

/**
 * What identifies the sender of a request. caller: its key or a valid sign-in, which the service must read · unread: its
 * key, which the service need not read · payment: a signed payment, without a sign-in · wallet: a sign-in of its wallet
 * that may be refused · bad-sign-in: one that must be refused · other: another account · none: nothing
 */
export type Identity = 'caller' | 'unread' | 'payment' | 'wallet' | 'bad-sign-in' | 'other' | 'none'

/** How requests are charged. maximum: the contract has only a maximum · probe: as the request that it imitates */
export type Pricing = 'tokens' | 'credits' | 'maximum' | 'probe' | 'nothing'

type Endpoint = { readonly method: 'GET' | 'POST'; readonly route: string }

/** The role of a request among those that share one idempotency key. */
export const replayRoleSchema = z.object({
  /** The `id` of the first request with the key. Identifies the key without revealing it. */
  group: whole,
  role: z.enum(replayRoles),
  concurrent: z.boolean(),
})
export type ReplayRole = DeepReadonly<z.output<typeof replayRoleSchema>>

/** The form of a request among those with one content. original: as the call says */
export const twinRoleSchema = z.object({
  /** The `id` of the first request with the content. */
  group: whole,
  form: z.enum(['original', ...twinForms]),
  mayDiffer: z.array(z.enum(twinParts)),
})
export type TwinRole = DeepReadonly<z.output<typeof twinRoleSchema>>

/** A turn of a conversation. */
export const turnSchema = z.object({
  /** The `id` of the first request of its session. */
  session: whole,
  /** From 0. */
  number: whole,
  /** The steps of its session up to the last turn. Each turn, of a branch too, and each replay before it is one. */
  turns: whole,
  /** Its number in its branch or in the main line, from 0. Missing: no turn of its call has branches. */
  place: z.object({ isBranch: z.boolean(), number: whole }).optional(),
  /** The approximate number of tokens that no earlier request had, so that no cache has them. */
  newTokens: whole,
})
export type TurnDescriptor = DeepReadonly<z.output<typeof turnSchema>>

/** What a request is for in its arrival, as its record tells. */
type RequestStep = Exclude<ArrivalStep, 'offer'>

/** All that the judges ask about a kind of request, besides its own checks. */
export type RequestTraits<Request> = {
  /** The method, and the path without the values of parameters, such as `{walletAddress}`. */
  readonly endpoint: (request: Request, contract: Contract) => Endpoint
  /** The limiter that counts such requests; null: it depends on the request, or the service may count none. */
  readonly limiter: LimiterName | null
  /** The limit that the request draws on; null: none of its caller. */
  readonly limit: (request: Request, caller: LimitedCaller, contract: Contract) => ApplicableLimit | null
  /** The part of the service that handles it. The responses of inference name the model that was used. */
  readonly service: (request: Request, contract: Contract) => 'inference' | 'rpc' | 'other'
  /** The model, network or resource that it names; empty: none. */
  readonly subject: (request: Request) => string
  /** The maximum number of tokens that count against a limit. Services count differently, so it is generous. */
  readonly maxTokens: (request: Request) => number
  readonly pricing: (request: Request) => Pricing
  readonly identity: (request: Request) => Identity
  /** Whether it is crafted for a clause. Then it is open what counts it. */
  readonly isProbe: boolean
  /** What decides the content of the request, with its call and the seed: the first request of its arrival, and its part. */
  readonly position: (
    request: Request,
    id: number,
  ) => {
    readonly firstId: number
    readonly step: RequestStep
    readonly turn?: Pick<TurnDescriptor, 'number' | 'turns'> & { readonly group?: number }
    readonly recorded?: number
  }
  /** The address of the wallet that sends it; null: none, or unknown. */
  readonly address: (request: Request) => string | null
  /** The timestamp that it carries, in milliseconds; null for none. */
  readonly timestampMs: (request: Request) => number | null
  /** Its idempotency key; null: it has none. */
  readonly replay: (request: Request) => ReplayRole | null
  /** Its form among requests with the same content; null: it has no twin. */
  readonly twin: (request: Request) => TwinRole | null
  /** Its turn in a conversation; null: it is none. */
  readonly turn: (request: Request) => TurnDescriptor | null
  /** Whether it is the first request of its arrival. */
  readonly isFirst: (request: Request, id: number) => boolean
  /** Whether the service may have received the same idempotency key before. Of concurrent requests, any may be the first. */
  readonly isRepetition: (request: Request) => boolean
  /** Whether it is sent to be refused, and counts as a failure of its caller. */
  readonly isMeantToFail: (request: Request, contract: Contract) => boolean
  /** Whether the contract says what it should get. `status`: what it got; null: no response. */
  readonly hasIntent: (request: Request, status: number | null, contract: Contract) => boolean
  /** Whether this status is what it was sent for. */
  readonly isIntended: (request: Request, status: number, contract: Contract) => boolean
}

/** The traits of a request that is sent once, with the key of its caller, and should succeed. */
export const usual = {
  subject: () => '',
  maxTokens: () => 0,
  identity: () => 'caller',
  isProbe: false,
  position: (_, firstId) => ({ firstId, step: 'only' }),
  address: () => null,
  timestampMs: () => null,
  replay: () => null,
  twin: () => null,
  turn: () => null,
  isFirst: () => true,
  isRepetition: () => false,
  isMeantToFail: () => false,
  hasIntent: () => true,
  isIntended: (_, status) => is2xx(status),
} as const satisfies Partial<RequestTraits<unknown>>

/** The traits of a request that may have an idempotency key, or twins. */
export const withKey = <Request>(
  roleOf: (request: Request) => ReplayRole | null,
  twinOf: (request: Request) => TwinRole | null = () => null,
) =>
  ({
    replay: roleOf,
    twin: twinOf,
    position: (request, id) => {
      const [replay, twin] = [roleOf(request), twinOf(request)]
      return { firstId: replay?.group ?? twin?.group ?? id, step: replay?.role ?? twin?.form ?? 'only' }
    },
    isFirst: (request, id) => (roleOf(request)?.group ?? twinOf(request)?.group ?? id) === id,
    isRepetition: request => {
      const replay = roleOf(request)
      return replay !== null && replay.role !== 'other-caller' && (replay.role !== 'original' || replay.concurrent)
    },
    isMeantToFail: request => roleOf(request)?.role === 'conflict',
    // An audit of replays judges what a conflict gets.
    hasIntent: request => roleOf(request)?.role !== 'conflict',
    isIntended: (request, status, { idempotency }) =>
      is2xx(status) || (roleOf(request)?.concurrent === true && idempotency.inProgress.includes(status)),
  }) as const satisfies Partial<RequestTraits<Request>>
