import type { Observation, StreamRecord } from '../../../../src/observation/observation.ts'
import type { Plan, StagePlan, Threshold } from '../../../../src/plan/plan.ts'

const chat = {
  kind: 'chat',
  model: 'm',
  modelTier: 'S',
  stream: true,
  promptTokens: 10,
  maxCompletionTokens: 100,
  isBounded: true,
  options: null,
} as const
const timeouts = { connectMs: 1000, headersMs: 1000, idleMs: 1000, totalMs: 1000 }

export const aStage = (name: string, durationMs: number, changes: Partial<StagePlan> = {}): StagePlan => ({
  name,
  startMs: 0,
  durationMs,
  callers: 1,
  firstCaller: 0,
  beyondFailures: false,
  load: { model: 'open', shape: { kind: 'constant', perSecond: 10 }, mix: [['chat', 1]] },
  ...changes,
})

export const aPlan = (changes: Partial<Plan> = {}): Plan => ({
  schema: 1,
  scenario: 'fixture',
  question: null,
  seed: 1,
  target: null,
  service: null,
  profile: 'documented',
  notOffered: [],
  callers: { names: ['c0'], keysEach: 1, wallets: null, accountTier: 'default', shared: false, keysFile: null },
  notPromised: [],
  mustJudge: [],
  only: null,
  fewerKeys: null,
  values: [],
  limits: { by: 'target', discovery: { kind: 'not-asked', why: 'a fixture' }, scopes: [] },
  calls: { chat, rpc: { kind: 'rpc', network: 'n', methods: [['m', 1]], batchSize: null, failing: 0 } },
  stages: [aStage('steady', 10_000)],
  slo: {},
  thresholds: [],
  budgetUsd: null,
  isBudgetUnlimited: false,
  bounds: {
    maxInFlight: 10,
    maxBodyBytes: 1,
    drainMs: 1,
    timeouts: { chat: timeouts, rpc: timeouts, control: timeouts },
  },
  record: 'none',
  forecast: { requests: 100, durationMs: 10_000, credits: 0, worstUsd: null, calls: [], failures: [], limits: [] },
  ...changes,
})

/** Due at 0, sent at 1 ms, headers at 5 ms, ended at 100 ms with 200. */
export const anObservation = (changes: Partial<Observation> = {}): Observation => ({
  id: 0,
  seq: changes.id ?? 0,
  stage: 'steady',
  call: 'chat',
  caller: 'c0',
  key: 0,
  accountTier: 'default',
  request: chat,
  dueMs: 0,
  sentMs: 1,
  headersMs: 5,
  endMs: 100,
  outcome: { kind: 'answered', status: 200 },
  response: null,
  ...changes,
})

export const respondedWith = (status: number, changes: Partial<Observation> = {}): Observation =>
  anObservation({ outcome: { kind: 'answered', status }, ...changes })

export const failed = (changes: Partial<Observation> = {}): Observation =>
  anObservation({ outcome: { kind: 'failed', reason: 'connection-lost', detail: 'reset' }, ...changes })

export const dropped = (changes: Partial<Observation> = {}): Observation =>
  anObservation({
    outcome: { kind: 'dropped', reason: 'max-in-flight' },
    sentMs: null,
    headersMs: null,
    endMs: null,
    ...changes,
  })

/** Five token chunks, 10 ms apart, the first at 21 ms; usage says five tokens. */
export const aStream = (changes: Partial<StreamRecord> = {}): StreamRecord => ({
  chunks: 8,
  grammar: [],
  ids: ['x'],
  models: ['m'],
  objects: ['chat.completion.chunk'],
  created: 1,
  finishReasons: ['stop'],
  indices: [0],
  stopReasons: [],
  deltaTypes: [],
  parameters: null,
  text: null,
  toolNames: [],
  usage: { completion_tokens: 5 },
  cost: null,
  error: null,
  contentCharacters: 20,
  reasoningCharacters: 0,
  firstTokenMs: 21,
  firstContentMs: 31,
  lastTokenMs: 61,
  tokenChunks: 5,
  gapsMs: [10, 10, 10, 10],
  malformed: [],
  ...changes,
})

export const streamed = (stream: Partial<StreamRecord> = {}, changes: Partial<Observation> = {}): Observation =>
  anObservation({
    response: { status: 200, headers: {}, bytes: 1, body: { kind: 'stream', stream: aStream(stream) } },
    ...changes,
  })

export const aThreshold = (changes: Partial<Threshold> & Pick<Threshold, 'measure'>): Threshold => ({
  expression: 'as written',
  why: 'because it matters',
  call: null,
  stage: null,
  operator: '<',
  bound: 1,
  ...changes,
})
