import { isWholeNumber } from '../lib/number-text.ts'
import type { Observation } from '../observation/observation.ts'
import type { Timeline, Track } from './timeline.ts'

/** What one caller used of one limit over time, as the answers said, and when it was refused. */
export type LimitLane = {
  readonly caller: string
  /** `chat:<model>` or `rpc`. */
  readonly scope: string
  /** As the answers said; null where they did not. */
  readonly limit: number | null
  /** Most requests of the window that were used by then; null: no answer said so. */
  readonly used: readonly (number | null)[]
  /** When a 429 came, and to which request: the first `mostRefusals`. */
  readonly refusedMs: readonly number[]
  readonly refusedSeqs: readonly number[]
}

export type LimitLanes = {
  readonly add: (o: Observation) => void
  /** Those that were refused first, then those that used most of their limit. */
  readonly lanes: () => readonly LimitLane[]
}

const mostLanes = 128
const mostShown = 24
const mostRefusals = 200

type Lane = {
  readonly caller: string
  readonly scope: string
  readonly used: Track
  readonly refusedMs: number[]
  readonly refusedSeqs: number[]
  limit: number | null
  share: number
}

export function createLimitLanes(timeline: Timeline): LimitLanes {
  const lanes = new Map<string, Map<string, Lane>>()
  let count = 0

  function laneOf({ caller, asked }: Observation): Lane | null {
    if (asked.kind !== 'chat' && asked.kind !== 'rpc') return null
    const key = asked.kind === 'chat' ? asked.model : ''
    const ofCaller = lanes.get(caller)
    const known = ofCaller?.get(key)
    if (known !== undefined) return known
    if (count >= mostLanes) return null
    count++
    const lane: Lane = {
      caller,
      scope: asked.kind === 'chat' ? `chat:${asked.model}` : 'rpc',
      // One more than was used, so that nothing is told from none.
      used: timeline.maxima(),
      refusedMs: [],
      refusedSeqs: [],
      limit: null,
      share: 0,
    }
    lanes.set(caller, (ofCaller ?? new Map<string, Lane>()).set(key, lane))
    return lane
  }

  return {
    add: o => {
      const shownMs = o.headersMs ?? o.endMs
      if (o.answer === null || shownMs === null) return
      const lane = laneOf(o)
      if (lane === null) return
      if (o.answer.status === 429 && lane.refusedMs.length < mostRefusals) {
        lane.refusedMs.push(Math.round(shownMs))
        lane.refusedSeqs.push(o.seq)
      }
      const limit = wholeNumber(o.answer.headers['x-ratelimit-limit-requests'])
      const remaining = wholeNumber(o.answer.headers['x-ratelimit-remaining-requests'])
      if (limit === null || remaining === null || limit === 0) return
      const used = Math.max(0, limit - remaining)
      const column = timeline.columnOf(shownMs)
      if (column >= 0) lane.used.put(column, used + 1)
      lane.limit = limit
      lane.share = Math.max(lane.share, used / limit)
    },
    lanes: () => {
      const columns = Array.from({ length: timeline.columns() }, (_, column) => column)
      return [...lanes.values()]
        .flatMap(ofCaller => [...ofCaller.values()])
        .toSorted((a, b) => b.refusedMs.length - a.refusedMs.length || b.share - a.share)
        .slice(0, mostShown)
        .map(({ caller, scope, limit, used, refusedMs, refusedSeqs }) => ({
          caller,
          scope,
          limit,
          used: columns.map(column => (used.at(column) === 0 ? null : used.at(column) - 1)),
          refusedMs: [...refusedMs],
          refusedSeqs: [...refusedSeqs],
        }))
    },
  }
}

const mostDigits = 9

const wholeNumber = (text: string | undefined): number | null =>
  text !== undefined && text.length <= mostDigits && isWholeNumber(text) ? Number(text) : null
