import { documentedContract } from '../../../../src/contract/documented.ts'
import { planBounds } from '../../../../src/plan/make-plan.ts'
import type { Call } from '../../../../src/plan/plan.ts'
import type { BuiltRequest, RequestContext } from '../../../../src/produce/calls/call.ts'

const none = { connectMs: null, headersMs: null, idleMs: null, totalMs: null }

export const bounds = planBounds({
  maxInFlight: null,
  maxBodyBytes: null,
  drainMs: null,
  timeouts: { chat: none, rpc: none, control: none },
})

export const requestContext = (more: Partial<RequestContext> = {}): RequestContext => ({
  contract: documentedContract,
  bounds,
  seed: 1,
  runId: '20260115T120000Z-a1b2c3',
  ...more,
})

export const key = { authorization: 'Bearer test-key' }

export const chatPlan: Extract<Call, { kind: 'chat' }> = {
  kind: 'chat',
  model: 'ref-small-24b',
  modelTier: 'S',
  stream: true,
  promptTokens: 40,
  maxCompletionTokens: 64,
  isBounded: true,
  options: null,
}

export const rpcPlan: Extract<Call, { kind: 'rpc' }> = {
  kind: 'rpc',
  network: 'ethereum-mainnet',
  methods: [['eth_blockNumber', 1]],
  batchSize: null,
  failing: 0,
}

export const replayPlan: Extract<Call, { kind: 'replay' }> = {
  kind: 'replay',
  of: rpcPlan,
  duplicates: 1,
  concurrent: false,
  conflictRatio: 0,
  otherCallerRatio: 0,
  repeatAfterMs: null,
  otherKeyRatio: 0,
}

// biome-ignore lint/suspicious/noExplicitAny: tests check a body field by field
export const bodyOf = ({ request }: BuiltRequest): any => JSON.parse(request.body ?? 'null')
