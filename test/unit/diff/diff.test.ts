import { expect, test } from 'vitest'
import { knownLie } from '../../../src/service/lies/lies.ts'
import { diffVirtually } from '../../support/diff-virtually.ts'

const scenario = 'test/e2e/short.yaml'

test.each([1, 2])('equal services are not worse than each other (seed %i)', async seed => {
  const { diff, old, new: fresh } = await diffVirtually({ scenario, seed })
  expect(diff.verdict).not.toBe('worse')
  expect(diff.clauses).toEqual([])
  // The side that is over first leaves the other to end by itself.
  expect([diff.old.ended, diff.new.ended]).toEqual(['complete', 'complete'])
  const sent = ({ observations }: typeof old) => observations.map(({ id, request }) => [id, request])
  const byId = (a: readonly unknown[], b: readonly unknown[]) => Number(a[0]) - Number(b[0])
  expect(sent(old).toSorted(byId)).toEqual(sent(fresh).toSorted(byId))
})

test('a lie on one side is named on that side', async () => {
  const lies = [knownLie('failed-item-in-full')]
  const clause = 'rpc.batch.error-price'
  const { diff: worse } = await diffVirtually({ scenario }, {}, { lies })
  expect([worse.verdict, worse.clauses.map(({ name, verdict }) => [name, verdict])]).toEqual([
    'worse',
    [[clause, 'worse']],
  ])
  expect(worse.reasons[0]).toMatch(/^Only NEW violates rpc\.batch\.error-price \(\d+ times, OLD 0 of \d+\)\./)
  const { diff: better } = await diffVirtually({ scenario }, { lies }, {})
  expect(better.verdict).not.toBe('worse')
  expect(better.clauses.map(({ name, verdict }) => [name, verdict])).toEqual([[clause, 'better']])
  const { diff: same } = await diffVirtually({ scenario }, { lies }, { lies })
  expect(same.clauses.map(({ name, verdict }) => [name, verdict])).toEqual([[clause, 'same']])
})
