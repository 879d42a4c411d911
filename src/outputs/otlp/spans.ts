import type { TracedRequest } from '../../judge/traced-requests.ts'
import type { TraceIds } from '../../observation/trace-id.ts'
import type { WriteBatch } from '../remote-write/send-queue.ts'
import {
  type Attributes,
  type AttributeValue,
  gzipped,
  keyValues,
  nanosOf,
  resourceJson,
  scopeJson,
} from './encoder.ts'

/** What all spans of a run share. */
export type SpanTerms = {
  readonly resource: Attributes
  readonly version: string
  readonly traceIds: TraceIds
  /** The base address of the target, without secrets. */
  readonly target: string
  /** Unix milliseconds at which the clock of the requests is 0. */
  readonly startedAtMs: number
}

const spansPerRequest = 256

/** Encodes requests as OTLP spans in JSON. */
export function spanBatches(requests: readonly TracedRequest[], terms: SpanTerms): readonly WriteBatch[] {
  const batches: WriteBatch[] = []
  for (let from = 0; from < requests.length; from += spansPerRequest) {
    const spans = requests.slice(from, from + spansPerRequest).map(request => spanOf(request, terms))
    const scopeSpans = `[{"scope":${scopeJson(terms.version)},"spans":${JSON.stringify(spans)}}]`
    const text = `{"resourceSpans":[{"resource":${resourceJson(terms.resource)},"scopeSpans":${scopeSpans}}]}`
    batches.push({ body: gzipped(text), samples: spans.length })
  }
  return batches
}

const client = 3
const failed = 2
/** The flag "sampled" of W3C trace context. */
const sampled = 1

function spanOf(request: TracedRequest, { traceIds, target, startedAtMs }: SpanTerms) {
  const { id, sentMs, headersMs, firstTokenMs, endMs } = request
  const at = (ms: number) => nanosOf(startedAtMs + ms)
  const event = (name: string, ms: number | null) => (ms === null ? [] : [{ timeUnixNano: at(ms), name }])
  const errorType = errorTypeOf(request)
  return {
    traceId: traceIds.traceId(id),
    spanId: traceIds.spanId(id),
    flags: sampled,
    name: nameOf(request),
    kind: client,
    startTimeUnixNano: at(sentMs),
    endTimeUnixNano: at(endMs),
    attributes: keyValues(present({ ...httpAttributes(request, target), ...ownAttributes(request) })),
    events: [...event('turnpike.response.headers', headersMs), ...event('turnpike.response.first_token', firstTokenMs)],
    // A client leaves the status of a successful request unset.
    ...(errorType !== null && { status: { code: failed } }),
  }
}

const nameOf = ({ chat, method, route }: TracedRequest): string =>
  chat === null ? `${method} ${route}` : `chat ${chat.model}`

/** As the conventions for clients say: a status from 400 on, or why there is no complete response. */
const errorTypeOf = ({ status, failure }: TracedRequest): string | null =>
  failure ?? (status !== null && status >= 400 ? String(status) : null)

function httpAttributes(request: TracedRequest, target: string): Partial<Attributes> {
  const { method, route, status, wasRetried, rpcMethods } = request
  const url = URL.canParse(target) ? new URL(target) : null
  const port = url === null ? 0 : Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  return {
    'http.request.method': method,
    ...(url !== null && {
      'server.address': url.hostname,
      'server.port': { int: port },
      // Without the value of a parameter, the address is unknown.
      'url.full': route.includes('{') ? undefined : `${url.origin}${url.pathname.replace(/\/$/, '')}${route}`,
    }),
    'url.template': route,
    'http.response.status_code': integer(status),
    'http.request.resend_count': wasRetried ? { int: 1 } : undefined,
    'error.type': errorTypeOf(request) ?? undefined,
    ...(rpcMethods !== null && {
      'rpc.system.name': 'jsonrpc',
      'rpc.method': rpcMethods.length === 1 ? rpcMethods[0] : undefined,
    }),
  }
}

function ownAttributes(request: TracedRequest): Partial<Attributes> {
  const { id, call, stage, caller, chosen, clauses, dueMs, sentMs } = request
  return {
    ...chatAttributes(request),
    'turnpike.request.id': { int: id },
    'turnpike.call': call,
    'turnpike.stage': stage,
    'turnpike.caller': caller,
    'turnpike.chosen': chosen,
    'turnpike.lateness': (sentMs - dueMs) / 1000,
    'turnpike.clauses': clauses.length === 0 ? undefined : clauses,
  }
}

function chatAttributes({ chat, sentMs, firstTokenMs }: TracedRequest): Partial<Attributes> {
  if (chat === null) return {}
  const { model, maxTokens, isStream, responseModel, inputTokens, outputTokens, finishReasons } = chat
  return {
    'gen_ai.operation.name': 'chat',
    // The API that the target speaks; who runs the model is unknown.
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': model,
    'gen_ai.request.max_tokens': { int: maxTokens },
    'gen_ai.request.stream': isStream,
    'gen_ai.response.model': responseModel ?? undefined,
    'gen_ai.response.finish_reasons': finishReasons.length === 0 ? undefined : finishReasons,
    'gen_ai.response.time_to_first_chunk': firstTokenMs === null ? undefined : (firstTokenMs - sentMs) / 1000,
    'gen_ai.usage.input_tokens': integer(inputTokens),
    'gen_ai.usage.output_tokens': integer(outputTokens),
  }
}

/** A target can state more tokens than fit into an integer. */
const integer = (value: number | null): AttributeValue | undefined =>
  Number.isSafeInteger(value) ? { int: Number(value) } : undefined

const present = (attributes: Readonly<Record<string, AttributeValue | undefined>>): Attributes =>
  Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
  )
