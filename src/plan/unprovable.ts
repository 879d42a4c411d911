import { seconds } from './describe-load.ts'
import type { CallPlan, Plan, StagePlan, Threshold, Timing } from './plan.ts'
import { samplesToProve, trialArrivals } from './provable-percentile.ts'

/**
 * Why the samples that a plan expects cannot prove a threshold, or may not; null when they can. How many there are is up
 * to chance, as arrivals and mixes are drawn: with a mean of n they are fewer than n − 2√n one time in forty. Where
 * answers set the pace, it is up to the target.
 */
export function unprovable({ calls, stages, forecast }: Plan, { measure, call, stage }: Threshold): string | null {
  if (measure.kind === 'capacity') return unconfirmable(stages.find(({ name }) => name === stage))
  if (measure.kind !== 'timing' || measure.of.kind !== 'percentile') return null
  const { timing } = measure
  const rows = forecast.calls
    .filter(row => (call === null || row.call === call) && (stage === null || row.stage === stage))
    .map(({ isAtMost, ...row }) => {
      // What was refused was late or in time like everything else.
      const timed = timing === 'lateness' ? row.requests : row.samples
      return { isAtMost, samples: timed * samplesPerRequest(calls[row.call], timing) }
    })
  const sum = (of: typeof rows) => of.reduce((all, { samples }) => all + samples, 0)
  const needed = samplesToProve(measure.of.percent)
  const [sure, expected] = [sum(rows.filter(({ isAtMost }) => !isAtMost)), sum(rows)]
  if (sure - 2 * Math.sqrt(sure) >= needed) return null
  const doubt = expected < needed ? 'cannot be proved' : 'may not be proved'
  const found =
    sure === expected ? `${expected} are expected` : `${expected} at most are expected, as answers set the pace`
  return `${doubt}: it takes ${needed} samples, and ${found}`
}

/** Times of tokens are seen in streams only, and a stream has at most as many gaps as tokens less one. */
function samplesPerRequest(call: CallPlan | undefined, timing: Timing): number {
  if (timing === 'latency' || timing === 'service-time' || timing === 'lateness') return 1
  if (call?.kind !== 'chat' || !call.stream) return 0
  return timing === 'itl' || timing === 'icl' ? call.maxCompletionTokens - 1 : 1
}

/** A search whose time does not even allow for a confirmation of its highest rate, which has its answers soonest. */
function unconfirmable(stage: StagePlan | undefined): string | null {
  if (stage?.load.model !== 'capacity') return null
  const { search } = stage.load
  const ms = (trialArrivals(search, 'confirm', search.toPerSecond) * 1_000) / search.toPerSecond
  return ms <= stage.durationMs ? null : `cannot be proved: to confirm the highest rate takes ${seconds(ms)}`
}
