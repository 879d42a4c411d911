import { expect, test } from 'vitest'
import { renderDiff, renderDiffPage } from '../../../src/diff/render-diff.ts'
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
  const page = renderDiffPage(worse)
  expect(page).toMatch(/^<!doctype html>/)
  for (const words of ['<span class="verdict">worse</span><h1>short</h1>', 'only NEW', 'latency by slice', 'margin'])
    expect(page).toContain(words)
  expect(renderDiff(worse, { columns: 100, color: false }).split('\n')[0]).toBe('WORSE  short')
  // A slice has both sides, and they follow one another.
  const latency = worse.times.find(({ measure }) => measure === 'latency')?.slices ?? []
  expect(latency.length).toBeGreaterThan(4)
  expect(latency.every(({ startMs, endMs, old, new: fresh }) => endMs > startMs && old > 0 && fresh > 0)).toBe(true)
  const { diff: better } = await diffVirtually({ scenario }, { lies }, {})
  expect(better.verdict).not.toBe('worse')
  expect(better.clauses.map(({ name, verdict }) => [name, verdict])).toEqual([[clause, 'better']])
  const { diff: same } = await diffVirtually({ scenario }, { lies }, { lies })
  expect(same.clauses.map(({ name, verdict }) => [name, verdict])).toEqual([[clause, 'same']])
})
