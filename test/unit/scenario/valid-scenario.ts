/** A valid scenario, into which tests insert mistakes. */
export const validScenario = `name: valid
callers: { count: 2, tier: default }
calls:
  chat: { kind: chat, stream: true, model-tier: S, prompt-tokens: 200, max-completion-tokens: 120 }
  rpc: { kind: rpc-batch, network: ethereum-mainnet, methods: { eth_call: 3 }, size: 10, failing-items: 1 }
  single: { kind: rpc, network: base-mainnet, failure-ratio: 0.1 }
  replay: { kind: replay, of: rpc, duplicates: 2, other-caller-ratio: 0.1 }
  models: { kind: models }
  bad-key: { kind: probe, probe: bad-key }
stages:
  - { name: steady, duration: 20s, shape: poisson, rate: 80% of tier, mix: { chat: 3, rpc: 5, replay: 1 } }
  - { name: probes, duration: 5s, shape: sequence, calls: [bad-key, models] }
slo: { chat: { ttft: 400ms } }
budget: { usd: 0.50 }
thresholds:
  - { expect: "p(95) ttft of chat < 400ms", why: A reason. }
`
