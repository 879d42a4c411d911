import { expect, test } from 'vitest'
import { createAudits } from '../../../src/audits/all-audits.ts'
import { createFindingLog } from '../../../src/checks/findings.ts'
import { documented } from '../../../src/contract/documented.ts'
import type { Observation } from '../../../src/observation/observation.ts'
import { startedAtMs } from '../checks/observed.ts'
import { history, observe } from './bank.ts'

function judge(observations: readonly Observation[], isWhole: boolean) {
  const docket = createFindingLog()
  const audits = createAudits({ contract: documented, shared: false, startedAtMs }, docket)
  for (const observation of observations) audits.add(observation)
  audits.conclude(isWhole)
  // The bank writes headers for its accounts, not for the limits, and the same ray on everything.
  const ofMoney = docket.findings().filter(({ judge }) => judge === 'ledger')
  return { clauses: ofMoney.map(({ clause }) => clause), billing: audits.billing() }
}

test('of a record that was cut off, what was under way is not held against the service', () => {
  let misjudged = 0
  for (let seed = 1; seed <= 40; seed++) {
    const observations = observe(
      history({ seed, sorts: ['rpc', 'batch', 'chat', 'stream'], gapMs: 150, pauses: false }),
    )
    const cut = observations.filter(({ endMs }) => (endMs ?? 0) < 4000 + seed * 20)
    expect(judge(cut, false).clauses).toEqual([])
    if (judge(cut, true).clauses.length > 0) misjudged++
  }
  // That it is cut off matters: taken for whole, such a record accuses the honest.
  expect(misjudged).toBeGreaterThan(0)
})

test('of a record that was cut off, a fault that is proved is told all the same', () => {
  const busy = history({ seed: 1, sorts: ['rpc', 'chat', 'batch', 'replay'], gapMs: 4000 })
  const wrong = observe(busy.map(each => ({ ...each, taken: each.taken * 2n })))
  const { clauses, billing } = judge(wrong.slice(0, -30), false)
  expect(clauses).toContain('billing.conservation')
  expect(billing.discrepancies).not.toEqual([])
})
