import { isDeterministic } from '../../contract/chat-options.ts'
import { quote } from '../../lib/format.ts'
import { textHash } from '../../lib/random.ts'
import type { Observation } from '../../observation/observation.ts'
import { isChat } from '../../observation/requests/chat.ts'
import { answersIn } from '../checks/chat-json.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import { addCount, fieldsBy, getOrAdd, keep, type MergeRules, mergeFields, sum, sumCounts } from '../merge.ts'
import { countsOf } from './ledger/prices.ts'

/** What is compared of two sampled completions: each feature is a vector of at most the length `longest`. */
const features = [
  { name: 'tokens', longest: 1 },
  { name: 'end', longest: Math.SQRT2 },
  { name: 'words', longest: Math.SQRT2 },
] as const
type Feature = (typeof features)[number]['name']
type Vector = ReadonlyMap<string, number>

/** What was sampled for one request. */
export type Sampled = {
  readonly id: number
  readonly call: string
  /** The maximum of the tokens of the completion. */
  readonly most: number
  /** null: not all of it is known. */
  readonly sample: Sample | null
}
type Sample = { readonly digest: number } & Readonly<Record<Feature, Vector>>

/** Sums over the pairs of a call that were sent without and with a form, as plain data. */
export type SampledForm = {
  readonly call: string
  readonly form: string
  /** The maximum of the tokens of a completion. */
  readonly most: number
  readonly pairs: number
  /** Pairs of which one completion is not known. */
  readonly lost: number
  readonly ids: readonly number[]
  readonly sums: Readonly<Record<Feature, Sums>>
}

/** The sums of the vectors without and with the form, and of the squared lengths of their differences. */
type Sums = { readonly was: Map<string, number>; readonly is: Map<string, number>; squares: number }

/** At most this probability that a run accuses a target whose completions do not depend on the form. */
const maxChance = 1e-5
/** Groups of words by their hashes. */
const wordGroups = 32
/** Beyond, pairs with another end are not compared. */
const maxEnds = 64
/** Pairs whose texts are remembered; beyond, none are compared. */
const maxPairs = 50_000
/** Requests that a finding cites. */
const maxCited = 8

/** null: the request asks for no sampled completion. */
export function sampledOf(observation: Observation): Sampled | null {
  const { id, call, request } = observation
  if (!isChat(request) || isDeterministic(request.options)) return null
  const { maxCompletionTokens: most } = request
  return { id, call, most, sample: sampleOf(observation, most) }
}

function sampleOf(observation: Observation, most: number): Sample | null {
  const { response, outcome } = observation
  if (response === null || outcome.kind !== 'answered') return null
  const [answer, another] = answersIn(response)
  const tokens = countsOf(observation)?.completion ?? null
  if (answer === undefined || another !== undefined || answer.beginning === null || tokens === null) return null
  const words = answer.beginning.split(/\s+/).filter(word => word !== '')
  const shares = new Map<string, number>()
  for (const word of words) addCount(shares, `${(textHash(word) >>> 0) % wordGroups}`, 1 / words.length)
  return {
    digest: textHash(`${tokens} ${answer.finish} ${answer.beginning}`),
    tokens: new Map([['', Math.min(1, tokens / most)]]),
    end: new Map([[String(answer.finish), 1]]),
    words: shares,
  }
}

/** Adds up the pairs of requests without and with a form. */
export function createSampledForms(): {
  readonly add: (form: string, was: Sampled, is: Sampled) => void
  readonly forms: () => readonly SampledForm[]
} {
  const forms = new Map<string, SampledForm>()
  const known = new Set<string>()
  return {
    add: (form, was, is) => {
      const name = `${was.call} ${form}`
      const own = getOrAdd(forms, name, () => emptyForm(was.call, form, was.most))
      const pair = pairOf(own, was, is)
      if (was.sample !== null && is.sample !== null) {
        // A target that repeats its answers to a prompt has sampled them once. In whichever order they come.
        const digests = [was.sample.digest, is.sample.digest].toSorted((a, b) => a - b).join()
        const isRepeated = known.has(`${name} ${digests}`)
        if (isRepeated || known.size >= maxPairs || hasTooManyEnds(own, pair)) return
        known.add(`${name} ${digests}`)
      }
      mergeFields(own, pair, rules)
    },
    forms: () => [...forms.values()],
  }
}

const hasTooManyEnds = ({ sums }: SampledForm, pair: SampledForm): boolean =>
  sums.end.was.size + sums.end.is.size + pair.sums.end.was.size + pair.sums.end.is.size > maxEnds

