import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { createCoherenceAudit } from '../../../../src/judge/audits/coherence.ts'
import { createFindingLog } from '../../../../src/judge/findings/findings.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import { observed, responseOf, rpcHeaders, singleDescriptor } from '../checks/observed.ts'

const promised = (headLag: number, reorgDepth: number | null = null) => ({
  ...documentedContract,
  promises: { only: ['rpc.coherence.*'], except: [] },
  rpc: { ...documentedContract.rpc, headLag, reorgDepth },
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
      [
        'eth_blockNumber is 14, 4 behind a response that came 10 ms before, expected at most 0. The last block went back by 4 blocks, documented 0 blocks. The share of responses with such a block was 50 %, documented 0 %.',
        [1, 2],
      ],
    ])
  })
  test('is also that of the last block and of its receipts, where a call asks for these', () => {
    const last = (id: number, number: string, isLatest?: true) => {
      const seen = answered(id, 'eth_getBlockByNumber', { hash: `0xa${number}`, number, parentHash: '0x99' }, id * 20)
      if (seen.request.kind !== 'rpc') return seen
      return { ...seen, request: { ...seen.request, items: seen.request.items.map(item => ({ ...item, isLatest })) } }
    }
    expect(judge([head(0, '0x10', 0), last(1, '0x10', true), head(2, '0x10', 40)]).failed).toEqual([])
    expect(judge([head(0, '0x10', 0), last(1, '0x0e')]).failed).toEqual([])
    expect(judge([head(0, '0x10', 0), last(1, '0x0e', true)], promised(2)).failed).toEqual([])
    expect(judge([head(0, '0x10', 0), last(1, '0x0e', true)]).failed[0]?.[0]).toMatch(
      /^the last block of eth_getBlockByNumber is 14, 2 behind a response that came 10 ms before, expected at most 0/,
    )
    expect(judge([last(0, '0x10', true), head(1, '0x0e', 20)]).failed[0]?.[0]).toMatch(
      /^eth_blockNumber is 14, 2 behind/,
    )
  })
  test('is named with how far and how often it went back', () => {
    const numbers = ['0x20', '0x1e', '0x20', '0x1b', '0x20', '0x20', '0x20', '0x20', '0x20']
    const { failed } = judge(numbers.map((number, index) => head(index, number, index * 20)))
    expect(failed[0]?.[0]).toMatch(
      /went back by between 2 blocks and 5 blocks at different times, documented 0 blocks\. The share of responses with such a block was 25 %/,
    )
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
  test('that only one response names says nothing', () => {
    expect(judge([answered(0, 'eth_getBlockByNumber', block('0x5', '0x99'), 0)])).toEqual({ passed: [], failed: [] })
  })
  test('of a pending block, or in another member, says nothing', () => {
    const pending = { hash: null, number: null, parentHash: '0x99' }
    expect(judge([answered(0, 'eth_getBlockByNumber', pending, 0), answered(1, 'eth_call', '0xaa', 20)])).toEqual({
      passed: [],
      failed: [],
    })
  })
})

describe('what a block hash fixes', () => {
  const block = { hash: '0xaa', number: '0x5', parentHash: '0x99', stateRoot: '0x11', transactions: ['0xT1', '0xT2'] }
  const seen = (id: number, more: object) => answered(id, 'eth_getBlockByNumber', { ...block, ...more }, id * 20)
  const log = (transactionHash: string) => [{ blockHash: '0xaa', blockNumber: '0x5', transactionHash }]

  test('is its roots, unless they are not known yet', () => {
    expect(judge([seen(0, {}), seen(1, { stateRoot: '0x12' })]).failed).toEqual([
      ['block 0xaa has the stateRoot 0x12, expected 0x11 as before', [0, 1]],
    ])
    expect(judge([seen(0, { stateRoot: '0x0000' }), seen(1, {}), seen(2, { stateRoot: '0x12' })]).failed).toHaveLength(
      1,
    )
    expect(judge([seen(0, { stateRoot: '0x0000' }), seen(1, {})]).failed).toEqual([])
    expect(judge([seen(0, { timestamp: '0x61' }), seen(1, { timestamp: '0x62' })]).failed).toEqual([
      ['block 0xaa has the timestamp 0x62, expected 0x61 as before', [0, 1]],
    ])
  })
  test('is its transactions, in receipts and logs', () => {
    const logs = (id: number, hash: string) => answered(id, 'eth_getLogs', log(hash), id * 20)
    expect(judge([seen(0, {}), logs(1, '0xt1')]).failed).toEqual([])
    expect(judge([logs(0, '0xt3'), seen(1, {})]).failed).toEqual([
      ['block 0xaa: a receipt or log has the transaction 0xt3, expected one of the 2 in the block', [1]],
    ])
    expect(judge([seen(0, {}), logs(1, '0xt3')]).failed).toEqual([
      ['a receipt or log has the transaction 0xt3 of block 0xaa, expected one in this block', [1]],
    ])
  })
})

