import { isWholeNumber } from '../lib/numbers.ts'
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
  readonly facts: () => readonly LaneFacts[]
  readonly absorb: (facts: readonly LaneFacts[], columnOf: (theirs: number) => number) => void
}

export type LaneFacts = Omit<Lane, 'used'> & { readonly used: Float64Array }

const mostLanes = 128
const mostShown = 24
const mostRefusals = 200

type Lane = {
  readonly caller: string
  /** The model that a chat names; nothing of what the RPC proxy limits. */
  readonly model: string
  readonly used: Track
  readonly refusedMs: number[]
  readonly refusedSeqs: number[]
  limit: number | null
  share: number
}

export function createLimitLanes(timeline: Timeline): LimitLanes {
  const lanes = new Map<string, Map<string, Lane>>()
  let count = 0

  function laneOf(caller: string, model: string): Lane | null {
    const ofCaller = lanes.get(caller)
    const known = ofCaller?.get(model)
    if (known !== undefined) return known
    if (count >= mostLanes) return null
    count++
    const lane: Lane = {
      caller,
      model,
      // One more than was used, so that nothing is told from none.
      used: timeline.maxima(),
      refusedMs: [],
      refusedSeqs: [],
      limit: null,
      share: 0,
    }
    lanes.set(caller, (ofCaller ?? new Map<string, Lane>()).set(model, lane))
    return lane
  }

  return {
    add: o => {
      const shownMs = o.headersMs ?? o.endMs
      const { asked } = o
      if (o.answer === null || shownMs === null || (asked.kind !== 'chat' && asked.kind !== 'rpc')) return
      const lane = laneOf(o.caller, asked.kind === 'chat' ? asked.model : '')
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
      return all()
        .toSorted((a, b) => b.refusedMs.length - a.refusedMs.length || b.share - a.share || byName(a, b))
        .slice(0, mostShown)
        .map(({ caller, model, limit, used, refusedMs, refusedSeqs }) => ({
          caller,
          scope: model === '' ? 'rpc' : `chat:${model}`,
          limit,
          used: columns.map(column => (used.at(column) === 0 ? null : used.at(column) - 1)),
          refusedMs: [...refusedMs],
          refusedSeqs: [...refusedSeqs],
        }))
    },
    facts: () => all().map(lane => ({ ...lane, used: lane.used.facts() })),
    absorb: (facts, columnOf) => {
      for (const { caller, model, used, limit, share, refusedMs, refusedSeqs } of facts) {
        const lane = laneOf(caller, model)
        if (lane === null) continue
        lane.used.absorb(used, columnOf)
        lane.limit = limit ?? lane.limit
        lane.share = Math.max(lane.share, share)
        const room = mostRefusals - lane.refusedMs.length
        lane.refusedMs.push(...refusedMs.slice(0, room))
        lane.refusedSeqs.push(...refusedSeqs.slice(0, room))
      }
    },
  }

  function all(): readonly Lane[] {
    return [...lanes.values()].flatMap(ofCaller => [...ofCaller.values()])
  }
}

const mostDigits = 9

const byName = (a: Lane, b: Lane): number =>
  a.caller.localeCompare(b.caller, 'en', { numeric: true }) || a.model.localeCompare(b.model, 'en')

const wholeNumber = (text: string | undefined): number | null =>
  text !== undefined && text.length <= mostDigits && isWholeNumber(text) ? Number(text) : null
