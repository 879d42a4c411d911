import type { ClauseId } from '../../contract/clauses.ts'

/** What prevented the judgement of a clause, although a response put it to the test. */
export type Obstacle = {
  /** A short sentence without a period. */
  readonly text: string
  /** The clause whose violation is the cause; null: none is. */
  readonly clause: ClauseId | null
}

/** Obstacles by clause, with how often each was met. Plain data. */
export type ObstacleSnapshot = ReadonlyMap<ClauseId, readonly (Obstacle & { readonly count: number })[]>

export type ObstacleLog = {
  readonly add: (clause: ClauseId, obstacle: Obstacle, count?: number) => void
  /** The most frequent one first. */
  readonly of: (clause: ClauseId) => readonly (Obstacle & { readonly count: number })[]
  readonly snapshot: () => ObstacleSnapshot
}

/** Distinct obstacles that are kept of a clause. */
const maxObstacles = 8

export function createObstacleLog(): ObstacleLog {
  const met = new Map<ClauseId, (Obstacle & { count: number })[]>()
  const of = (clause: ClauseId) => (met.get(clause) ?? []).toSorted((a, b) => b.count - a.count)
  return {
    add: (clause, { text, clause: cause }, count = 1) => {
      let ofClause = met.get(clause)
      if (ofClause === undefined) {
        ofClause = []
        met.set(clause, ofClause)
      }
      for (const known of ofClause)
        if (known.text === text && known.clause === cause) {
          known.count += count
          return
        }
      if (ofClause.length < maxObstacles) ofClause.push({ text, clause: cause, count })
    },
    of,
    snapshot: () => new Map([...met.keys()].map(clause => [clause, of(clause)])),
  }
}
