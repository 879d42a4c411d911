import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { JudgeName } from '../../contract/clause.ts'
import type { Contract } from '../../contract/contract.ts'
import { probeNames } from '../../contract/probes.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import { memoizeByObject } from '../../lib/memoize.ts'
import { entriesOf } from '../../lib/schemas.ts'
import { oneOf } from '../../lib/usage-error.ts'
import type { ReportMistake } from '../../lib/yaml.ts'
import { namesInSequence } from '../stage-schema.ts'
import type { CallContext, CallKind, CallTraits } from './call-kind.ts'
import { chat, chatSchema, resolveChat, resolvedChat } from './chat.ts'
import { conversation, conversationSchema, resolveConversation, resolvedConversation } from './conversation.ts'
import { probe, probeNamed, probeSchema, resolvedProbe, resolveProbe } from './probe.ts'
import { replay, replaySchema, resolvedReplay, resolveReplay } from './replay.ts'
import {
  limitLogsSchema,
  list,
  modelsSchema,
  networksSchema,
  rateLimitsSchema,
  resolvedList,
  resolvedResource,
  resolveResource,
  resource,
  resourceSchema,
} from './resource.ts'
import { batchSchema, resolveBatch, resolvedRpc, resolveSingle, rpc, rpcSchema } from './rpc.ts'
import { resolvedTwin, resolveTwin, twin, twinSchema } from './twin.ts'
import {
  resolvedBalance,
  resolvedTopUp,
  resolveTopUp,
  topUp,
  topUpSchema,
  walletBalance,
  walletBalanceSchema,
} from './wallets.ts'

const writtenCalls = [
  chatSchema,
  conversationSchema,
  rpcSchema,
  batchSchema,
  replaySchema,
  twinSchema,
  modelsSchema,
  networksSchema,
  rateLimitsSchema,
  limitLogsSchema,
  resourceSchema,
  topUpSchema,
  walletBalanceSchema,
  probeSchema,
] as const
type WrittenKind = z.output<(typeof writtenCalls)[number]>['kind']

/** A call as a person writes it. */
export const callSchema = z.discriminatedUnion('kind', writtenCalls, {
  error: issue => (issue.code === 'invalid_union' ? oneOf(Object.keys(resolvers)) : 'a mapping with the key "kind"'),
})

/** A call as it is sent. The contract has decided its model, its methods and their weights. */
export const resolvedCallSchema = z.discriminatedUnion('kind', [
  resolvedChat,
  resolvedConversation,
  resolvedRpc,
  resolvedReplay,
  resolvedTwin,
  resolvedList,
  resolvedResource,
  resolvedTopUp,
  resolvedBalance,
  resolvedProbe,
])
export type Call = DeepReadonly<z.output<typeof resolvedCallSchema>>

/** The calls of a scenario by name; null for a call with a mistake. */
export type Calls = ReadonlyMap<string, Call | null>

type Resolve = (written: unknown, context: CallContext) => Call | null

/** By kind, how a call of the file becomes one that can be sent. Null: the call has a mistake. */
const resolvers: Readonly<Record<WrittenKind, Resolve>> = {
  chat: resolveChat,
  conversation: resolveConversation,
  rpc: resolveSingle,
  'rpc-batch': resolveBatch,
  replay: resolveReplay,
  twin: resolveTwin,
  models: () => ({ kind: 'models' }),
  networks: () => ({ kind: 'networks' }),
  'rate-limits': () => ({ kind: 'rate-limits' }),
  'rate-limit-logs': () => ({ kind: 'rate-limit-logs' }),
  resource: resolveResource,
  'top-up': resolveTopUp,
  'wallet-balance': () => ({ kind: 'wallet-balance' }),
  probe: resolveProbe,
}

/** The call of a kind, for each call of the union. */
type CallOf<Kind, Each = Call> = Each extends { readonly kind: infer Own } ? (Kind extends Own ? Each : never) : never

const kinds: { readonly [Kind in Call['kind']]: CallKind<CallOf<Kind>> } = {
  chat,
  conversation,
  rpc,
  replay,
  twin,
  models: list,
  networks: list,
  'rate-limits': list,
  'rate-limit-logs': list,
  balance: list,
  resource,
  'top-up': topUp,
  'wallet-balance': walletBalance,
  probe,
}

/** All that the program asks about a call, whatever its kind. */
export const traitsOf = memoizeByObject((call: Call): CallTraits => kindOf(call).traits(call))

