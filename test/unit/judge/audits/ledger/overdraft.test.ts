import { expect, test } from 'vitest'
import type { Contract } from '../../../../../src/contract/contract.ts'
import { documentedContract } from '../../../../../src/contract/documented.ts'
import { createOverdraftAudit } from '../../../../../src/judge/audits/ledger/overdraft.ts'
import { createFindingLog } from '../../../../../src/judge/findings/findings.ts'
import { batchDescriptor, observed, responseOf, rpcHeaders, singleDescriptor } from '../../checks/observed.ts'

/** A call of 20 credits: when it is sent and ends, its status, and the balance before it. */
type Call = readonly [sentMs: number, endMs: number, status: number, balance: string]

const contract: Contract = {
  ...documentedContract,
  billing: { ...documentedContract.billing, atOnce: 'serial' },
}

function judge(calls: readonly Call[], { shared = false, isWallet = false } = {}) {
  const log = createFindingLog()
  const audit = createOverdraftAudit({ contract, shared }, log.reporterFor('overdraft'))
  calls.forEach(([sentMs, endMs, status, balance], index) => {
    const headers = { ...(status === 200 && rpcHeaders), 'x-service-balance-usd': balance }
    const response = responseOf(status, status === 200 ? { jsonrpc: '2.0', id: 1, result: '0x1' } : {}, headers)
    const times = { id: index + 1, seq: index + 1, sentMs, headersMs: endMs, endMs, ...(isWallet && { chain: 'base' }) }
    audit.add(observed(status === 200 ? singleDescriptor : batchDescriptor, response, times), sentMs)
  })
  audit.finish(true)
  const failed = log.findings()
  return [
    ...failed.map(({ clause, message }) => `${clause}: ${message}`),
    ...log
      .tallies()
      .filter(({ id, judged }) => judged > 0 && !failed.some(({ clause }) => clause === id))
      .map(({ id }) => `${id} holds`),
  ]
}

test('a balance that one request overdraws is spared', () => {
  expect(
    judge([
      [0, 100, 200, '0.00001'],
      [2000, 2100, 402, '-0.0000025'],
    ]),
  ).toEqual(['billing.overdraft holds', 'billing.covered holds'])
})

test('a balance that two requests at once overdraw is named', () => {
  const calls: Call[] = [
    [0, 100, 200, '0.00001'],
    [0, 100, 200, '0.00001'],
    [2000, 2100, 402, '-0.000015'],
  ]
  expect(judge(calls)).toContain(
    'billing.overdraft: the balance is -0.000015 USD, expected at least -0.0000125, since one request costs no more',
  )
  expect(judge(calls, { shared: true })).toEqual([])
  expect(judge(calls, { isWallet: true })).toEqual([])
})

/** The batch costs 80 credits, which is 0.00005 USD. */
test.each<[string, Call, string[]]>([
  ['beside a request in progress, the balance does not cover it', [100, 200, 402, '0.00006'], []],
  ['the charge of an earlier request may not have come yet', [600, 700, 402, '0.00006'], []],
  ['it covers both', [100, 200, 402, '0.0001'], ['billing.covered']],
  ['the earlier charge has come', [3000, 3100, 402, '0.00006'], ['billing.covered']],
  ['it does not cover it', [3000, 3100, 402, '0.00004'], ['billing.covered holds']],
])('a refusal is judged by what other requests may cost: %s', (_, refusal, expected) => {
  const found = judge([[0, 500, 200, '0.10000001'], refusal]).filter(each => each.startsWith('billing.covered'))
  expect(found.map(text => text.split(':')[0])).toEqual(expected)
})
