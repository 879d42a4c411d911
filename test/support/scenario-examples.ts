/** The examples of docs/scenario-reference.md. A test plans each, and runs the whole one. */

/** A whole scenario. It passes against the reference service. */
export const wholeExample = `# yaml-language-server: $schema=./scenarios/scenario.schema.json
name: evening
question: Are streams still quick when everybody uses what their tier allows?
seed: 7
callers: { count: 12, tier: default }
calls:
  chat: { kind: chat, stream: true, model-tier: S, prompt-tokens: 200, max-completion-tokens: 60 }
  rpc: { kind: rpc-batch, network: ethereum-mainnet, methods: { eth_blockNumber: 6, eth_call: 3 }, size: 10, failing-items: 1 }
  replay: { kind: replay, of: rpc, duplicates: 2, concurrent: true, conflict-ratio: 0.1 }
  models: { kind: models }
stages:
  - { name: refusals, duration: 5s, shape: sequence, calls: [models, bad-key, 2 x unlisted-method] }
  - { name: warm-up, duration: 5s, shape: ramp, to: 50% of tier, mix: { chat: 3, rpc: 5, replay: 1 } }
  - { name: steady, duration: 20s, shape: poisson, rate: 80% of tier, mix: { chat: 3, rpc: 5, replay: 1 } }
slo:
  chat: { ttft: 1s, tpot: 100ms }
  rpc: { latency: 500ms }
budget: { usd: 0.50 }
thresholds:
  - { expect: p(90) ttft of chat in steady < 1s, why: A reader who waits longer for the first word leaves. }
  - { expect: good of rpc in steady > 95%, why: An application that gets no data shows an error. }
  - { expect: failed < 1%, why: Each failure is an outage for somebody. }
  - { expect: violations == 0, why: Each of them is a broken promise. }
`

/** Every key outside of calls and stages. */
export const fileExample = `name: every-setting
question: What can a scenario say?
profile: reported
seed: 42
service: { concurrency: 8, service-time: 40ms, distribution: exponential, queue-length: 16 }
callers:
  count: 6
  tier: partner
  keys-per-caller: 2
  keys-file: ./accounts.txt
  limits-from: profile
  shared: true
  wallets: 4
  chain: [base, solana]
  wallet-keys-file: ./wallets.txt
  top-up: 5
calls:
  chat: { kind: chat, model-tier: XS, prompt-tokens: 50, max-completion-tokens: 20 }
stages:
  - { name: steady, duration: 10s, shape: constant, rate: 2/s, mix: { chat: 1 } }
slo:
  chat: { latency: 5s, service-time: 5s, ttft: 400ms, ttfct: 500ms, tpot: 50ms, itl: 200ms, icl: 200ms, lateness: 20ms }
budget: { usd: 0.25 }
bounds:
  max-in-flight: 256
  max-body: 2MiB
  drain: 10s
  timeouts:
    chat: { connect: 5s, headers: 60s, idle: 30s, total: 5m }
    rpc: { connect: 5s, headers: 35s, idle: 10s, total: 40s }
    control: { connect: 5s, headers: 10s, idle: 10s, total: 15s }
record: findings
thresholds:
  - expect: p(95) ttft of chat in steady < 400ms
    why: A reader who waits longer leaves.
must-judge: [billing.conservation, chat.usage]
`

export const targetExample = 'target: http://127.0.0.1:8402/api/v1\n'

