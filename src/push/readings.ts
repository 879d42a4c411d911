import type { NativeHistogram } from '../metrics/log-buckets.ts'
import { boundariesMs, type Distribution, distributions, type ExpositionSource } from './exposition.ts'
import { families, histogramFamilies } from './families.ts'
import type { Family } from './family.ts'

/** One value of one series. */
export type Reading = {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number | NativeHistogram
}

/**
 * All that `/metrics` has, read family by family while it is gone through, so that nobody has to stop for all of it at
 * once. A histogram is there twice: as the buckets that are scraped, which dashboards ask for, and whole.
 */
export function createReadings(source: ExpositionSource): () => Promise<Iterable<readonly Reading[]>> {
  const known = families(source)
  return async () => {
    await source.catchUp()
    return everyFamily()
  }

  function* everyFamily(): Iterable<readonly Reading[]> {
    for (const { name, timing } of histogramFamilies)
      yield distributions(source.metrics, timing).flatMap(distribution => ofDistribution(name, distribution))
    for (const family of known) yield ofFamily(family)
  }
}

export const ofFamily = ({ name, samples }: Family): readonly Reading[] =>
  samples().map(({ labels, value }) => ({ name, labels, value }))

const les = boundariesMs.map(ms => String(ms / 1000))

/** A run has thousands of buckets: their names and labels are put together as cheaply as can be. */
function ofDistribution(name: string, { labels, counts, count, sumSeconds, native }: Distribution): readonly Reading[] {
  const { call, stage } = labels
  const bucket = `${name}_bucket`
  return [
    { name, labels, value: native() },
    ...counts.map((value, index) => ({ name: bucket, labels: { call, stage, le: les[index] ?? '' }, value })),
    { name: bucket, labels: { call, stage, le: '+Inf' }, value: count },
    { name: `${name}_sum`, labels, value: sumSeconds },
    { name: `${name}_count`, labels, value: count },
  ]
}
