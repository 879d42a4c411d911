import type { Sample } from './exposition.ts'

/** Metrics of one name. Counters never fall. */
export type Family = {
  readonly name: string
  readonly kind: 'counter' | 'gauge'
  readonly help: string
  readonly labels: readonly string[]
  /** As of now. No two have the same labels. */
  readonly samples: () => readonly Sample[]
}

export const counter = (name: string, help: string, labels: readonly string[], samples: Family['samples']): Family => ({
  name,
  kind: 'counter',
  help,
  labels,
  samples,
})

export const gauge = (name: string, help: string, labels: readonly string[], samples: Family['samples']): Family => ({
  name,
  kind: 'gauge',
  help,
  labels,
  samples,
})
