import { z } from 'zod'
import { type Contract, resourceOf } from '../../contract/contract.ts'
import { repeatableKind } from '../../contract/requests/idempotency.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import type { Random } from '../../lib/random.ts'
import { entriesOf, parseFields, whole } from '../../lib/schemas.ts'
import { unknownWord } from '../../lib/usage-error.ts'
import { durationField, flagField, integerField, mapping, probabilityField, textField } from '../fields.ts'
import {
  type CallContext,
  type CallCost,
  type CallKind,
  type CallTraits,
  kindField,
  type ReplayStep,
} from './call-kind.ts'
import { chat, resolvedChat } from './chat.ts'
import { resolvedResource, resource } from './resource.ts'
import { resolvedRpc, rpc } from './rpc.ts'

export const replaySchema = mapping({
  kind: kindField('replay'),
  of: textField('the name of a call').describe(
    'The call that is repeated: rpc or rpc-batch, or what else has idempotency keys by the profile (idempotency.calls).',
  ),
  duplicates: integerField(0, 20).default(1).describe('Additional requests with the key and body of the first.'),
  concurrent: flagField.default(false).describe('Send the duplicates concurrently with the first request.'),
  'conflict-ratio': probabilityField()
    .default(0)
    .describe('Probability of one more request with the same key and a different body.'),
  'other-key-ratio': probabilityField()
    .default(0)
    .describe('Probability of one more request with the same body and another API key of the account.'),
  'other-caller-ratio': probabilityField()
    .default(0)
    .describe('Probability that another caller sends the same key and body.'),
  'repeat-after': durationField
    .optional()
    .describe(
      'Delay of one more request with the same key and body, within the lifetime of the key or after it. At most 30s. Default: no such request.',
    ),
}).describe('A request that is sent again with the same idempotency key.')

const ratio = z.number().min(0).max(1)

export const resolvedReplay = z.object({
  kind: z.literal('replay'),
  of: z.discriminatedUnion('kind', [resolvedRpc, resolvedChat, resolvedResource]),
  duplicates: whole,
  concurrent: z.boolean(),
  conflictRatio: ratio,
  otherCallerRatio: ratio,
  otherKeyRatio: ratio,
  /** Delay of one more request with the key and the body of the first; null for none. */
  repeatAfterMs: z.number().nonnegative().nullable(),
})
type ReplayCall = DeepReadonly<z.output<typeof resolvedReplay>>

/** What the repeated call would be on its own. */
function traitsOfOriginal({ of }: Pick<ReplayCall, 'of'>): CallTraits {
  switch (of.kind) {
    case 'rpc':
      return rpc.traits(of)
    case 'chat':
      return chat.traits(of)
    case 'resource':
      return resource.traits(of)
  }
}

export const replay: CallKind<ReplayCall> = {
  judges: ['idempotency', ...rpc.judges],
  traits: call => {
    const { duplicates, conflictRatio, otherCallerRatio, otherKeyRatio, repeatAfterMs } = call
    const later = repeatAfterMs === null ? 0 : 1
    const requests = 1 + duplicates + otherKeyRatio + conflictRatio + otherCallerRatio + later
    const original = traitsOfOriginal(call)
    return {
      ...original,
      judges: judged => ['idempotency', ...original.judges(judged)],
      limits: original.limits.map(limit => ({ ...limit, amount: limit.amount * requests })),
      cost: replayCost(call, original.cost),
      unfitToSaturate: 'which is several requests',
      isSearchable: conflictRatio === 0,
      requests,
      steps: ({ random, callers, keys }) => replaySteps(call, random(), callers, keys),
      requestsAtOnce: call.concurrent ? 1 + duplicates : 1,
      samples: () => requests - conflictRatio,
      refusals: () => conflictRatio,
      waitMs: repeatAfterMs ?? 0,
      minWaitMs: repeatAfterMs ?? 0,
      usesOtherCallers: otherCallerRatio > 0,
    }
  },
  prompt: call => ({ ...call, repeatAfterMs: null }),
  written: (call, nameOf) => ({
    of: nameOf(call.of),
    duplicates: call.duplicates,
    concurrent: call.concurrent,
    'conflict-ratio': call.conflictRatio,
    'other-key-ratio': call.otherKeyRatio,
    'other-caller-ratio': call.otherCallerRatio,
    ...(call.repeatAfterMs !== null && { 'repeat-after': `${call.repeatAfterMs}ms` }),
  }),
}

function replaySteps(call: ReplayCall, random: Random, callers: number, keys: number): readonly ReplayStep[] {
  const hasConflict = random.next() < call.conflictRatio
  const hasOtherCaller = random.next() < call.otherCallerRatio && callers > 1
  const hasOtherKey = random.next() < call.otherKeyRatio && keys > 1
  return [
    'original',
    ...Array<ReplayStep>(call.duplicates).fill('duplicate'),
    ...(hasOtherKey ? (['other-key'] as const) : []),
    ...(hasConflict ? (['conflict'] as const) : []),
    ...(hasOtherCaller ? (['other-caller'] as const) : []),
    ...(call.repeatAfterMs === null ? [] : (['late-repeat'] as const)),
  ]
}

