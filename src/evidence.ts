import { buildCall } from './calls/build-call.ts'
import type { Office } from './calls/call.ts'
import type { Observation, Outcome } from './observation/observation.ts'
import type { CallPlan } from './plan/plan.ts'
import type { Evidence } from './report/report.ts'

const longestBody = 2_000

/**
 * What a finding shows of a request. The request itself is not kept: plan and seed make it again, with the name of the
 * variable that holds the key where the key was.
 */
export function evidenceOf(
  observation: Observation,
  calls: Readonly<Record<string, CallPlan>>,
  office: Office,
): Evidence {
  const { seq, caller, stage, call, dueMs, sentMs, headersMs, endMs, outcome, answer } = observation
  return {
    seq,
    caller,
    stage,
    call,
    request: requestOf(observation, calls[call], office),
    outcome: describe(outcome),
    headers: answer?.headers ?? {},
    body: answer === null ? '' : JSON.stringify(bodyOf(answer)).slice(0, longestBody),
    dueMs,
    sentMs,
    headersMs,
    endMs,
  }
}

function requestOf({ asked, seq }: Observation, plan: CallPlan | undefined, office: Office): Evidence['request'] {
  if (plan === undefined) return null
  const replay = asked.kind === 'rpc' ? asked.replay : null
  const place = { headSeq: replay?.group ?? seq, step: replay?.role ?? 'only' } as const
  const { request } = buildCall(plan, place, { authorization: 'Bearer $TURNPIKE_KEY' }, office)
  const { method, path, headers, body } = request
  return { method, path, headers, body: body === null ? null : body.slice(0, longestBody) }
}

function bodyOf({ body }: NonNullable<Observation['answer']>): unknown {
  switch (body.kind) {
    case 'json':
      return body.value
    case 'text':
      return body.head
    case 'stream':
      return { ...body.stream, gapsMs: body.stream.gapsMs.length }
    case 'empty':
      return ''
  }
}

function describe(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'answered':
      return `answered ${outcome.status}`
    case 'failed':
      return `failed: ${outcome.reason} (${outcome.detail})`
    case 'dropped':
      return `dropped: ${outcome.reason}`
  }
}
