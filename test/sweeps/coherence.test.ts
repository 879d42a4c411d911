import { describe, expect, test } from 'vitest'
import type { Contract } from '../../src/contract/contract.ts'
import { loadProfile } from '../../src/contract/profile.ts'
import { isObject } from '../../src/lib/json.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
import { virtualRun } from '../support/virtual-run.ts'

const node = loadProfile('scenarios/profiles/json-rpc-node.yaml')
const withRpc = (rpc: Partial<Contract['rpc']>): Contract => ({ ...node, rpc: { ...node.rpc, ...rpc } })

const scenario = `name: blocks
callers: { count: 1 }
calls:
  head: { kind: rpc, methods: { eth_blockNumber: 1 } }
  heads: { kind: rpc-batch, methods: { eth_blockNumber: 1 }, size: 3 }
  last: { kind: rpc, methods: { eth_getBlockByNumber: 1 }, params: { eth_getBlockByNumber: [latest, false] } }
  logs: { kind: rpc, methods: { eth_getLogs: 1 }, params: { eth_getLogs: [{ fromBlock: latest, toBlock: latest }] } }
  receipts: { kind: rpc, methods: { eth_getBlockReceipts: 1 }, params: { eth_getBlockReceipts: [latest] } }
  first: { kind: rpc, methods: { eth_getBlockByNumber: 1 }, params: { eth_getBlockByNumber: [earliest, false] } }
stages:
  - { name: steady, duration: 90s, shape: constant, rate: 4/s, mix: { head: 1, heads: 1, last: 1, logs: 1, receipts: 1, first: 1 } }
`

type Run = Awaited<ReturnType<typeof virtualRun>>

/** By number, the hashes that the last blocks and their children showed. */
function hashesOf({ observations }: Run): ReadonlyMap<number, ReadonlySet<string>> {
  const hashes = new Map<number, Set<string>>()
  for (const { response, call } of observations) {
    const value = response?.body.kind === 'json' ? response.body.value : null
    const block = call === 'last' && isObject(value) && isObject(value.result) ? value.result : null
    if (block === null) continue
    const number = Number(block.number)
    for (const [at, hash] of [
      [number, block.hash],
      [number - 1, block.parentHash],
    ] as const)
      hashes.set(at, (hashes.get(at) ?? new Set()).add(String(hash)))
  }
  return hashes
}

const replacedIn = (run: Run): number => [...hashesOf(run).values()].filter(({ size }) => size > 1).length

const coherent = ({ report }: Run) => report.clauses.filter(({ id }) => id.startsWith('rpc.coherence.'))

describe('honest nodes pass', () => {
  test('with replicas that lag by two blocks', async () => {
    const contract = withRpc({ headLag: 2 })
    const run = await virtualRun({ scenario, contract })
    expect(run.report.findings).toEqual([])
    expect(coherent(run).map(({ verdict }) => verdict)).toEqual(['pass', 'pass', 'pass', 'pass'])
    expect(hashesOf(run).size).toBeGreaterThan(3)
  })
  test('with reorganizations that replace two blocks', async () => {
    const run = await virtualRun({ scenario, contract: withRpc({ reorgDepth: 2 }) })
    expect(run.report.findings).toEqual([])
    expect(coherent(run).map(({ verdict }) => verdict)).toEqual(['pass', 'pass', 'pass', 'pass'])
    expect(replacedIn(run)).toBeGreaterThan(0)
  })
  test('with both', async () => {
    const run = await virtualRun({ scenario, contract: withRpc({ headLag: 2, reorgDepth: 2 }) })
    expect(run.report.findings).toEqual([])
    expect(replacedIn(run)).toBeGreaterThan(0)
  })
})

test('replicas that lag further than the profile says are named with how far and how often', async () => {
  const run = await virtualRun({
    scenario,
    contract: withRpc({ headLag: 1 }),
    serviceContract: withRpc({ headLag: 3 }),
  })
  const finding = run.report.findings.find(({ clause }) => clause === 'rpc.coherence.head')
  expect(finding?.message).toMatch(/went back by between 2 blocks and 3 blocks at different times, documented 1 blocks/)
  expect(finding?.message).toMatch(/The share of responses with such a block was \d+ %/)
})

test('a reorganization that reaches deeper than the profile says is named', async () => {
  const contract = withRpc({ reorgDepth: 0 })
  const run = await virtualRun({ scenario, contract, serviceContract: withRpc({ reorgDepth: 2 }) })
  expect(run.report.findings.map(({ clause }) => clause)).toEqual(['rpc.coherence.final'])
})

test.each([
  ['block-changes', 'rpc.coherence.block', /has the stateRoot 0x/],
  ['logs-of-another-transaction', 'rpc.coherence.block', /has the transaction 0x00000000/],
  ['last-block-from-a-cache', 'rpc.coherence.head', /^the last block of eth_getBlockByNumber is \d+, [345] behind/],
  ['block-time-changes', 'rpc.coherence.block', /has the timestamp 0x/],
  ['receipt-status-changes', 'rpc.coherence.block', /has the status 0x[01], expected 0x[01] as before/],
  ['receipt-has-more-gas', 'rpc.coherence.block', /has the gas \d+, expected at most \d+/],
  [
    'receipts-add-up-to-more',
    'rpc.coherence.block',
    /has the cumulativeGasUsed \d+, expected \d+ as the gas of the block/,
  ],
  ['receipt-of-another-block', 'rpc.coherence.block', /the receipts of one block are of 2 blocks/],
  ['receipt-of-another-place', 'rpc.coherence.block', /has the transactionIndex 0x[0-9a-f]+, expected/],
  ['receipts-lack-one', 'rpc.coherence.block', /the receipts lack that of 0x|expected one that has a receipt/],
  ['logs-lack-one', 'rpc.coherence.block', /a query for all logs lacks log \d+ of 0x/],
  ['logs-have-one-more', 'rpc.coherence.block', /a query finds log \d+ of 0x/],
  ['log-of-another-address', 'rpc.coherence.block', /has another address, topic or content/],
  ['bloom-lacks-a-log', 'rpc.coherence.block', /the logsBloom lacks bits of its receipts/],
  ['batch-split-over-replicas', 'rpc.coherence.batch', /in one batch, 4 apart, expected at most 1/],
  ['old-blocks-replaced', 'rpc.coherence.final', /^block 0 has the hash 0x/],
])('%s', async (name, clause, message) => {
  const lie = lieByName(name)
  if (lie === undefined) throw new Error('no such lie')
  const { report } = await virtualRun({ scenario, contract: node, lies: [lie] })
  expect(report.findings.find(finding => finding.clause === clause)?.message).toMatch(message)
})