/** By kind: every key of the call. */
export const callExamples: Readonly<Record<string, string>> = {
  chat: `calls:
  chat:
    kind: chat
    stream: true
    model-tier: XS
    deprecated: true
    prompt-tokens: 200
    max-completion-tokens: 60
    body: { temperature: 0.2, stop: ["\\n\\n"] }
    parameters: { enable_web_search: auto }
    suffix: enable_web_citations=true
    accept-encoding: gzip
    same-prompt: true
    canary: true
  cancelled: { kind: chat, model-tier: S, prompt-tokens: 20, hang-up: { after: 5 tokens, stop-reading: 2s, ratio: 0.1 } }
  slow: { kind: chat, model-tier: S, prompt-tokens: 20, read-rate: 20 tokens/s }
  named: { kind: chat, stream: false, model: ref-small-24b, prompt-tokens: 20 }
`,
  conversation: `calls:
  talk:
    kind: conversation
    stream: true
    model-tier: S
    turns: 2 to 6
    user-tokens: 20 to 80
    max-completion-tokens: 60
    think: 1s to 4s
    system-tokens: 1500
    system-groups: 3
    own-system-ratio: 0.1
    cache: warm
    tools: { ratio: 0.5, result-tokens: 100 to 300, time: 200ms to 2s }
    branches: { ratio: 0.3, count: 2 to 3, turns: 1 to 2 }
    history: synthetic
    session-header: x-session-id
    session-field: prompt_cache_key
    after-429: give-up
    after-failure: go-on
  named: { kind: conversation, model: ref-small-24b, turns: 3, user-tokens: 40, max-completion-tokens: 60 }
  uncached: { kind: conversation, turns: 3, user-tokens: 40, max-completion-tokens: 60, system-tokens: 1500, cache: cold }
  # Needs a profile with keys for chat: idempotency: { calls: [rpc, chat] }
  again:
    kind: conversation
    stream: false
    turns: 3
    user-tokens: 40
    max-completion-tokens: 60
    replays: { ratio: 0.3, duplicates: 1, conflict-ratio: 0.1, other-key-ratio: 0.1, other-caller-ratio: 0.1 }
callers: { count: 12, keys-per-caller: 2 }
`,
  rpc: `calls:
  single:
    kind: rpc
    network: base-mainnet
    network-family: evm
    methods: { eth_blockNumber: 6, eth_call: 3, eth_getLogs: 1 }
    params: { eth_getLogs: [{ fromBlock: latest, toBlock: latest }] }
    failure-ratio: 0.05
    hang-up: { after: 300ms, stop-reading: 1s, ratio: 0.1 }
`,
  'rpc-batch': `calls:
  ten:
    kind: rpc-batch
    network: solana-mainnet
    network-family: solana
    methods: { getSlot: 1 }
    params: { getSlot: [{ commitment: finalized }] }
    size: 10
    failing-items: 1
    hang-up: { after: headers, stop-reading: 1s, ratio: 0.1 }
`,
  replay: `calls:
  batch: { kind: rpc-batch, size: 4 }
  again:
    kind: replay
    of: batch
    duplicates: 2
    concurrent: true
    conflict-ratio: 0.1
    other-key-ratio: 0.1
    other-caller-ratio: 0.1
    repeat-after: 2s
callers: { count: 2, keys-per-caller: 2 }
`,
  twin: `calls:
  whole: { kind: chat, stream: false, prompt-tokens: 60, max-completion-tokens: 24 }
  forms:
    kind: twin
    of: whole
    as: [streamed, compressed, other-key, other-caller, alone]
    concurrent: true
    alone-after: 2s
    may-differ: [tokens]
callers: { count: 2, keys-per-caller: 2 }
`,
  models: 'calls:\n  models: { kind: models }\n',
  networks: 'calls:\n  networks: { kind: networks }\n',
  'rate-limits': 'calls:\n  limits: { kind: rate-limits }\n',
  'rate-limit-logs': 'calls:\n  log: { kind: rate-limit-logs }\n',
  resource: `calls:
  embeddings: { kind: resource, resource: embeddings, body: { input: [one, two] } }
  characters: { kind: resource, resource: characters, page: 2, limit: 10 }
`,
  'top-up': `calls:
  offer: { kind: top-up }
  top-up: { kind: top-up, pay: true, usd: 5, duplicates: 1, concurrent: true }
  testnet: { kind: top-up, pay: true, usd: 5, invalid: other-chain }
callers: { count: 0, wallets: 2, chain: base }
`,
  'wallet-balance': `calls:
  credit: { kind: wallet-balance }
callers: { count: 0, wallets: 2 }
`,
  probe: `calls:
  no-key: { kind: probe, probe: no-key }
`,
}

