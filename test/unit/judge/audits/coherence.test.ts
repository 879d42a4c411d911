import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { createCoherenceAudit } from '../../../../src/judge/audits/coherence.ts'
import { createFindingLog } from '../../../../src/judge/findings/findings.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import { observed, responseOf, rpcHeaders, singleDescriptor } from '../checks/observed.ts'

const promised = (headLag: number) => ({
  ...documentedContract,
  promises: { only: ['rpc.coherence.*'], except: [] },
  rpc: { ...documentedContract.rpc, headLag },
})

function judge(observations: readonly Observation[], contract = promised(0)) {
  const findingLog = createFindingLog()
  const audit = createCoherenceAudit({ contract }, findingLog.reporterFor('coherence'))
  for (const observation of observations) audit.add(observation, 0)
  audit.finish(true)
  const passed = findingLog.tallies().flatMap(({ id, verdict }) => (verdict === 'pass' ? [id] : []))
  const failed = findingLog.findings().map(({ message, examples }) => [message, examples[0]?.requestIds])
  return { passed, failed }
}

/** A response to a single call, sent at `sentMs` and complete 10 ms later, unless `endMs` says otherwise. */
function answered(id: number, method: string, result: unknown, sentMs: number, endMs = sentMs + 10, network = 'n') {
  const request = { ...singleDescriptor, network, items: [{ id: 1, method, failing: false }] }
  return observed(request, responseOf(200, { jsonrpc: '2.0', id: 1, result }, rpcHeaders), { id, sentMs, endMs })
}
const head = (id: number, number: string, sentMs: number, endMs?: number, network?: string) =>
  answered(id, 'eth_blockNumber', number, sentMs, endMs, network)

describe('the head of a network', () => {
  test('may stay and rise', () => {
    expect(judge([head(0, '0x10', 0), head(1, '0x10', 20), head(2, '0x12', 40)])).toEqual({
      passed: ['rpc.coherence.head'],
      failed: [],
    })
  })
  test('must not go back', () => {
    expect(judge([head(0, '0x10', 0), head(1, '0x12', 20), head(2, '0x0e', 40)]).failed).toEqual([
      ['eth_blockNumber is 14, 4 behind a response that came 10 ms before, expected at most 0', [1, 2]],
    ])
  })
  test('may lag as far as the profile says', () => {
    expect(judge([head(0, '0x12', 0), head(1, '0x10', 20)], promised(2)).failed).toEqual([])
    expect(judge([head(0, '0x12', 0), head(1, '0x0f', 20)], promised(2)).failed).toHaveLength(1)
  })
  test('may be older in a response to a request that was sent before a newer one was shown', () => {
    expect(judge([head(0, '0x12', 0, 100), head(1, '0x10', 50, 60), head(2, '0x12', 110)]).failed).toEqual([])
  })
  test('has nothing to do with another network', () => {
    expect(judge([head(0, '0x12', 0), head(1, '0x01', 20, 30, 'other')]).failed).toEqual([])
  })
  test('is not judged without a promise, an answer or a number', () => {
    const back = [head(0, '0x12', 0), head(1, '0x10', 20)]
    expect(judge(back, { ...promised(0), promises: { only: ['rpc.id'], except: [] } }).failed).toEqual([])
    expect(judge([head(0, '0x12', 0), head(1, 'soon', 20)]).failed).toEqual([])
  })
})

describe('a block hash', () => {
  const hash = '0xaa'
  const block = (number: string, parentHash: string) => ({ hash, number, parentHash, transactions: [] })
  const receipt = (blockNumber: string) => ({ blockHash: hash, blockNumber, logs: [{ blockHash: hash, blockNumber }] })

  test('stands for one block, in blocks, receipts and logs', () => {
    const all = [
      answered(0, 'eth_getBlockByNumber', block('0x5', '0x99'), 0),
      answered(1, 'eth_getBlockReceipts', [receipt('0x5'), receipt('0x05')], 20),
      answered(2, 'eth_getBlockByHash', block('0x5', '0x99'), 40),
    ]
    expect(judge(all)).toEqual({ passed: ['rpc.coherence.block'], failed: [] })
  })
  test('must not change its number or its parent', () => {
    const first = answered(0, 'eth_getBlockByNumber', block('0x5', '0x99'), 0)
    expect(judge([first, answered(1, 'eth_getBlockReceipts', [receipt('0x6')], 20)]).failed[0]).toEqual([
      'block 0xaa has the number 6, expected 5 as before',
      [0, 1],
    ])
    expect(judge([first, answered(1, 'eth_getBlockByHash', block('0x5', '0x98'), 20)]).failed).toEqual([
      ['block 0xaa has the parent 0x98, expected 0x99 as before', [0, 1]],
    ])
  })
  test('of a pending block, or in another member, says nothing', () => {
    const pending = { hash: null, number: null, parentHash: '0x99' }
    expect(judge([answered(0, 'eth_getBlockByNumber', pending, 0), answered(1, 'eth_call', '0xaa', 20)])).toEqual({
      passed: [],
      failed: [],
    })
  })
})
