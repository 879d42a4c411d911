import { expect, test } from 'vitest'
import type { Observation } from '../../../../src/observation/observation.ts'
import { plannedRequests } from '../../../../src/produce/arrivals/planned-requests.ts'
import { virtualRun } from '../../../support/virtual-run.ts'

const scenario = (stages: string) => `name: planned
seed: 5
callers: { count: 3, keys-per-caller: 2 }
calls:
  hello: { kind: chat, stream: false, model-tier: XS, prompt-tokens: 10, max-completion-tokens: 4 }
  cheap: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } }
  again:
    kind: replay
    of: cheap
    duplicates: 1
    conflict-ratio: 0.5
    other-caller-ratio: 0.5
    other-key-ratio: 0.5
stages:
${stages}
`

/** What a request is, as it was sent and as the plan decides it. */
const identityOf = ({ id, stage, call, caller, key, request }: Observation) => {
  const { group, role } = (request.kind === 'rpc' ? request.replay : null) ?? { group: id, role: 'only' }
  return { id, stage, call, caller, key, firstId: group, step: role }
}

const byId = (a: { readonly id: number }, b: { readonly id: number }) => a.id - b.id

test('the plan decides every request of open and sequence stages, as it was sent', async () => {
  const { plan, observations } = await virtualRun({
    scenario:
      scenario(`  - { name: mixed, duration: 5s, shape: poisson, rate: 12/s, exceed-tier: true, mix: { hello: 1, cheap: 2, again: 2 } }
  - { name: list, duration: 5s, shape: sequence, calls: [cheap, again, hello] }
  - { name: more, duration: 2s, shape: constant, rate: 6/s, exceed-tier: true, mix: { again: 1 } }`),
  })
  const sent = observations.filter(({ stage }) => stage !== '(closing)')
  const planned = [...plannedRequests(plan, true)].map(({ dueMs: _, ...request }) => request)
  expect(planned.toSorted(byId)).toEqual(sent.map(identityOf).toSorted(byId))
  expect(new Set(planned.map(({ step }) => step)).size).toBe(6)
})

test('the plan decides nothing after a stage whose responses decide the number of requests', async () => {
  const { plan } = await virtualRun({
    scenario: scenario(`  - { name: first, duration: 2s, shape: constant, rate: 2/s, mix: { cheap: 1 } }
  - { name: loop, duration: 2s, shape: closed, users: 3, think: 500ms, mix: { cheap: 1 } }
  - { name: last, duration: 2s, shape: constant, rate: 2/s, mix: { cheap: 1 } }`),
  })
  expect(new Set([...plannedRequests(plan, true)].map(({ stage }) => stage))).toEqual(new Set(['(opening)', 'first']))
})
