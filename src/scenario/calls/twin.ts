import { z } from 'zod'
import { isDeterministic } from '../../contract/chat-options.ts'
import { twinForms, twinParts } from '../../contract/requests/steps.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import { entriesOf, parseFields } from '../../lib/schemas.ts'
import { oneOf, unknownWord } from '../../lib/usage-error.ts'
import { durationField, flagField, mapping, textField } from '../fields.ts'
import { type CallContext, type CallKind, kindField, type TwinForm } from './call-kind.ts'
import { chat, resolvedChat } from './chat.ts'
import { resolvedRpc, rpc } from './rpc.ts'

const formField = z.enum(twinForms, { error: oneOf(twinForms) })
const partField = z.enum(twinParts, { error: oneOf(twinParts) })

export const twinSchema = mapping({
  kind: kindField('twin'),
  of: textField('the name of a call').describe('The call that is sent in several forms: chat, rpc or rpc-batch.'),
  as: z
    .array(formField, { error: 'a list of forms' })
    .min(1, { error: 'at least one form' })
    .describe(
      'The forms in which the same content is sent again: `streamed` (a whole completion), `compressed` (with Accept-Encoding), `shorter` (a deterministic completion, with half of its maximum of tokens), `batched` (a single RPC call, in a batch of one), `other-order` (a batch, its items reversed), `alone` (as it is, last, when the load around it may have ended), `other-key` (another key of the caller), `other-caller`.',
    ),
  concurrent: flagField.default(false).describe('Send all forms at once. Default: one after the other.'),
  'alone-after': durationField
    .optional()
    .describe('The wait before the form `alone`, from the end of the form before it. At most 30s. Default: 5s.'),
  'may-differ': z
    .array(partField, { error: 'a list of parts' })
    .default([])
    .describe(
      'What may differ between the forms: `tokens` (of the prompt), `credits`, `result` (of an RPC call), `answer`, `price` (of a deterministic completion). Default: nothing.',
    ),
}).describe('A request that is sent again in other forms, which must not change what it means or costs.')

export const resolvedTwin = z.object({
  kind: z.literal('twin'),
  of: z.discriminatedUnion('kind', [resolvedChat, resolvedRpc]),
  as: z.array(z.enum(twinForms)).min(1),
  concurrent: z.boolean(),
  mayDiffer: z.array(z.enum(twinParts)),
  /** Missing: no form is sent after a delay. */
  aloneAfterMs: z.number().positive().optional(),
})
type TwinCall = DeepReadonly<z.output<typeof resolvedTwin>>

const traitsOfOriginal = ({ of }: TwinCall) => (of.kind === 'chat' ? chat.traits(of) : rpc.traits(of))

export const twin: CallKind<TwinCall> = {
  judges: ['twins'],
  traits: call => {
    const original = traitsOfOriginal(call)
    const { cost } = original
    const requests = 1 + call.as.length
    const isDelayed = call.as.includes('alone')
    return {
      ...original,
      judges: judged => ['twins', ...original.judges(judged)],
      limits: original.limits.map(limit => ({ ...limit, amount: limit.amount * requests })),
      cost: {
        ...cost,
        credits: contract => cost.credits(contract) * requests,
        arrivals: (arrivals, contract) => cost.arrivals(arrivals * requests, contract),
        maxCharged: requests,
      },
      unfitToSaturate: 'which is several requests',
      requests,
      steps: ({ callers, keys }) => [
        'original',
        ...call.as.filter(form => form !== 'alone' && isPossible(form, callers, keys)),
        ...call.as.filter(form => form === 'alone'),
      ],
      requestsAtOnce: call.concurrent ? requests - (isDelayed ? 1 : 0) : 1,
      waitMs: call.aloneAfterMs ?? 0,
      minWaitMs: call.aloneAfterMs ?? 0,
      samples: () => requests,
      usesOtherCallers: call.as.includes('other-caller'),
    }
  },
  written: ({ of, as, concurrent, mayDiffer, aloneAfterMs }, nameOf) => ({
    of: nameOf(of),
    as,
    concurrent,
    'may-differ': mayDiffer,
    ...(aloneAfterMs !== undefined && { 'alone-after': `${aloneAfterMs}ms` }),
  }),
}

