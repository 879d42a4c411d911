import type { Contract } from '../../../src/contract/contract.ts'
import { documentedContract } from '../../../src/contract/documented.ts'
import { notDiscovered, type PublishedLimits } from '../../../src/plan/limits.ts'
import { makePlan, type Overrides } from '../../../src/plan/make-plan.ts'
import type { Plan } from '../../../src/plan/plan.ts'
import type { Recordings } from '../../../src/plan/recorded-load.ts'
import { parseScenario } from '../../../src/scenario/load-scenario.ts'

/** No flag given. */
export const noFlags: Overrides = { seed: null, target: null, budgetUsd: null }

const callsFor = (callers: number) => `
  s: { kind: chat, model-tier: S, prompt-tokens: 200, max-completion-tokens: 120 }
  xs: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 100, max-completion-tokens: 60 }
  long: { kind: chat, stream: false, model-tier: L, prompt-tokens: 50000, max-completion-tokens: 10000 }
  batch: { kind: rpc-batch, network: ethereum-mainnet, methods: { eth_call: 3, debug_traceCall: 1 }, size: 10, failing-items: 1 }
  single: { kind: rpc, network: ethereum-mainnet, methods: { eth_call: 1 }, failure-ratio: 0.1 }
  replay: { kind: replay, of: single, duplicates: 2, conflict-ratio: 0.25, other-caller-ratio: ${callers > 1 ? 0.5 : 0} }
  again: { kind: replay, of: single, duplicates: 0, repeat-after: 6s }
  scraping: { kind: chat, model-tier: XS, prompt-tokens: 100, max-completion-tokens: 60, parameters: { enable_web_search: auto, enable_web_scraping: true } }
  models: { kind: models }
  unlisted: { kind: probe, probe: unlisted-method }
  image: { kind: resource, resource: image }
  video: { kind: resource, resource: video-queue }
  characters: { kind: resource, resource: characters }
`

/** A plan of the named stages: each a line such as `duration: 10s, shape: constant, rate: 1/s, mix: { s: 1 }`. */
export function planOf(
  stages: Readonly<Record<string, string>>,
  {
    count = 4,
    more = '',
    contract = documentedContract,
    flags = noFlags,
    recordings = new Map(),
    publishedLimits = notDiscovered,
    callers = 'tier: default',
    calls = callsFor(count),
  }: {
    readonly count?: number
    readonly more?: string
    readonly contract?: Contract
    readonly flags?: Overrides
    readonly recordings?: Recordings
    readonly publishedLimits?: PublishedLimits
    /** Another key of `callers`. */
    readonly callers?: string
    /** The calls, in place of the usual ones. */
    readonly calls?: string
  } = {},
): Plan {
  const lines = Object.entries(stages).map(([name, stage]) => `  - { name: ${name}, ${stage} }`)
  const text = `name: worked\ncallers: { count: ${count}, ${callers} }\ncalls:${calls}stages:\n${lines.join('\n')}\n${more}`
  return makePlan(parseScenario(text, 's.yaml', contract), contract, flags, { recordings, publishedLimits })
}

/** Arrivals per second of all callers in the only stage. */
export function perSecondOf(plan: Plan): number {
  const load = plan.stages[0]?.load
  if (load?.model !== 'open' || load.shape.kind !== 'constant') throw new Error('the stage has no constant rate')
  return load.shape.perSecond
}
