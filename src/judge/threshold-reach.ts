import { hasTrait, type Plan, type Threshold } from '../plan/plan.ts'

/** One call in one stage; `call: null` stands for the probes of the stage. */
type Place = { readonly stage: string; readonly call: string | null }

export const covers = ({ call, stage }: Threshold, place: Place): boolean =>
  (call ?? place.call) === place.call && (stage ?? place.stage) === place.stage

/**
 * Whether a threshold on a count has values that do not meet it, if it is about `requests` requests in `seconds`
 * seconds. A threshold that every run meets proves nothing.
 */
export function canFail(
  { measure, operator, bound }: Pick<Threshold, 'measure' | 'operator' | 'bound'>,
  { requests = Number.POSITIVE_INFINITY, seconds = 0 }: { readonly requests?: number; readonly seconds?: number } = {},
): boolean {
  if (!('count' in measure)) return true
  const ofCount = {
    count: requests,
    ratio: 1,
    'per-second': seconds > 0 ? requests / seconds : Number.POSITIVE_INFINITY,
  }
  const most = ofCount[measure.kind]
  switch (operator) {
    case '>=':
      return bound > 0
    case '>':
      return bound >= 0
    case '<=':
      return bound < most
    case '<':
      return bound <= most
    case '==':
    case '!=':
      return true
  }
}

/** The planned duration of what a threshold is about, in seconds. */
export const secondsOf = ({ stage }: Pick<Threshold, 'stage'>, { stages }: Pick<Plan, 'stages'>): number =>
  stages.reduce((sum, { name, durationMs }) => ((stage ?? name) === name ? sum + durationMs / 1000 : sum), 0)

export const statusOf = ({ measure }: Threshold): number | null =>
  'count' in measure && measure.count.kind === 'status' ? measure.count.status : null

/** Whether a threshold about this call fails unless the target refuses some of its requests. */
export function demandsRefusal(threshold: Threshold, place: Place): boolean {
  const { call, operator, bound } = threshold
  const status = statusOf(threshold)
  if (call === null || status === null || (status >= 200 && status < 300) || !covers(threshold, place)) return false
  return operator === '>' ? bound >= 0 : (operator === '>=' || operator === '==') && bound > 0
}

/** How much a threshold is about. `proofs`: of all places of the run. */
export const reachOf = (
  threshold: Threshold,
  plan: Pick<Plan, 'stages'>,
  proofs: readonly (Place & { readonly due: number })[],
) => ({
  requests: proofs.reduce((sum, proof) => (covers(threshold, proof) ? sum + proof.due : sum), 0),
  seconds: secondsOf(threshold, plan),
})

/** Whether a threshold says how many requests of this call must succeed. */
export function judgesSuccess(threshold: Threshold, place: Place): boolean {
  const { measure, operator } = threshold
  if (!covers(threshold, place) || !('count' in measure) || !canFail(threshold)) return false
  // An upper bound on successes holds without any.
  if (operator === '<' || operator === '<=' || operator === '!=') return false
  return demandsRefusal(threshold, place) || measure.count.kind === 'good' || statusOf(threshold) === 200
}

/** Whether a threshold is about the responses of this call, and has values within its reach that do not meet it. */
export function canFailOn(threshold: Threshold, place: Place, reach: ReturnType<typeof reachOf>): boolean {
  const { measure } = threshold
  if (!covers(threshold, place)) return false
  if (measure.kind === 'timing') return measure.timing !== 'lateness'
  if (measure.kind === 'capacity') return true
  return 'count' in measure && hasTrait(measure.count.kind, 'of-responses') && canFail(threshold, reach)
}