/**
 * Replays and conflicts cost nothing. A request of another caller costs as much as the original, and so does a repetition
 * after its key has expired.
 */
function replayCost(call: ReplayCall, original: CallCost): CallCost {
  const { duplicates, conflictRatio, otherKeyRatio, otherCallerRatio, repeatAfterMs } = call
  const charged = (contract: Contract) => {
    const isLate = repeatAfterMs !== null && repeatAfterMs >= contract.idempotency.ttlMs
    return 1 + otherCallerRatio + (isLate ? 1 : 0)
  }
  const possible = [conflictRatio > 0, otherKeyRatio > 0, otherCallerRatio > 0, repeatAfterMs !== null]
  return {
    credits: contract => original.credits(contract) * charged(contract),
    arrivals: (arrivals, contract) => original.arrivals(arrivals * charged(contract), contract),
    maxRequest: original.maxRequest,
    maxCharged: 1 + duplicates + possible.filter(Boolean).length,
  }
}

export function resolveReplay(value: unknown, context: CallContext): ReplayCall | null {
  const {
    of,
    duplicates,
    concurrent,
    'conflict-ratio': conflictRatio,
    'other-caller-ratio': otherCallerRatio,
    'other-key-ratio': otherKeyRatio,
    'repeat-after': repeatAfterMs = null,
  } = parseFields(replaySchema, value)
  const { written, resolved, callers, keysPerCaller, report } = context
  const expectNone = (key: string, got: number | undefined, why: string) => {
    if (got !== undefined && got > 0) report([key], { got: String(got), expected: `0, since ${why}` })
  }
  if (callers === 1) expectNone('other-caller-ratio', otherCallerRatio, 'there is only 1 caller')
  if (keysPerCaller === 1) expectNone('other-key-ratio', otherKeyRatio, '"keys-per-caller" of "callers" is 1')
  if (of === undefined) return null
  const original = resolved.get(of)
  // An original with a mistake is already reported, and its kind is unknown.
  if (original === null && !isWrittenReplay(written[of])) return null
  const { calls: kinds } = context.contract.idempotency
  const isAllowed = (kind: unknown) => kinds.some(each => each === kind || (each === 'rpc' && kind === 'rpc-batch'))
  const isUnkeptStream = original?.kind === 'chat' && !isAllowed(repeatableKind(original)) && isAllowed('chat')
  if (!original || !isRepeatableCall(original) || !(isUnkeptStream || isAllowed(repeatableKind(original)))) {
    const kindOf = ({ kind, stream }: Readonly<Record<string, unknown>>) =>
      kind === 'chat' && stream !== false ? 'stream' : kind
    const repeatable = Object.keys(written).filter(name => isAllowed(kindOf(entriesOf(written[name]))))
    const words: Readonly<Record<string, string>> = { rpc: 'rpc or rpc-batch', stream: 'chat with a stream' }
    const allowed = kinds.map(kind => words[kind] ?? kind).join(' or ')
    const hint = original && isRepeatableCall(original) ? { hint: 'idempotency.calls of the profile lists them' } : {}
    report(['of'], { ...unknownWord(of, repeatable, `the name of a call of the kind ${allowed}`), ...hint })
    return null
  }
  if (isUnkeptStream)
    report(['of'], {
      got: `"${of}", a stream`,
      expected: 'a chat call with "stream: false", or a profile whose idempotency.calls has stream',
    })
  if (original.kind === 'resource') {
    expectNone('conflict-ratio', conflictRatio, 'a resource has one valid body')
    if (resourceOf(context.contract, original.resource)?.method === 'GET')
      report(['of'], { got: `"${of}", a GET`, expected: 'a resource with the method POST' })
  }
  if (duplicates === undefined || concurrent === undefined) return null
  if (conflictRatio === undefined || otherCallerRatio === undefined || otherKeyRatio === undefined) return null
  if (repeatAfterMs !== null && repeatAfterMs > maxRepeatAfterMs) {
    report(['repeat-after'], { got: `${repeatAfterMs / 1000}s`, expected: `at most ${maxRepeatAfterMs / 1000}s` })
    return null
  }
  const repetitions = duplicates + conflictRatio + otherCallerRatio + otherKeyRatio
  if (repetitions === 0 && repeatAfterMs === null) {
    const expected = 'duplicates, other-key-ratio, conflict-ratio or other-caller-ratio above 0, or repeat-after'
    report([], { got: 'a replay without a repetition', expected })
    return null
  }
  return {
    kind: 'replay',
    of: original,
    duplicates,
    concurrent,
    conflictRatio,
    otherCallerRatio,
    otherKeyRatio,
    repeatAfterMs,
  }
}