const kindOf = (call: Call): CallKind<Call> => kinds[call.kind] as CallKind<Call>

/** The same call without payments. */
export const withoutPayments = (call: Call): Call => kindOf(call).unpaid?.(call) ?? call

/** The same call without the time that Turnpike waits between its requests. */
export const withoutWaits = (call: Call): Call => kindOf(call).prompt?.(call) ?? call

/** The calls as a person would write them, so that they resolve to these. A call that only a replay names gets a name. */
export function writtenCallsOf(calls: Readonly<Record<string, Call>>): Record<string, WrittenCall> {
  const all = new Map(Object.entries(calls))
  const nameOf = (other: { readonly kind: string }): string => {
    const known = [...all].find(([, call]) => isDeepStrictEqual(call, other))
    if (known !== undefined) return known[0]
    const name = originalName(all)
    all.set(name, other as Call)
    return name
  }
  // Writing a replay may add a call, which the loop then reaches.
  const written: Record<string, WrittenCall> = {}
  for (const [name, call] of all)
    written[name] = withoutDefaults({ kind: call.kind, ...kindOf(call).written(call, nameOf) })
  return written
}

/** Without fields that have the value of a call that lacks them. */
export function withoutDefaults(written: WrittenCall): WrittenCall {
  const schema = writtenCalls.find(({ shape }) => shape.kind.value === written.kind)
  const fields: Readonly<Record<string, z.ZodType>> = schema?.shape ?? {}
  const isNeeded = ([key, value]: [string, unknown]) =>
    !isDeepStrictEqual(fields[key]?.safeParse(undefined).data ?? {}, value)
  return Object.fromEntries(Object.entries(written).filter(isNeeded))
}

/** The keys of a call as a scenario file has them. */
export type WrittenCall = Readonly<Record<string, unknown>>

/** A name for a call that only a replay names. */
function originalName(used: ReadonlyMap<string, unknown>): string {
  for (let number = 1; ; number++) {
    const name = number === 1 ? 'original' : `original-${number}`
    if (!used.has(name)) return name
  }
}

/** The judges that concern calls of some kinds only. The others concern every request, or the history of an account. */
export const judgesOfKinds: ReadonlySet<JudgeName> = new Set(Object.values(kinds).flatMap(({ judges }) => judges))

/** Resolves the calls. Reports what the contract does not know; the schema reports the rest. */
export function resolveCalls(
  value: unknown,
  {
    count: keyed,
    wallets,
    'keys-per-caller': keysPerCaller,
  }: {
    readonly count?: number | undefined
    readonly wallets?: number | undefined
    readonly 'keys-per-caller'?: number | undefined
  },
  offers: { readonly contract: Contract; readonly isTentative: boolean },
  report: ReportMistake,
): Calls {
  const written = entriesOf(value)
  const callers = keyed === undefined || wallets === undefined ? undefined : keyed + wallets
  const calls = new Map<string, Call | null>(Object.keys(written).map(name => [name, null]))
  // A call may repeat one that follows it in the file, so those that repeat are resolved last.
  const [originals, repeating] = [false, true].map(last =>
    Object.entries(written).filter(([, call]) => Object.hasOwn(entriesOf(call), 'of') === last),
  )
  for (const [name, call] of [...(originals ?? []), ...(repeating ?? [])]) {
    const { kind } = entriesOf(call)
    if (typeof kind !== 'string' || !isWrittenKind(kind)) continue
    const resolved = resolvers[kind](call, {
      ...offers,
      callers,
      keysPerCaller,
      written,
      resolved: calls,
      report: (keys, problem, at = 'value') => report({ path: ['calls', name, ...keys], at, ...problem }),
    })
    calls.set(name, resolved)
  }
  return calls
}

const isWrittenKind = (kind: string): kind is WrittenKind => Object.hasOwn(resolvers, kind)

/** Adds the probes that sequences name, which need no call of their own. A call with the name of a probe takes precedence. */
export function withNamedProbes(calls: Calls, stages: unknown): Calls {
  const named = (Array.isArray(stages) ? stages : []).flatMap((stage: unknown) =>
    namesInSequence(entriesOf(stage).calls),
  )
  const probes = probeNames.filter(name => named.includes(name) && !calls.has(name))
  return new Map([...calls, ...probes.map(name => [name, probeNamed(name)] as const)])
}
