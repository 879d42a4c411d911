import { plural } from '../lib/format.ts'
import type { Plan, Threshold } from '../plan/plan.ts'
import type { RequestStats } from './metrics/request-stats.ts'
import { type CallProof, describeEndings } from './proof.ts'

/** The reasons for which a run that ended by itself proves too little to pass. `load`: of all stages of the plan. */
export function unprovenReasons(
  plan: Plan,
  proofs: readonly CallProof[],
  load: Pick<RequestStats, 'sent' | 'dropped' | 'skipped'>,
): readonly string[] {
  if (load.sent === 0) return [nothingSent(load)]
  const broken = proofs.filter(proof => isBroken(proof, proofs, plan))
  if (broken.length === proofs.length) {
    const endings = proofs.reduce((sum, { unmet }) => addEndings(sum, unmet), new Map<string, number>())
    return [endings.size === 0 ? nothingExpected : `No request of the load succeeded: ${describeEndings(endings)}.`]
  }
  return [
    ...limited(broken.map(describeBroken)),
    ...limited(
      proofs
        .filter(proof => !broken.includes(proof) && isMostlyRefused(proof, plan))
        .map(proof => `Most requests of ${nameOf(proof)} did not succeed: ${describeEndings(proof.unmet)}.`),
    ),
    ...limited(neverDue(plan, proofs)),
    ...limited(
      proofs
        .filter(({ call, met, judged }) => call !== null && met > 0 && judged === 0)
        .filter(proof => !plan.thresholds.some(threshold => canFailOn(threshold, proof)))
        .map(
          proof =>
            `Nothing judged the responses to ${nameOf(proof)}: no clause about their content, and no threshold about them.`,
        ),
    ),
  ]
}

const nothingExpected = 'No request of the load has a documented response.'

function nothingSent({ dropped, skipped }: Pick<RequestStats, 'dropped' | 'skipped'>): string {
  if (dropped + skipped === 0) return 'No request of the load was due.'
  const why = [
    dropped > 0 ? `${plural(dropped, 'arrival was', 'arrivals were')} dropped` : null,
    skipped > 0 ? `${plural(skipped, 'arrival', 'arrivals')} had no key` : null,
  ]
  return `No request of the load was sent: ${why.filter(each => each !== null).join(', ')}.`
}

/** Whether no request did what it was meant to, and nothing in the plan expects that. */
function isBroken(proof: CallProof, all: readonly CallProof[], plan: Plan): boolean {
  const { met, unmet, call } = proof
  if (met > 0 || plan.thresholds.some(threshold => demandsRefusal(threshold, proof))) return false
  // An earlier stage may have used up the limit.
  const isOverLimit = unmet.size === 1 && unmet.has('429') && mayExceedLimits(plan)
  return !(isOverLimit && all.some(other => other.call === call && other.met > 0))
}

function describeBroken(proof: CallProof): string {
  const { due, sent, unmet } = proof
  if (sent === 0) return `No request of ${nameOf(proof)} was sent: ${describeEndings(unmet)}.`
  return `None of ${plural(due, 'request')} of ${nameOf(proof)} succeeded: ${describeEndings(unmet)}.`
}

/** Fewer are chance. */
const minRefused = 3

/**
 * Whether most requests were answered with something else than a success. A status that the plan provokes does not
 * count, and a search tries rates that are too high.
 */
function isMostlyRefused(proof: CallProof, plan: Plan): boolean {
  const { met, unmet, stage } = proof
  const load = plan.stages.find(({ name }) => name === stage)?.load
  if (load === undefined || load.model === 'capacity') return false
  if (plan.thresholds.some(threshold => judgesSuccess(threshold, proof))) return false
  const provoked = [...(mayExceedLimits(plan) ? ['429'] : []), ...(load.model === 'saturate' ? ['503', '429'] : [])]
  const refused = [...unmet]
    .filter(([ending]) => /^\d+$|^errors$/.test(ending) && !provoked.includes(ending))
    .reduce((sum, [, count]) => sum + count, 0)
  return refused >= minRefused && refused > met
}

const mayExceedLimits = ({ forecast }: Plan): boolean =>
  forecast.limits.some(({ perMinute, limit }) => perMinute > limit)

/** Of fewer expected requests, chance may draw none. */
const minExpected = 5

/** Calls that should have been sent and never were due. */
function neverDue({ forecast, calls }: Plan, proofs: readonly CallProof[]): readonly string[] {
  const names = [...new Set(forecast.calls.map(({ call }) => call))]
  return names
    .filter(name => calls[name]?.kind !== 'probe' && !proofs.some(({ call }) => call === name))
    .filter(name => {
      const rows = forecast.calls.filter(({ call, isAtMost }) => call === name && !isAtMost)
      return rows.reduce((sum, { requests }) => sum + requests, 0) >= minExpected
    })
    .map(name => `No request of ${name} was due.`)
}

const covers = ({ call, stage }: Threshold, proof: CallProof): boolean =>
  (call ?? proof.call) === proof.call && (stage ?? proof.stage) === proof.stage

const statusOf = ({ measure }: Threshold): number | null =>
  'count' in measure && measure.count.kind === 'status' ? measure.count.status : null

/** Whether a threshold about this call fails unless the target refuses some of its requests. */
function demandsRefusal(threshold: Threshold, proof: CallProof): boolean {
  const { call, operator, bound } = threshold
  const status = statusOf(threshold)
  if (call === null || status === null || (status >= 200 && status < 300) || !covers(threshold, proof)) return false
  return operator === '>' ? bound >= 0 : (operator === '>=' || operator === '==') && bound > 0
}

const judgesSuccess = (threshold: Threshold, proof: CallProof): boolean => {
  const { measure } = threshold
  if (!covers(threshold, proof) || !('count' in measure)) return false
  return demandsRefusal(threshold, proof) || measure.count.kind === 'good' || statusOf(threshold) === 200
}

const aboutResponses: readonly string[] = ['failed', 'good', 'answered', 'status']

/** Whether a threshold is about the responses of this call, and has values that do not meet it. */
function canFailOn(threshold: Threshold, proof: CallProof): boolean {
  const { measure, operator, bound } = threshold
  if (!covers(threshold, proof)) return false
  if (measure.kind === 'timing') return measure.timing !== 'lateness'
  if (measure.kind === 'capacity') return true
  if (!('count' in measure) || !aboutResponses.includes(measure.count.kind)) return false
  if ((operator === '>=' && bound <= 0) || (operator === '>' && bound < 0)) return false
  return !(measure.kind === 'ratio' && ((operator === '<=' && bound >= 1) || (operator === '<' && bound > 1)))
}

const nameOf = ({ call, stage }: CallProof): string => `${call ?? 'the probes'} in ${stage}`

const maxSentences = 5

function limited(sentences: readonly string[]): readonly string[] {
  if (sentences.length <= maxSentences) return sentences
  return [...sentences.slice(0, maxSentences), `The same holds in ${sentences.length - maxSentences} further cases.`]
}

function addEndings(sum: Map<string, number>, unmet: ReadonlyMap<string, number>): Map<string, number> {
  for (const [ending, count] of unmet) sum.set(ending, (sum.get(ending) ?? 0) + count)
  return sum
}