/** Audits process requests in order, so a repetition that waits delays them. */
const maxRepeatAfterMs = 30_000

const isRepeatableCall = (call: { readonly kind: string }): call is ReplayCall['of'] =>
  call.kind === 'rpc' || call.kind === 'chat' || call.kind === 'resource'

/** Whether a call of the file repeats another one. */
const isWrittenReplay = (written: unknown): boolean => entriesOf(written).kind === 'replay'

/** The replays of some turns of a conversation. */
export const turnReplaysField = mapping({
  ratio: probabilityField().default(1).describe('Probability that a turn is sent again after its answer.'),
  duplicates: integerField(1, 20).default(1).describe('Additional requests with the key and body of such a turn.'),
  'conflict-ratio': probabilityField()
    .default(0)
    .describe('Probability of one more request with the key of such a turn and a different body.'),
  'other-key-ratio': probabilityField()
    .default(0)
    .describe('Probability of one more request with the body of such a turn and another API key of the account.'),
  'other-caller-ratio': probabilityField()
    .default(0)
    .describe('Probability that another caller sends the key and body of such a turn, too.'),
})
  .optional()
  .describe('Some turns are sent again with the same idempotency key, if the profile promises it. Default: none is.')

export const resolvedTurnReplays = z.object({
  ...{ ratio, duplicates: whole },
  /** Missing in plans of earlier versions. */
  ...{ conflictRatio: ratio.default(0), otherKeyRatio: ratio.default(0), otherCallerRatio: ratio.default(0) },
})
type TurnReplays = DeepReadonly<z.output<typeof resolvedTurnReplays>>

/** The replays of a turn that is sent again. */
export function turnReplays(
  replays: TurnReplays,
  { random, callers, keys }: { readonly random: Random; readonly callers: number; readonly keys: number },
): readonly ReplayStep[] {
  const drawn = (ratio: number, step: ReplayStep, isPossible = true) =>
    ratio > 0 && random.next() < ratio && isPossible ? [step] : []
  return [
    ...Array<ReplayStep>(replays.duplicates).fill('duplicate'),
    ...drawn(replays.otherKeyRatio, 'other-key', keys > 1),
    ...drawn(replays.conflictRatio, 'conflict'),
    ...drawn(replays.otherCallerRatio, 'other-caller', callers > 1),
  ]
}

/** The replays of a turn, on average. */
export const meanTurnReplays = (replays: TurnReplays): number =>
  replays.ratio * (replays.duplicates + replays.conflictRatio + replays.otherKeyRatio + replays.otherCallerRatio)

/** The most replays that a turn can have. */
export const mostTurnReplays = ({ duplicates, conflictRatio, otherKeyRatio, otherCallerRatio }: TurnReplays): number =>
  duplicates + [conflictRatio, otherKeyRatio, otherCallerRatio].filter(ratio => ratio > 0).length

export const writtenTurnReplays = (replays: TurnReplays) => ({
  ...{ ratio: replays.ratio, duplicates: replays.duplicates },
  'conflict-ratio': replays.conflictRatio,
  'other-key-ratio': replays.otherKeyRatio,
  'other-caller-ratio': replays.otherCallerRatio,
})

/** A replay is judged by what the profile promises, and by its bytes. */
export function resolveTurnReplays(
  written: NonNullable<z.output<typeof turnReplaysField>>,
  isStream: boolean,
  context: CallContext,
): TurnReplays {
  const { ratio, duplicates, 'conflict-ratio': conflictRatio } = written
  const { 'other-key-ratio': otherKeyRatio, 'other-caller-ratio': otherCallerRatio } = written
  const { contract, callers, keysPerCaller, report } = context
  const { calls } = contract.idempotency
  const expectNone = (key: string, got: number, why: string) => {
    if (got > 0) report(['replays', key], { got: String(got), expected: `0, since ${why}` })
  }
  if (callers === 1) expectNone('other-caller-ratio', otherCallerRatio, 'there is only 1 caller')
  if (keysPerCaller === 1) expectNone('other-key-ratio', otherKeyRatio, '"keys-per-caller" of "callers" is 1')
  const kind = isStream ? 'stream' : 'chat'
  if (!calls.includes(kind))
    report(['replays'], {
      got: `replays of ${isStream ? 'streams' : 'chat'}, and idempotency.calls of the profile is [${calls.join(', ')}]`,
      expected: `no replays${isStream ? ', "stream: false"' : ''}, or a profile whose idempotency.calls has ${kind}`,
    })
  return { ratio, duplicates, conflictRatio, otherKeyRatio, otherCallerRatio }
}