function pairOf({ call, form, most }: SampledForm, was: Sampled, is: Sampled): SampledForm {
  const empty = emptyForm(call, form, most)
  if (was.sample === null || is.sample === null) return { ...empty, lost: 1 }
  const [first, other] = [was.sample, is.sample]
  const of = (feature: Feature): Sums => ({
    was: new Map(first[feature]),
    is: new Map(other[feature]),
    squares: squaredDistance(first[feature], other[feature]),
  })
  const sums = { tokens: of('tokens'), end: of('end'), words: of('words') }
  return { ...empty, pairs: 1, ids: [was.id, is.id], sums }
}

const differences = (was: Vector, is: Vector): readonly (readonly [name: string, more: number])[] =>
  [...new Set([...was.keys(), ...is.keys()])].map(name => [name, (is.get(name) ?? 0) - (was.get(name) ?? 0)])

const squaredDistance = (was: Vector, is: Vector): number =>
  differences(was, is).reduce((total, [, more]) => total + more ** 2, 0)

const emptySums = (): Sums => ({ was: new Map(), is: new Map(), squares: 0 })
const emptyForm = (call: string, form: string, most: number): SampledForm => ({
  ...{ call, form, most, pairs: 0, lost: 0, ids: [] },
  sums: { tokens: emptySums(), end: emptySums(), words: emptySums() },
})

const addSums = fieldsBy<Sums, Sums>({ was: sumCounts, is: sumCounts, squares: sum })

const rules: MergeRules<SampledForm> = {
  call: keep,
  form: keep,
  most: keep,
  pairs: sum,
  lost: sum,
  ids: (own, part) => (own.length < maxCited ? [...own, ...part].slice(0, maxCited) : own),
  sums: fieldsBy<SampledForm['sums'], SampledForm['sums']>({ tokens: addSums, end: addSums, words: addSums }),
}

/**
 * Judges the completions of all workers. If the form decides nothing, each pair could as well have come the other way
 * round, so the sum of their differences has random signs. Its length exceeds √(2 · squares · ln(2 ÷ p)) with a
 * probability of at most p (Pinelis, Optimum bounds for the distributions of martingales in Banach spaces, 1994).
 */
export function judgeSampledForms(all: readonly SampledForm[], reporter: ClauseReporter<'twins'>): void {
  const forms = new Map<string, SampledForm>()
  for (const part of all)
    mergeFields(
      getOrAdd(forms, `${part.call} ${part.form}`, () => emptyForm(part.call, part.form, part.most)),
      part,
      rules,
    )
  const compared = [...forms.values()].filter(({ pairs }) => pairs > 0)
  const bound = 2 * Math.log((2 * compared.length * features.length) / maxChance)
  for (const form of compared) {
    const { pairs, ids } = form
    if (pairs < bound) {
      const text = `chance explains any difference of fewer than ${Math.ceil(bound)} pairs, expected more of each form`
      reporter.unjudged('twin.sampled', { text, clause: null })
      continue
    }
    const wrong = features.find(feature => isBeyondChance(form, feature, bound))
    if (wrong === undefined) reporter.pass('twin.sampled')
    else
      reporter.fail(
        'twin.sampled',
        `${differenceIn(form, wrong.name)}, which chance does in less than 1 of 100,000 runs`,
        ids,
      )
  }
}

/** The pairs that are lost may have differed as much as two completions can, in the other direction. */
function isBeyondChance({ sums, lost }: SampledForm, { name, longest }: (typeof features)[number], bound: number) {
  const { was, is, squares } = sums[name]
  const length = Math.sqrt(squaredDistance(was, is)) - lost * longest
  return length > 0 && length ** 2 > bound * (squares + lost * longest ** 2)
}

function differenceIn({ sums, form, pairs, most }: SampledForm, feature: Feature): string {
  const { was, is } = sums[feature]
  const ofAll = differences(was, is).toSorted((a, b) => Math.abs(b[1]) - Math.abs(a[1]))
  const name = ofAll[0]?.[0] ?? ''
  const mean = (vector: Vector) => (vector.get(name) ?? 0) / pairs
  const tokens = (vector: Vector) => (mean(vector) * most).toFixed(1)
  const percent = (vector: Vector) => `${(mean(vector) * 100).toFixed(1)} %`
  const asked = `${pairs} completions in the form ${form}`
  switch (feature) {
    case 'tokens':
      return `${asked} have ${tokens(is)} tokens in the mean, expected ${tokens(was)} as without it`
    case 'end':
      return `${percent(is)} of ${asked} end with ${quote(name)}, expected ${percent(was)} as without it`
    case 'words':
      return `a group of words is ${percent(is)} of the text of ${asked}, expected ${percent(was)} as without it`
  }
}
