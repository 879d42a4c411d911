import type { Mix, StagePlan } from './plan.ts'

/** The calls of a stage with their weights; those of a sequence count once for each time that they are in it. */
export function mixOf({ load }: StagePlan): Mix {
  if (load.model !== 'sequence') return load.mix
  return [...new Set(load.calls)].map(name => [name, load.calls.filter(each => each === name).length])
}

/** What an arrival of the mix amounts to on average; 0 where there is none. */
export function meanOf(mix: Mix, amountOf: (call: string) => number): number {
  const total = mix.reduce((sum, [, weight]) => sum + weight, 0)
  return mix.reduce((sum, [call, weight]) => sum + (amountOf(call) * weight) / total, 0)
}
