import type { Call, Load, Mix, Plan, StagePlan } from '../../../../src/plan/plan.ts'

export const rpc: Extract<Call, { kind: 'rpc' }> = {
  kind: 'rpc',
  network: 'ethereum-mainnet',
  methods: [
    ['eth_blockNumber', 3],
    ['eth_getBalance', 1],
  ],
  batchSize: null,
  failing: 0,
}

export const calls: Readonly<Record<string, Call>> = {
  chat: {
    kind: 'chat',
    model: 'ref-small-24b',
    modelTier: 'S',
    stream: true,
    promptTokens: 40,
    maxCompletionTokens: 64,
    isBounded: true,
    options: null,
  },
  rpc,
  batch: { ...rpc, batchSize: 10, failing: 2 },
  replay: {
    kind: 'replay',
    of: rpc,
    duplicates: 2,
    concurrent: false,
    conflictRatio: 0.5,
    otherCallerRatio: 0.25,
    otherKeyRatio: 0,
    repeatAfterMs: null,
  },
  late: {
    kind: 'replay',
    of: rpc,
    duplicates: 0,
    concurrent: false,
    conflictRatio: 0,
    otherCallerRatio: 0,
    otherKeyRatio: 0,
    repeatAfterMs: 5_000,
  },
  race: {
    kind: 'replay',
    of: rpc,
    duplicates: 2,
    concurrent: true,
    conflictRatio: 1,
    otherCallerRatio: 1,
    otherKeyRatio: 0,
    repeatAfterMs: null,
  },
  models: { kind: 'models' },
}

/** What an arrival source needs from a plan. */
export const planFor = (callers: number, seed = 1): Pick<Plan, 'seed' | 'calls' | 'callers'> => ({
  seed,
  calls,
  callers: {
    names: Array.from({ length: callers }, (_, index) => `c${index}`),
    keysEach: 1,
    wallets: null,
    accountTier: 'default',
    shared: false,
    keysFile: null,
  },
})

const everyRpc: Mix = [['rpc', 1]]

export const stageOf = (load: Load, more: Partial<StagePlan> = {}): StagePlan => ({
  name: 'steady',
  startMs: 0,
  durationMs: 10_000,
  callers: 4,
  firstCaller: 0,
  beyondFailures: false,
  load,
  ...more,
})

export const steady = (perSecond: number, mix: Mix = everyRpc): Load => ({
  model: 'open',
  shape: { kind: 'constant', perSecond },
  mix,
})