describe('receipts and logs', () => {
  const bloomOf = (bits: string) => `0x${bits.padStart(512, '0')}`
  const log = (at: number, more: object = {}) => ({
    ...{ blockHash: '0xaa', blockNumber: '0x5', transactionHash: `0xt${at}`, transactionIndex: `0x${at}` },
    ...{ logIndex: `0x${at}`, address: '0xc0', topics: ['0x01'], data: '0x', removed: false, ...more },
  })
  const receipt = (at: number, more: object = {}) => ({
    ...{ blockHash: '0xaa', blockNumber: '0x5', transactionHash: `0xt${at}`, transactionIndex: `0x${at}` },
    ...{ status: '0x1', gasUsed: '0x10', cumulativeGasUsed: `0x${at + 1}0`, logs: [log(at)] },
    ...{ logsBloom: bloomOf(`${at + 1}`), ...more },
  })
  const header = { hash: '0xaa', number: '0x5', parentHash: '0x99', gasUsed: '0x20', logsBloom: bloomOf('3') }
  const block = (more: object = {}) => ['eth_getBlockByNumber', { ...header, transactions: ['0xT0', '0xT1'], ...more }]
  const receipts = (first: object = {}, last: object = {}) => [
    'eth_getBlockReceipts',
    [receipt(0, first), receipt(1, last)],
  ]
  const queried = (...logs: readonly object[]) => ['eth_getLogs', logs]
  const all = (...logs: readonly object[]) => ['eth_getLogs of all', logs]

  type Said = readonly unknown[]
  const verdict = (...said: readonly Said[]) => {
    const observations = said.map(([method, result], id) => {
      const isUnfiltered = method === 'eth_getLogs of all'
      const seen = answered(id, isUnfiltered ? 'eth_getLogs' : `${method}`, result, id * 20)
      if (!isUnfiltered || seen.request.kind !== 'rpc') return seen
      return {
        ...seen,
        request: { ...seen.request, items: seen.request.items.map(each => ({ ...each, isUnfiltered: true as const })) },
      }
    })
    return judge(observations).failed.map(([message]) => message)
  }
  /** In any order. */
  const verdicts = (...said: readonly Said[]) => [verdict(...said), verdict(...said.toReversed())]

  test.each<[string, readonly Said[]]>([
    ['agree', [block(), receipts(), all(log(0), log(1)), queried(log(1))]],
    ['of one transaction agree', [receipts(), ['eth_getTransactionReceipt', receipt(1)], block()]],
    [
      'may be of transactions in full',
      [block({ transactions: [0, 1].map(at => ({ ...log(at), hash: `0xt${at}` })) }), receipts()],
    ],
    ['may state less gas than they add up, after a refund', [block(), receipts({}, { gasUsed: '0x8' })]],
    ['may count up no gas', [block(), receipts({ cumulativeGasUsed: '0x0' }, { cumulativeGasUsed: '0x0' })]],
    ['may have no Bloom filter', [block({ logsBloom: bloomOf('') }), receipts()]],
    [
      'may have one that is cut',
      [block({ logsBloom: '0x0003' }), receipts({ logsBloom: '0x00' }, { logsBloom: '0x00' })],
    ],
    ['may be filtered', [block(), receipts(), queried(log(0)), queried()]],
    [
      'may be of a block that was replaced',
      [block(), all({ ...log(0), removed: true, address: '0xc1' }, log(0), log(1))],
    ],
    [
      'may number logs by transaction',
      [receipts({}, { logs: [log(1, { logIndex: '0x0' })] }), all(log(0), log(1, { logIndex: '0x0' }))],
    ],
    ['may be unknown as a whole', [block(), ['eth_getTransactionReceipt', receipt(0)], all(log(0), log(1))]],
    [
      'of an empty block say nothing',
      [['eth_getBlockReceipts', []], all(), block({ transactions: [], gasUsed: '0x0' })],
    ],
  ])('%s', (_, said) => {
    expect(verdicts(...said)).toEqual([[], []])
  })

  test.each<[string, RegExp, readonly Said[]]>([
    [
      'another status',
      /0xt1 has the status 0x[01], expected 0x[01] as before/,
      [receipts(), receipts({}, { status: '0x0' })],
    ],
    [
      'another place',
      /0xt1 has the transactionIndex 0x[12], expected 0x[12] as before/,
      [receipts({}, { transactionIndex: '0x2' }), queried(log(1))],
    ],
    [
      'a place that the block does not give',
      /transactionIndex 0x1, expected its place 0 /,
      [block({ transactions: ['0xt1', '0xt0'] }), ['eth_getTransactionReceipt', receipt(1)]],
    ],
    ['more gas', /0xt1 has the gas 17, expected at most 16, by/, [receipts({}, { gasUsed: '0x11' }), queried(log(0))]],
    [
      'more gas than the block',
      /has the cumulativeGasUsed 48, expected 32 as the gas of the block/,
      [block(), receipts({}, { cumulativeGasUsed: '0x30' })],
    ],
    ['no receipt', /the receipts lack that of 0xt1, expected/, [block(), ['eth_getBlockReceipts', [receipt(0)]]]],
    ['no log', /a query for all logs lacks log 1 of 0xt1, expected the 2 logs/, [receipts(), all(log(0))]],
    [
      'one log more',
      /a query finds log 7 of 0xt1, expected only the 2 logs/,
      [receipts(), queried(log(1, { logIndex: '0x7' }))],
    ],
    [
      'another log',
      /log 1 of 0xt1 has another address, topic or content/,
      [receipts(), queried(log(1, { address: '0xc1' }))],
    ],
    ['too few bits', /the logsBloom lacks bits of its receipts/, [block({ logsBloom: bloomOf('1') }), receipts()]],
    [
      'too many bits',
      /the logsBloom has more than the bits of its receipts/,
      [block({ logsBloom: bloomOf('7') }), receipts()],
    ],
    [
      'a foreign transaction',
      /has the transaction 0xt9/,
      [receipts(), queried(log(1, { transactionHash: '0xt9' })), block()],
    ],
  ])('must not have %s', (_, message, said) => {
    for (const messages of verdicts(...said)) expect(messages.join()).toMatch(message)
  })

  test('are of one block', () => {
    expect(verdict(receipts({}, { blockHash: '0xbb' })).join()).toMatch(/of 2 blocks, 0xaa and 0xbb, expected one/)
  })
})

