import type { ClauseId } from '../../contract/clauses.ts'

/** Something that a violation did not hide: its true size, between two bounds. */
export type Measured = {
  /** Such as `The block lasted`. */
  readonly what: string
  readonly min: number
  /** null: without an upper bound. */
  readonly max: number | null
  /** `s` for seconds, or a noun in the plural. */
  readonly unit: string
  readonly documented: number
}

type MeasuredSum = Measured & { readonly varied: boolean }

/** What was measured, by clause. Plain data. */
export type MeasuredSnapshot = ReadonlyMap<ClauseId, readonly MeasuredSum[]>

export type MeasuredLog = {
  readonly add: (clause: ClauseId, measured: Measured) => void
  readonly merge: (snapshot: MeasuredSnapshot) => void
  /** Sentences; null: nothing was measured. */
  readonly of: (clause: ClauseId) => string | null
  readonly snapshot: () => MeasuredSnapshot
}

/** Measurements of the same thing narrow each other, as long as they agree. */
export function createMeasuredLog(): MeasuredLog {
  const sums = new Map<ClauseId, Map<string, MeasuredSum>>()
  const addSum = (clause: ClauseId, sum: MeasuredSum) => {
    const ofClause = sums.get(clause) ?? new Map<string, MeasuredSum>()
    sums.set(clause, ofClause)
    const known = ofClause.get(sum.what)
    ofClause.set(sum.what, known === undefined ? sum : combined(known, sum))
  }
  return {
    add: (clause, measured) => addSum(clause, { ...measured, varied: false }),
    merge: snapshot => {
      for (const [clause, all] of snapshot) for (const sum of all) addSum(clause, sum)
    },
    of: clause => {
      const sentences = [...(sums.get(clause)?.values() ?? [])].map(describe)
      return sentences.length === 0 ? null : sentences.join(' ')
    },
    snapshot: () => new Map([...sums].map(([clause, all]) => [clause, [...all.values()]])),
  }
}

/** A violation is about what contradicts the document. What agrees with it comes from other cases. */
const isWrong = (sum: MeasuredSum): boolean => sum.documented < sum.min || sum.documented > upper(sum)

const upper = ({ max }: Measured): number => max ?? Number.POSITIVE_INFINITY
const bounded = (max: number): number | null => (max === Number.POSITIVE_INFINITY ? null : max)

function combined(a: MeasuredSum, b: MeasuredSum): MeasuredSum {
  if (isWrong(a) !== isWrong(b)) return isWrong(a) ? a : b
  const [min, max] = [Math.max(a.min, b.min), Math.min(upper(a), upper(b))]
  if (!a.varied && !b.varied && min <= max) return { ...a, min, max: bounded(max) }
  return { ...a, min: Math.min(a.min, b.min), max: bounded(Math.max(upper(a), upper(b))), varied: true }
}

function describe({ what, min, max, unit, documented, varied }: MeasuredSum): string {
  const shown = (value: number) => (unit === 's' ? `${value.toFixed(1)} s` : `${value} ${unit}`)
  const range = max === null ? `at least ${shown(min)}` : `between ${shown(min)} and ${shown(max)}`
  const size = min === max ? shown(min) : range
  return `${what} ${size}${varied ? ' at different times' : ''}, documented ${unit === 's' ? `${documented} s` : shown(documented)}.`
}