/** A wallet has one key, so that a twin with another key is not sent. */
const isPossible = (form: TwinForm, callers: number, keys: number): boolean =>
  form === 'other-key' ? keys > 1 : form !== 'other-caller' || callers > 1

/** Why a call cannot have a form; null if it can. */
function unfit(form: TwinForm, of: TwinCall['of'], { callers, keysPerCaller }: CallContext): string | null {
  switch (form) {
    case 'streamed':
      return of.kind === 'chat' && !of.stream ? null : 'a form of a chat call with "stream: false"'
    case 'compressed':
      return of.kind === 'chat' ? null : 'a form of a chat call'
    case 'shorter':
      return of.kind === 'chat' && of.maxCompletionTokens > 1 && isDeterministic(of.options)
        ? null
        : 'a form of a chat call with "temperature: 0" and a "seed" in its body, and at least 2 completion tokens'
    case 'batched':
      return of.kind === 'rpc' && of.batchSize === null && of.failing === 0
        ? null
        : 'a form of an rpc call without failures'
    case 'other-order':
      return of.kind === 'rpc' && (of.batchSize ?? 1) > 1 ? null : 'a form of an rpc-batch call of at least 2 items'
    case 'alone':
      return null
    case 'other-key':
      return keysPerCaller === 1 ? 'a form of callers with "keys-per-caller" of at least 2' : null
    case 'other-caller':
      return callers === 1 ? 'a form of at least 2 callers' : null
  }
}

export function resolveTwin(value: unknown, context: CallContext): TwinCall | null {
  const { of, as, concurrent, 'may-differ': mayDiffer, 'alone-after': written } = parseFields(twinSchema, value)
  const { resolved, report, written: calls } = context
  if (of === undefined) return null
  const original = resolved.get(of)
  // An original with a mistake is already reported, and its kind is unknown.
  if (original === null && !isRepetition(calls[of])) return null
  if (!original || !hasTwins(original)) {
    const names = [...resolved].filter(([, call]) => call !== null && hasTwins(call)).map(([name]) => name)
    report(['of'], unknownWord(of, names, 'the name of a call of the kind chat, rpc or rpc-batch'))
    return null
  }
  if (as === undefined || concurrent === undefined || mayDiffer === undefined) return null
  for (const [index, form] of as.entries()) {
    const why = unfit(form, original, context)
    if (why !== null) report(['as', index], { got: `"${form}"`, expected: why })
    else if (as.indexOf(form) < index) report(['as', index], { got: `"${form}" again`, expected: 'each form once' })
  }
  const isDelayed = as.includes('alone')
  const aloneAfterMs = written ?? usualDelayMs
  if (written !== undefined && !isDelayed)
    report(['alone-after'], { got: 'a wait without the form "alone"', expected: 'the form "alone" in "as"' })
  if (aloneAfterMs > maxDelayMs)
    report(['alone-after'], { got: `${aloneAfterMs / 1000}s`, expected: `at most ${maxDelayMs / 1000}s` })
  return { kind: 'twin', of: original, as, concurrent, mayDiffer, ...(isDelayed && { aloneAfterMs }) }
}

/** Calls that repeat others are not resolved yet when one of them names another one, or itself. */
const isRepetition = (call: unknown): boolean => ['twin', 'replay'].includes(String(entriesOf(call).kind))

const usualDelayMs = 5_000
const maxDelayMs = 30_000

const hasTwins = (call: { readonly kind: string }): call is TwinCall['of'] =>
  call.kind === 'chat' || call.kind === 'rpc'
