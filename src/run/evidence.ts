import { keyHeaders } from '../contract/requests/credentials.ts'
import type { RunInfo } from '../observation/log-lines.ts'
import type { Observation, Outcome } from '../observation/observation.ts'
import { requestTraits } from '../observation/requests/request.ts'
import { traceIdsOf } from '../observation/trace-id.ts'
import { type Call, type Plan, traitsOf } from '../plan/plan.ts'
import { promptAt } from '../plan/recorded-load.ts'
import { specialKeyVariables } from '../produce/callers/api-keys.ts'
import type { RequestContext, RequestPosition } from '../produce/calls/call.ts'
import { buildRequest } from '../produce/calls/kinds.ts'
import type { Evidence } from '../report/document.ts'
import { curlCommand } from './curl.ts'

const maxBodyLength = 2_000

/**
 * The evidence of a finding for one request. The request was not recorded: the plan and the seed rebuild it, with the
 * name of an environment variable in place of the key.
 */
export function evidenceOf(
  observation: Observation,
  calls: Readonly<Record<string, Call>>,
  context: RequestContext & Partial<Pick<Plan, 'stages'>>,
  head: Pick<RunInfo, 'target' | 'startedAtMs' | 'runId' | 'traces' | 'withoutKeys'>,
): Evidence {
  const { startedAtMs, runId, traces } = head
  const { id, caller, stage, call, dueMs, sentMs, headersMs, endMs, outcome, response } = observation
  return {
    id,
    caller,
    stage,
    call,
    request: requestOf(observation, calls[call], context, head),
    position: positionOf(observation),
    outcome: describeOutcome(outcome),
    headers: response?.headers ?? {},
    body: response === null ? '' : JSON.stringify(bodyOf(response)).slice(0, maxBodyLength),
    dueMs,
    sentMs,
    headersMs,
    endMs,
    sentAt: sentMs === null ? null : isoTime(startedAtMs + sentMs),
    traceId: traces && sentMs !== null ? traceIdsOf(runId).traceId(id) : null,
  }
}

/** null: the instant, which an edited record may have, is beyond the range of dates. */
function isoTime(unixMs: number): string | null {
  const date = new Date(unixMs)
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}

/** What decides the content of a request, with the plan and the seed. */
export const positionOf = ({ request, id, key }: Pick<Observation, 'request' | 'id' | 'key'>): RequestPlace => ({
  ...requestTraits(request).position(request, id),
  key,
})

export type RequestPlace = RequestPosition & {
  readonly key: number
  /** The position of its arrival in a stage that repeats a trace. Missing: its call decides its prompt. */
  readonly recorded?: number | undefined
}

function requestOf(
  observation: Observation,
  plan: Call | undefined,
  context: RequestContext & Partial<Pick<Plan, 'stages'>>,
  { target, withoutKeys }: Pick<RunInfo, 'target' | 'withoutKeys'>,
): Evidence['request'] {
  if (plan === undefined) return null
  const { key: place, ...rest } = positionOf(observation)
  const { firstId, step } = rest
  const position = { ...rest, prompt: promptOf(rest, observation.stage, context) }
  const ownKey = place === 0 ? '$TURNPIKE_KEY' : `$TURNPIKE_KEY_${place + 1}`
  const as = traitsOf(plan).sender
  const specialKey = as === 'free-user' || as === 'zero-balance' ? `$${specialKeyVariables[as]}` : null
  const keyed = (name: string) => (withoutKeys && specialKey === null ? {} : keyHeaders(context.contract.auth, name))
  const key = specialKey ?? (step === 'other-caller' ? '$TURNPIKE_OTHER_KEY' : ownKey)
  const { chain, request: sent } = observation
  const { signIn, topUp } = context.contract.wallets
  const header = observation.signIn?.isLegacy ? (signIn.legacyHeader ?? signIn.header) : signIn.header
  // A sign-in is valid once, so it must be signed anew.
  const credentials = (name: string) => (chain === undefined ? keyed(name) : { [header]: '$TURNPIKE_SIGN_IN' })
  const wallet = chain === undefined ? undefined : { chain, address: requestTraits(sent).address(sent) ?? '' }
  const { request: rebuilt } = buildRequest(plan, { ...position, wallet }, credentials(key), context)
  // A payment is signed by its wallet, too.
  const payment = step === 'payment' ? { [topUp.paymentHeader]: '$TURNPIKE_PAYMENT_SIGNATURE' } : {}
  const again = { ...rebuilt, headers: { ...rebuilt.headers, ...payment } }
  const { method, path, headers, body } = again
  // A repeated request only makes sense after the original.
  const { turn } = rest
  const first =
    step === 'only' || step === 'original' || step === 'turn'
      ? []
      : [buildRequest(plan, { firstId, step: 'original', turn, wallet }, credentials('$TURNPIKE_KEY'), context).request]
  const commands = [...first, again].map(each => curlCommand(target, each))
  const curl = commands.includes(null) ? null : commands.join('; ')
  return { method, path, headers, body: body === null ? null : body.slice(0, maxBodyLength), curl }
}

/** The prompt of a request that a trace decides; undefined: its call does. */
export const promptOf = (
  { recorded }: Pick<RequestPlace, 'recorded'>,
  stage: string,
  { stages = [] }: Partial<Pick<Plan, 'stages'>>,
): RequestPosition['prompt'] => (recorded === undefined ? undefined : (promptAt(stages, stage, recorded) ?? undefined))

function bodyOf({ body }: NonNullable<Observation['response']>): unknown {
  switch (body.kind) {
    case 'json':
      return body.value
    case 'text':
      return body.head
    case 'stream':
      return { ...body.stream, gapsMs: body.stream.gapsMs.length }
    case 'undecodable':
      return `(invalid ${body.encoding}: ${body.why})`
    case 'empty':
      return ''
  }
}

export function describeOutcome(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'answered':
      return `answered ${outcome.status}`
    case 'failed':
      return `failed: ${outcome.reason} (${outcome.detail})`
    case 'left':
      return `left after ${outcome.after}`
    case 'dropped':
      return `dropped: ${outcome.reason}`
  }
}
