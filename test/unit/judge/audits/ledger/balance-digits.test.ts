import { describe, expect, test } from 'vitest'
import type { Contract } from '../../../../../src/contract/contract.ts'
import { documentedContract } from '../../../../../src/contract/documented.ts'
import { createLedgerAudit } from '../../../../../src/judge/audits/ledger/ledger.ts'
import { createFindingLog } from '../../../../../src/judge/findings/findings.ts'
import type { Observation } from '../../../../../src/observation/observation.ts'
import { result, rpcHeaders, singleObserved, startedAtMs } from '../../checks/observed.ts'

/** One call after the other, each for 20 credits, with the balance that its response shows. */
function discrepanciesOf(balances: readonly string[], contract: Contract = documentedContract, diem = '0') {
  const findingLog = createFindingLog()
  const audit = createLedgerAudit({ contract, shared: false, startedAtMs }, findingLog.reporterFor('ledger'))
  for (const [id, balance] of balances.entries()) audit.add(call(id, balance, diem), 10_000 * id)
  audit.finish(true)
  return audit.billing().discrepancies.map(({ kind }) => kind)
}

function call(id: number, balance: string, diem: string): Observation {
  const sentMs = 10_000 * id
  const headers = { ...rpcHeaders, 'x-service-balance-usd': balance, 'x-service-balance-diem': diem }
  return singleObserved(result(1), headers, { id, seq: id, sentMs, headersMs: sentMs + 9, endMs: sentMs + 10 })
}

describe('a balance tells no more than its last digit', () => {
  test('so charges below it are not missed', () => {
    expect(discrepanciesOf(['9.99', '9.99', '9.99', '9.99'])).toEqual([])
  })

  test('and charges that a balance with more digits should show are', () => {
    expect(discrepanciesOf(['9.99000000', '9.99000000', '9.99000000'])).not.toEqual([])
  })

  test('but a whole number hides nothing', () => {
    expect(discrepanciesOf(['10', '10', '10'])).not.toEqual([])
  })

  test('nor does a 0.0 beside a balance with more digits', () => {
    expect(discrepanciesOf(['9.99000000', '9.99000000', '9.99000000'], documentedContract, '0.0')).not.toEqual([])
    expect(discrepanciesOf(['10', '10', '10'], documentedContract, '0.0')).not.toEqual([])
    expect(discrepanciesOf(['9.9', '9.9', '9.9'], documentedContract, '0.0')).toEqual([])
    expect(discrepanciesOf(['10.0', '10.0', '10.0'], documentedContract, '0.0')).toEqual([])
    expect(discrepanciesOf(['9.99000000', '9.99000000', '9.99000000'], documentedContract, '0.1')).toEqual([])
  })

  test('and digits that vary show that zeros are left out', () => {
    expect(discrepanciesOf(['9.98', '9.9', '9.9'])).not.toEqual([])
    expect(discrepanciesOf(['10', '9.9999875', '9.9999875'])).not.toEqual([])
  })

  test('but not that there would be more digits than any balance has', () => {
    expect(discrepanciesOf(['10', '9.9999', '9.9999', '9.9999', '9.9999', '9.9999'])).toEqual([])
    expect(discrepanciesOf(['10', '9.9999', '9.9999', '9.998', '9.998'])).not.toEqual([])
  })

  test('unless the profile states the resolution', () => {
    const stated = { ...documentedContract, sources: { billing: 'profile' } } as const
    expect(discrepanciesOf(['9.99', '9.99', '9.99'], stated)).not.toEqual([])
  })

  test('and a loss of more than that is found', () => {
    expect(discrepanciesOf(['9.99', '9.99', '9.90', '9.90'])).not.toEqual([])
  })
})