/** By shape: every key of the stage. The calls are those of the first example. */
export const stageExamples: Readonly<Record<string, string>> = {
  constant: `stages:
  - name: steady
    shape: constant
    duration: 20s
    rate: 4/s
    mix: { chat: 1, rpc: 3 }
    callers: 6
    first-caller: 0
    exceed-tier: true
    exceed-failure-limit: true
`,
  poisson: `stages:
  - { name: steady, shape: poisson, duration: 20s, rate: 80% of tier, mix: { chat: 1, rpc: 3 } }
`,
  ramp: `stages:
  - { name: warm-up, shape: ramp, duration: 10s, from: 1/s, to: 50% of tier, mix: { chat: 1 } }
`,
  stairs: `stages:
  - { name: levels, shape: stairs, duration: 60s, from: 1/s, to: 5/s, steps: 5, ramp: 2s, mix: { rpc: 1 } }
`,
  spike: `stages:
  - name: spike
    shape: spike
    duration: 30s
    base: 1/s
    peak: 10/s
    at: 10s
    for: 5s
    ramp-up: 1s
    ramp-down: 2s
    mix: { rpc: 1 }
`,
  burst: `stages:
  - { name: together, shape: burst, duration: 10s, size: 20, every: 5s, mix: { rpc: 1 } }
  - { name: over-the-limit, shape: burst, duration: 60s, size: 130% of tier, exceed-tier: true, mix: { rpc: 1 } }
`,
  recorded: `stages:
  - { name: again, shape: recorded, run: runs/last-night, stage: steady, speed: 2, exceed-failure-limit: true }
  - { name: traffic, shape: recorded, trace: traffic.trace.jsonl, block-tokens: 512 }
`,
  pause: `stages:
  - { name: before, shape: constant, duration: 5s, rate: 2/s, mix: { rpc: 1 } }
  - { name: rest, shape: pause, duration: 10s }
  - { name: after, shape: constant, duration: 5s, rate: 2/s, mix: { rpc: 1 } }
`,
  capacity: `stages:
  - name: search
    shape: capacity
    duration: 120s
    from: 2/s
    to: 18/s
    good-ratio: 99%
    precision: 5%
    trial: 3s
    confirm: 10s
    cool-down: 1s
    spacing: poisson
    mix: { rpc: 1 }
`,
  closed: `stages:
  - { name: users, shape: closed, duration: 20s, users: 5, think: 1s, mix: { chat: 1, rpc: 1 } }
`,
  saturate: `stages:
  - { name: full, shape: saturate, duration: 10s, connections: 8, max-calls: 2000, exceed-failure-limit: true, mix: { models: 1 } }
`,
  sequence: `stages:
  - { name: list, shape: sequence, duration: 30s, at-most: 1m, calls: [chat, 3 x rpc, bad-key], callers: 1, first-caller: 0 }
`,
}

/** Every aggregate, every operator, and every kind of bound. */
export const thresholdExample = `thresholds:
  - { expect: p(95) ttft of chat in steady < 400ms, why: A reader who waits longer leaves. }
  - { expect: p(99.9) latency of rpc <= 1m30s, why: Nobody waits longer. }
  - { expect: mean tpot of chat < 50ms, why: Slower text is slower than a reader. }
  - { expect: max lateness < 100ms, why: Otherwise the load was not the planned one. }
  - { expect: min service-time of rpc > 1ms, why: A response in no time was not computed. }
  - { expect: good of chat in steady >= 99%, why: The service level that we sell. }
  - { expect: good of rpc > 0.5/s, why: The throughput that we need. }
  - { expect: status(429) of chat in steady == 0, why: The load is below the limit. }
  - { expect: sent != 0, why: Without a request nothing is proved. }
  - { expect: violations == 0, why: Each of them is a broken promise. }
  - { expect: spend < $0.25, why: The test is not worth more. }
`