describe('the hash of a number', () => {
  const block = (id: number, hash: string, sentMs: number, endMs?: number) =>
    answered(id, 'eth_getBlockByNumber', { hash, number: '0x5', parentHash: '0x99' }, sentMs, endMs)
  const contract = promised(0, 3)

  test('may change as long as a reorganization reaches it', () => {
    const all = [head(0, '0x07', 0), block(1, '0xaa', 20), head(2, '0x20', 40), block(3, '0xbb', 60)]
    expect(judge(all, contract).failed).toEqual([])
    const late = [head(0, '0x08', 0), block(1, '0xaa', 20), block(2, '0xbb', 40)]
    expect(judge(late, promised(1, 3)).failed).toEqual([])
    expect(judge(late, promised(0, null)).failed).toEqual([])
    expect(judge([head(0, '0x08', 0), block(1, '0xaa', 20, 90), block(2, '0xbb', 40)], contract).failed).toEqual([])
  })
  test('must not change once it is deeper', () => {
    const all = [head(0, '0x08', 0), block(1, '0xaa', 20), block(2, '0xbb', 40)]
    expect(judge(all, contract).failed).toEqual([
      ['block 5 has the hash 0xbb, expected 0xaa as before: a reorganization replaces at most 3 blocks', [1, 2]],
    ])
  })
})

describe('the heads of one batch', () => {
  const batch = (numbers: readonly string[], endMs: number) => {
    const items = numbers.map((_, index) => ({ id: index, method: 'eth_blockNumber', failing: false }))
    const results = numbers.map((result, id) => ({ jsonrpc: '2.0', id, result }))
    const request = { ...singleDescriptor, batch: true, items }
    return observed(request, responseOf(200, results, rpcHeaders), { id: 0, sentMs: 0, endMs })
  }
  test('are those of one moment, in which a block may come', () => {
    expect(judge([batch(['0x10', '0x11', '0x11'], 50)]).failed).toEqual([])
    expect(judge([batch(['0x10', '0x10', '0x12'], 50)], promised(1)).failed).toEqual([])
    expect(judge([batch(['0x10', '0x15'], 900)]).failed).toEqual([])
  })
  test('are not those of several nodes', () => {
    expect(judge([batch(['0x10', '0x14', '0x10'], 50)]).failed).toEqual([
      ['the last block is 16 and 20 in one batch, 4 apart, expected at most 1', [0]],
    ])
  })
})
