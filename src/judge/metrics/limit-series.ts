import type { Contract } from '../../contract/contract.ts'
import { statedRequests } from '../../observation/limit-scope.ts'
import type { Observation } from '../../observation/observation.ts'
import { requestTraits } from '../../observation/requests/request.ts'
import type { Timeline, TimeRow } from './timeline.ts'

/** Usage of one limit by one caller over time, as the responses state it, and its rejections. */
export type LimitSeries = {
  readonly caller: string
  /** `chat:<model>` or `rpc`. */
  readonly scope: string
  /** As the responses state it; null: not stated. */
  readonly limit: number | null
  /** The highest usage of the window in each column; null: no response stated it. */
  readonly used: readonly (number | null)[]
  /** Instants and request ids of the first `maxRefusals` responses with 429. */
  readonly refusedMs: readonly number[]
  readonly refusedIds: readonly number[]
}

type LimitSeriesFold = {
  readonly add: (o: Observation) => void
  /** Limits with rejections first, then by their highest usage. */
  readonly series: () => readonly LimitSeries[]
  readonly snapshot: () => readonly LimitSeriesSnapshot[]
  readonly merge: (snapshot: readonly LimitSeriesSnapshot[], columnOf: (theirs: number) => number) => void
}

export type LimitSeriesSnapshot = Omit<MutableLimitSeries, 'used'> & { readonly used: Float64Array }

const maxKept = 128
const maxShown = 24
const maxRefusals = 200

type MutableLimitSeries = {
  readonly caller: string
  /** The model of a chat; empty for the RPC proxy. */
  readonly model: string
  readonly used: TimeRow
  readonly refusedMs: number[]
  readonly refusedIds: number[]
  limit: number | null
  share: number
}

export function createLimitSeries(timeline: Timeline, contract: Pick<Contract, 'limits'>): LimitSeriesFold {
  const allSeries = new Map<string, Map<string, MutableLimitSeries>>()
  let count = 0

  function seriesOf(caller: string, model: string): MutableLimitSeries | null {
    const ofCaller = allSeries.get(caller)
    const known = ofCaller?.get(model)
    if (known !== undefined) return known
    if (count >= maxKept) return null
    count++
    const series: MutableLimitSeries = {
      caller,
      model,
      // Stored plus one, so that 0 means: no value.
      used: timeline.maxima(),
      refusedMs: [],
      refusedIds: [],
      limit: null,
      share: 0,
    }
    allSeries.set(caller, (ofCaller ?? new Map<string, MutableLimitSeries>()).set(model, series))
    return series
  }

  return {
    add: o => {
      const shownMs = o.headersMs ?? o.endMs
      const { request } = o
      const { limiter, subject } = requestTraits(request)
      if (o.response === null || shownMs === null || (limiter !== 'chat' && limiter !== 'rpc')) return
      const series = seriesOf(o.caller, limiter === 'chat' ? subject(request) : '')
      if (series === null) return
      if (o.response.status === 429 && series.refusedMs.length < maxRefusals) {
        series.refusedMs.push(Math.round(shownMs))
        series.refusedIds.push(o.id)
      }
      const { limit, remaining } = statedRequests(o.response.headers, contract)
      if (!isCount(limit) || !isCount(remaining) || limit === 0) return
      const used = Math.max(0, limit - remaining)
      const column = timeline.columnOf(shownMs)
      if (column >= 0) series.used.put(column, used + 1)
      series.limit = limit
      series.share = Math.max(series.share, used / limit)
    },
    series: () => {
      const columns = Array.from({ length: timeline.columns() }, (_, column) => column)
      return all()
        .toSorted((a, b) => b.refusedMs.length - a.refusedMs.length || b.share - a.share || byName(a, b))
        .slice(0, maxShown)
        .map(({ caller, model, limit, used, refusedMs, refusedIds }) => ({
          caller,
          scope: model === '' ? 'rpc' : `chat:${model}`,
          limit,
          used: columns.map(column => (used.at(column) === 0 ? null : used.at(column) - 1)),
          refusedMs: [...refusedMs],
          refusedIds: [...refusedIds],
        }))
    },
    snapshot: () => all().map(series => ({ ...series, used: series.used.snapshot() })),
    merge: (snapshot, columnOf) => {
      for (const { caller, model, used, limit, share, refusedMs, refusedIds } of snapshot) {
        const series = seriesOf(caller, model)
        if (series === null) continue
        series.used.merge(used, columnOf)
        series.limit = limit ?? series.limit
        series.share = Math.max(series.share, share)
        const room = maxRefusals - series.refusedMs.length
        series.refusedMs.push(...refusedMs.slice(0, room))
        series.refusedIds.push(...refusedIds.slice(0, room))
      }
    },
  }

  function all(): readonly MutableLimitSeries[] {
    return [...allSeries.values()].flatMap(ofCaller => [...ofCaller.values()])
  }
}

const maxShownLimit = 999_999_999

const byName = (a: MutableLimitSeries, b: MutableLimitSeries): number =>
  a.caller.localeCompare(b.caller, 'en', { numeric: true }) || a.model.localeCompare(b.model, 'en')

const isCount = (number: number | null): number is number =>
  number !== null && Number.isInteger(number) && number <= maxShownLimit
