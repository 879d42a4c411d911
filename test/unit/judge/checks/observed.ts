import { expect, test } from 'vitest'
import type { ClauseId } from '../../../../src/contract/clauses.ts'
import type { Contract } from '../../../../src/contract/contract.ts'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { createChecks } from '../../../../src/judge/checks/checks.ts'
import { createFindingLog } from '../../../../src/judge/findings/findings.ts'
import type { Observation, ObservedResponse, StreamRecord } from '../../../../src/observation/observation.ts'
import type { ChatDescriptor } from '../../../../src/observation/requests/chat.ts'
import type { RequestDescriptor } from '../../../../src/observation/requests/request.ts'
import type { RpcDescriptor } from '../../../../src/observation/requests/rpc.ts'
import { contradictionIn } from '../../../support/contradiction.ts'

/** The Unix time at which the clock of the observations is 0. */
export const startedAtMs = Date.UTC(2026, 0, 15, 12)

type Headers = Readonly<Record<string, string | undefined>>

/** The headers of an honest service on every authenticated response. */
export const honestHeaders = {
  'content-type': 'application/json',
  date: 'Thu, 15 Jan 2026 12:00:01 GMT',
  'cf-ray': '8d1f0c2b7a3e4f50-FRA',
  'x-service-version': '20260801.120000',
  'x-service-balance-usd': '9.5',
  'x-service-balance-diem': '0',
  'x-ratelimit-limit-requests': '75',
  'x-ratelimit-remaining-requests': '74',
  'x-ratelimit-reset-requests': '1768478460',
} as const

/** A header that is undefined is left out. */
export function responseOf(status: number, body: unknown, headers: Headers = {}): ObservedResponse {
  const all: Record<string, string | undefined> = { ...honestHeaders, ...headers }
  for (const name in headers) if (headers[name] === undefined) delete all[name]
  return { status, headers: all as Readonly<Record<string, string>>, bytes: 100, body: bodyOf(body) }
}

function bodyOf(body: unknown): ObservedResponse['body'] {
  if (body === '') return { kind: 'empty' }
  if (typeof body === 'string') return { kind: 'text', head: body, digest: 'text' }
  const digest = JSON.stringify(body)
  return { kind: 'json', value: JSON.parse(digest), digest }
}

/** Sent one second into the run. The response arrives half a second later. */
export function observed(
  request: RequestDescriptor,
  response: ObservedResponse | null,
  changes: Partial<Observation> = {},
): Observation {
  return {
    id: 5,
    seq: changes.id ?? 5,
    stage: 'steady',
    call: 'a call',
    caller: 'c0',
    key: 0,
    accountTier: 'default',
    request,
    dueMs: 1000,
    sentMs: 1000,
    headersMs: 1400,
    endMs: 1500,
    outcome: { kind: 'answered', status: response?.status ?? 0 },
    response,
    ...changes,
  }
}

export const chatDescriptor: ChatDescriptor = {
  kind: 'chat',
  model: 'ref-small-24b',
  modelTier: 'S',
  stream: false,
  promptTokens: 200,
  maxCompletionTokens: 120,
  options: null,
}

export const tokenHeaders = {
  'x-service-model-id': 'ref-small-24b',
  'x-service-model-name': 'Reference Small 24B',
  'x-ratelimit-limit-tokens': '750000',
  'x-ratelimit-remaining-tokens': '749680',
  'x-ratelimit-reset-tokens': '59',
} as const

/** 200 + 100 tokens at $0.50 and $2.00 a million. */
export const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: Math.floor(startedAtMs / 1000) + 1,
  model: 'ref-small-24b',
  choices: [
    {
      index: 0,
      finish_reason: 'stop',
      stop_reason: 'stop',
      logprobs: null,
      message: { role: 'assistant', content: 'Hello' },
    },
  ],
  usage: { prompt_tokens: 200, completion_tokens: 100, total_tokens: 300 },
  cost: { usd: 0.0003, diem: 0 },
}

export const chatObserved = (body: unknown, headers: Headers = {}, changes: Partial<Observation> = {}): Observation =>
  observed(chatDescriptor, responseOf(200, body, { ...tokenHeaders, ...headers }), changes)

export const streamRecord: StreamRecord = {
  chunks: 103,
  grammar: [
    ['role', 1],
    ['content', 100],
    ['finish', 1],
    ['usage', 1],
    ['done', 1],
  ],
  ids: ['chatcmpl-1'],
  models: ['ref-small-24b'],
  objects: ['chat.completion.chunk'],
  created: completion.created,
  finishReasons: ['stop'],
  indices: [0],
  stopReasons: [],
  deltaTypes: [],
  parameters: null,
  text: null,
  toolNames: [],
  usage: completion.usage,
  cost: completion.cost,
  error: null,
  contentCharacters: 400,
  reasoningCharacters: 0,
  firstTokenMs: 1100,
  firstContentMs: 1100,
  lastTokenMs: 1450,
  tokenChunks: 100,
  gapsMs: [],
  malformed: [],
}

