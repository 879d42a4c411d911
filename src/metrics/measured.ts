import type { Unit } from '../lib/format.ts'

/** The number that a threshold is about, or why there is none. */
export type Measured = {
  readonly subject: string
  /** Of the value and of the bound. */
  readonly unit: Unit
  readonly samples: number
  /**
   * How it moves while a run goes on. `only`: it never falls. `both`: it goes by what became of requests, so that
   * requests which were cancelled or never sent distort it. `neither`: a statistic of those that were answered.
   */
  readonly grows: 'only' | 'both' | 'neither'
} & ({ readonly value: number } | { readonly value: null; readonly because: string })
