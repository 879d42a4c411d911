import { probeOf } from '../contract/probes.ts'
import type { RunInfo } from '../observation/log.ts'
import type { Observation, Outcome } from '../observation/observation.ts'
import type { Call } from '../plan/plan.ts'
import { specialKeyVariables } from '../produce/callers/api-keys.ts'
import { buildRequest, type RequestPosition } from '../produce/calls/build-request.ts'
import type { RequestContext } from '../produce/calls/call.ts'
import type { Evidence } from '../report/document.ts'

const maxBodyLength = 2_000

/**
 * The evidence of a finding for one request. The request was not recorded: the plan and the seed rebuild it, with the
 * name of an environment variable in place of the key.
 */
export function evidenceOf(
  observation: Observation,
  calls: Readonly<Record<string, Call>>,
  context: RequestContext,
  { target, startedAtMs }: Pick<RunInfo, 'target' | 'startedAtMs'>,
): Evidence {
  const { id, caller, stage, call, dueMs, sentMs, headersMs, endMs, outcome, response } = observation
  return {
    id,
    caller,
    stage,
    call,
    request: requestOf(observation, calls[call], context, target),
    position: positionOf(observation),
    outcome: describe(outcome),
    headers: response?.headers ?? {},
    body: response === null ? '' : JSON.stringify(bodyOf(response)).slice(0, maxBodyLength),
    dueMs,
    sentMs,
    headersMs,
    endMs,
    sentAt: sentMs === null ? null : new Date(startedAtMs + sentMs).toISOString(),
  }
}

/** What decides the content of a request, with the plan and the seed. */
export function positionOf({ request, id, key }: Pick<Observation, 'request' | 'id' | 'key'>): RequestPlace {
  const { group, role } = (request.kind === 'rpc' ? request.replay : null) ?? { group: id, role: 'only' as const }
  return { firstId: group, step: role, key }
}

export type RequestPlace = RequestPosition & { readonly key: number }

function requestOf(
  observation: Observation,
  plan: Call | undefined,
  context: RequestContext,
  target: string,
): Evidence['request'] {
  if (plan === undefined) return null
  const { firstId, step, key: place } = positionOf(observation)
  const ownKey = place === 0 ? '$TURNPIKE_KEY' : `$TURNPIKE_KEY_${place + 1}`
  const as = plan.kind === 'probe' ? probeOf(plan.probe).as : 'caller'
  // Where keys are optional, the request may have had none.
  const bearer = (name: string) => (context.contract.auth.required ? { authorization: `Bearer ${name}` } : {})
  const specialKey = as === 'free-user' || as === 'zero-balance' ? `$${specialKeyVariables[as]}` : null
  const key = specialKey ?? (step === 'other-caller' ? '$TURNPIKE_OTHER_KEY' : ownKey)
  const { request: rebuilt } = buildRequest(plan, { firstId, step }, bearer(key), context)
  const { method, path, headers, body } = rebuilt
  // A repeated request only makes sense after the original.
  const first =
    step === 'only' || step === 'original'
      ? []
      : [buildRequest(plan, { firstId, step: 'original' }, bearer('$TURNPIKE_KEY'), context).request]
  const commands = [...first, rebuilt].map(each => curlCommand(target, each))
  const curl = commands.includes(null) ? null : commands.join('; ')
  return { method, path, headers, body: body === null ? null : body.slice(0, maxBodyLength), curl }
}

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

type CurlRequest = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/** Longer commands are too long to paste into a shell. */
const maxCommandLength = 20_000

/**
 * The request as a command for a POSIX shell; null if it is too long. `$NAME` in a header stays a shell variable, so
 * that a report never contains credentials.
 */
export function curlCommand(baseUrl: string, { method, path, headers, body }: CurlRequest): string | null {
  const parts = [
    'curl -sS -i -N',
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    quoted(`${baseUrl}${path}`),
    ...Object.entries(headers).map(([name, value]) => `-H ${header(name, value)}`),
    ...(body === null ? [] : [`--data-raw ${quoted(body)}`]),
  ]
  const command = parts.join(' ')
  return command.length > maxCommandLength ? null : command
}

const variable = /\$[A-Z][A-Z0-9_]*/g

/** Quotes the text between variables, so that the shell expands only these. A `;` makes curl send an empty value. */
function header(name: string, value: string): string {
  if (value === '') return quoted(`${name};`)
  const texts = `${name}: ${value}`.split(variable)
  const variables = value.match(variable) ?? []
  return texts.map((text, index) => (text === '' ? '' : quoted(text)) + inQuotes(variables[index])).join('')
}

const inQuotes = (name: string | undefined): string => (name === undefined ? '' : `"${name}"`)

/** In single quotes, only the single quote itself is special. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