export const streamObserved = (stream: Partial<StreamRecord>, changes: Partial<Observation> = {}): Observation => {
  const response = responseOf(200, {}, { ...tokenHeaders, 'content-type': 'text/event-stream' })
  const body = { kind: 'stream', stream: { ...streamRecord, ...stream } } as const
  return observed({ ...chatDescriptor, stream: true }, { ...response, body }, changes)
}

export const rpcHeaders = {
  'x-ratelimit-limit-requests': '100',
  'x-ratelimit-remaining-requests': '99',
  'x-service-rpc-credits': '20',
  'x-service-rpc-cost-usd': '0.0000125',
  'x-request-id': 'aBCdEFghIjKlMnOpQrStUvWxYz012345',
} as const

export const singleDescriptor: RpcDescriptor = {
  kind: 'rpc',
  network: 'ethereum-mainnet',
  batch: false,
  items: [{ id: 1, method: 'eth_call', failing: false }],
  replay: null,
}

/** 20 + 40 credits, and 5 for the failing item. */
export const batchDescriptor: RpcDescriptor = {
  ...singleDescriptor,
  batch: true,
  items: [
    { id: 1, method: 'eth_call', failing: false },
    { id: 2, method: 'trace_call', failing: false },
    { id: 'r-3', method: 'eth_getBalance', failing: true },
  ],
}

export const result = (id: unknown, value: unknown = '0x1') => ({ jsonrpc: '2.0', id, result: value })
export const failure = (id: unknown, code = -32602) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message: 'invalid params' },
})
export const batchBody = [result(1), result(2), failure('r-3')]

export const singleObserved = (body: unknown, headers: Headers = {}, changes: Partial<Observation> = {}): Observation =>
  observed(singleDescriptor, responseOf(200, body, { ...rpcHeaders, ...headers }), changes)

export const batchObserved = (
  body: unknown,
  headers: Headers = {},
  changes: Partial<Observation> = {},
): Observation => {
  const price = { 'x-service-rpc-credits': '65', 'x-service-rpc-cost-usd': '0.00004063' }
  return observed(batchDescriptor, responseOf(200, body, { ...rpcHeaders, ...price, ...headers }), changes)
}

const honestError = (status: number) => ({ error: 'No', ...(status === 402 && { code: 'INSUFFICIENT_BALANCE' }) })

const uncharged = { ...rpcHeaders, 'x-service-rpc-credits': undefined, 'x-service-rpc-cost-usd': undefined }

/** A response with an error status to this request. */
export const refused = (
  request: RequestDescriptor,
  status: number,
  body: unknown = honestError(status),
  headers: Headers = {},
) => observed(request, responseOf(status, body, { ...(request.kind === 'rpc' ? uncharged : {}), ...headers }))

/** The failed clauses of an observation over all checks, each with its first message. */
export function failedClauses(
  observation: Observation,
  contract: Contract = documentedContract,
): Partial<Record<ClauseId, string>> {
  const findingLog = createFindingLog()
  createChecks(contract, findingLog)(observation)
  const findings = findingLog.findings()
  expect(findings.filter(({ message }) => contradictionIn(message) !== null)).toEqual([])
  return Object.fromEntries(findings.map(({ clause, message }) => [clause, message]))
}

/** How often the clause was judged. */
export function judgedCount(
  clause: ClauseId,
  observation: Observation,
  contract: Contract = documentedContract,
): number {
  const findingLog = createFindingLog()
  createChecks(contract, findingLog)(observation)
  return findingLog.tallies().find(tally => tally.id === clause)?.judged ?? 0
}

export function passesEach(rows: Readonly<Record<string, Observation>>, contract: Contract = documentedContract): void {
  test.each(Object.entries(rows))('passes %s', (_, observation) => {
    expect(failedClauses(observation, contract)).toEqual({})
  })
}

export type Violation = readonly [clause: ClauseId, message: string, observation: Observation]

/** Each row must fail its clause with this message, and no other clause. */
export function failsEach(rows: Readonly<Record<string, Violation>>, contract: Contract = documentedContract): void {
  test.each(Object.entries(rows))('fails %s', (_, [clause, message, observation]) => {
    expect(failedClauses(observation, contract)).toEqual({ [clause]: message })
  })
}
