import { type Count, type CountWith, hasTrait, type Plan, type StagePlan, type Threshold } from './plan.ts'

/** How likely one of the bounds of a run is wrong, however often it is looked at. They share it. */
export const decisionError = 0.05

/**
 * What may end the wait for a threshold. `stage`: it is about a stage before the last one, which is sent whole · `bound`: a
 * bound on a share · `rule`: it says what must never happen, which holds of what was sent · `count`: its count is reached ·
 * `end`: only the end of the plan, or that it is crossed for good.
 */
export type Deciding =
  | { readonly by: 'stage' | 'bound' | 'rule' | 'count' }
  | { readonly by: 'end'; readonly why: string }

/** Whether and where `--until decided` may end a plan early. */
export type EarlyEnd = {
  /** The last stage that sends something. */
  readonly stage: string
  /** Why the plan is sent to its end in any case; null: it may end early. */
  readonly whole: string | null
  /** The thresholds that keep it going to its end, unless they are crossed for good. */
  readonly open: readonly { readonly expression: string; readonly why: string }[]
}

export function earlyEndOf(plan: Pick<Plan, 'stages' | 'thresholds'>): EarlyEnd {
  const last = lastStage(plan)
  const all = plan.thresholds.map(threshold => ({ threshold, deciding: decidingOf(threshold, plan) }))
  const open = all.flatMap(({ threshold: { expression }, deciding }) =>
    deciding.by === 'end' ? [{ expression, why: deciding.why }] : [],
  )
  const nothing = all.some(({ deciding }) => deciding.by === 'bound')
    ? null
    : 'no threshold is about a share or a percentile of it'
  return { stage: last.name, whole: whyWhole(last) ?? nothing, open }
}

/** The same as text, with a blank line before it; empty if the plan has no threshold. */
export function describeEarlyEnd(plan: Pick<Plan, 'stages' | 'thresholds'>): string {
  const { stage, whole, open } = earlyEndOf(plan)
  if (plan.thresholds.length === 0) return ''
  const lines =
    whole !== null
      ? [`The run goes to its end: ${whole}.`]
      : [
          `The run may end early in ${stage}, once each threshold is decided${open.length === 0 ? '.' : '. Unless they are crossed, these keep it going to its end:'}`,
          ...open.map(({ expression, why }) => `${expression}: ${why}`),
        ]
  return `\nWith --until decided\n\n${lines.map(line => `  ${line}\n`).join('')}`
}

/** A pause at the end sends nothing. */
export function lastStage({ stages }: Pick<Plan, 'stages'>): StagePlan {
  const isPause = ({ load }: StagePlan) => load.model === 'open' && load.shape.kind === 'pause'
  const found = stages.findLast(stage => !isPause(stage)) ?? stages.at(-1)
  if (found === undefined) throw new RangeError('a plan without stages')
  return found
}

/** The first part of a stage stands for all of it only if its load stays the same. */
function whyWhole({ name, load, beyondFailures }: StagePlan): string | null {
  if (beyondFailures) return `${name} provokes a block`
  if (load.model === 'sequence') return `${name} sends its calls in order`
  if (load.model === 'capacity') return `${name} searches for a capacity`
  if (load.model !== 'open' || load.shape.kind === 'constant' || load.shape.kind === 'poisson') return null
  return `the load of ${name} changes (${load.shape.kind})`
}

export function decidingOf(threshold: Threshold, plan: Pick<Plan, 'stages'>): Deciding {
  const { measure, operator, bound, stage } = threshold
  if (stage !== null && stage !== lastStage(plan).name) return { by: 'stage' }
  const end = (why: string): Deciding => ({ by: 'end', why })
  const isUpper = operator === '<' || operator === '<='
  const isOrdered = isUpper || operator === '>' || operator === '>='
  switch (measure.kind) {
    case 'timing': {
      if (measure.of.kind !== 'percentile') return end(`a ${nameOf[measure.of.kind]} has no bound`)
      if (measure.timing === 'itl' || measure.timing === 'icl')
        return end('gaps of one stream are alike, so they are no sample')
      if (measure.timing === 'lateness') return end('lateness is a delay of Turnpike itself')
      return isOrdered ? { by: 'bound' } : end('no bound shows that two values are equal')
    }
    case 'count': {
      const isNone = (operator === '==' || operator === '<=') && bound === 0
      if (isNone || (operator === '<' && bound > 0 && bound <= 1)) return { by: 'rule' }
      if (hasTrait(measure.count.kind, 'only-grows') && !isUpper && isOrdered) return { by: 'count' }
      return end('a count depends on how much is sent; a share such as 1% does not')
    }
    case 'ratio': {
      const isNone = (operator === '==' || operator === '<=') && bound === 0
      if (isNone || ((operator === '==' || operator === '>=') && bound === 1)) return { by: 'rule' }
      if (!isShare(measure.count.kind)) return end(`${measure.count.kind} are no part of the requests`)
      return isOrdered ? { by: 'bound' } : end('no bound shows that two values are equal')
    }
    case 'per-second':
      return end('a rate needs its whole time')
    case 'capacity':
      return end('a search ends by itself')
    case 'credits':
    case 'spend':
      return isUpper || !isOrdered ? end('a total depends on how much is sent') : { by: 'count' }
  }
}

const nameOf = { mean: 'mean', min: 'minimum', max: 'maximum' } as const

/** Counts of requests, of which each is one at most. Judges decide the others later. */
export const isShare = (kind: Count['kind']): kind is Exclude<Count['kind'], CountWith<'judged'>> =>
  !hasTrait(kind, 'judged')
