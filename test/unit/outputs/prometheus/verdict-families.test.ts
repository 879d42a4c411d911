import { describe, expect, test } from 'vitest'
import { renderFamilies } from '../../../../src/outputs/prometheus/scrape.ts'
import { verdictFamilies } from '../../../../src/outputs/prometheus/verdict-families.ts'
import type { Report } from '../../../../src/report/document.ts'

import { aSearch } from '../../report/capacity-results.ts'
import { failingReport, passingReport } from '../../report/fixtures.ts'

const samplesOf = (report: Report): ReadonlyMap<string, number> =>
  new Map(
    verdictFamilies(report).flatMap(({ name, samples }) =>
      samples().map(({ labels: { scenario: _, ...labels }, value }) => {
        return [`${name.slice('turnpike_last_run_'.length)} ${JSON.stringify(labels)}`, value] as const
      }),
    ),
  )

describe('the verdict of a run as gauges', () => {
  test.each([
    ['verdict {"verdict":"pass"}', 1],
    ['verdict {"verdict":"fail"}', 0],
    ['info {"run_id":"20260102-030405-replay","seed":"42","version":"0.1.0","ended":"complete"}', 1],
    ['start_timestamp_seconds {}', 1_767_323_045],
    ['duration_seconds {}', 60.412],
    ['violations {"clause":"header.date"}', 0],
    // Not exercised.
    ['violations {"clause":"auth.bearer"}', undefined],
    ['requests {"outcome":"answered"}', 621],
    ['credits {"by":"claimed"}', 12345],
    ['usd {"by":"billed"}', 0.007715625],
    ['lateness_seconds {"quantile":"0.5"}', 0.00021],
    // 621 values are too few.
    ['lateness_seconds {"quantile":"0.999"}', undefined],
  ])('for a passing run: %s', (sample, value) => {
    const found = samplesOf(passingReport).get(sample)
    if (value === undefined) expect(found).toBeUndefined()
    else expect(found).toBeCloseTo(value, 9)
  })

  test('for a failing run', () => {
    const samples = samplesOf(failingReport)
    expect(samples.get('verdict {"verdict":"fail"}')).toBe(1)
    expect(samples.get('verdict {"verdict":"pass"}')).toBe(0)
    expect(samples.get('threshold_ok {"threshold":"failed == 0"}')).toBe(0)
    expect([...samples.keys()].filter(name => name.includes('p(95) ttft < 300ms'))).toEqual([])
    expect(samples.get('requests {"outcome":"dropped"}')).toBe(1)
    expect(samples.get('discrepancies {"kind":"billed-twice"}')).toBe(2)
  })

  test('an unknown value is not 0', () => {
    const billing = { ...passingReport.billing, billedUsd: null }
    expect(samplesOf({ ...passingReport, billing }).has('usd {"by":"billed"}')).toBe(false)
  })

  test('searches have a status, and a rate only if one was confirmed', () => {
    const capacity = [aSearch(), aSearch({ stage: 'other', status: 'limited-by-tier', ratePerSecond: null })]
    const samples = samplesOf({ ...passingReport, capacity })
    expect([...samples].filter(([name]) => name.startsWith('capacity_'))).toEqual([
      ['capacity_rate {"stage":"search"}', 78.7],
      ['capacity_info {"stage":"search","status":"found"}', 1],
      ['capacity_info {"stage":"other","status":"limited-by-tier"}', 1],
    ])
  })

  test('each call appears once, over all its stages', () => {
    const names = [...samplesOf(passingReport).keys()].filter(name => name.startsWith('request_duration_seconds'))
    expect(names.length).toBeGreaterThan(0)
    expect(new Set(names).size).toBe(names.length)
  })

  test('every sample names its scenario', () => {
    const families = verdictFamilies({ ...failingReport, capacity: [aSearch()] })
    const samples = families.flatMap(({ samples, labels }) => samples().map(sample => ({ ...sample, known: labels })))
    expect(samples.length).toBeGreaterThan(30)
    for (const { labels, known } of samples) {
      expect(labels.scenario).toBe('replay')
      expect(Object.keys(labels).filter(label => !known.includes(label))).toEqual([])
    }
  })

  test('renders to the Prometheus text format', async () => {
    const text = await renderFamilies(verdictFamilies(failingReport))
    expect(text).toContain('# TYPE turnpike_last_run_verdict gauge')
    expect(text).toContain('turnpike_last_run_verdict{scenario="replay",verdict="fail"} 1')
    expect(text).not.toMatch(/NaN|undefined|null/)
  })
})
