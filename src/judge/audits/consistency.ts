import { isDeepStrictEqual } from 'node:util'
import { quote } from '../../lib/format.ts'
import { toObject } from '../../lib/json.ts'
import type { Observation } from '../../observation/observation.ts'
import { isChat } from '../../observation/requests/chat.ts'
import { isRpc } from '../../observation/requests/rpc.ts'
import { is2xx, isFromGateway } from '../../observation/response.ts'
import { itemsOf, pageHeaders } from '../checks/resources.ts'
import { addLength, areUsual, noLengths, shownText, type TextLengths } from '../checks/shown-text.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import { getOrAdd } from '../merge.ts'
import type { Audit, AuditContext } from './audit.ts'

/** Clocks may differ, and a time zone may be misread. Both are less than a day. */
const dayMs = 86_400_000
/** Clocks that differ by more than a day must do so by the same time throughout. */
const maxDriftMs = 60_000
/** Busy servers reuse a Date for some seconds. */
const maxReuseMs = 30_000
/** The clocks of several servers of one service agree better than this. */
const maxApartMs = 600_000
const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const
/** A target can invent any number of models. */
const maxModels = 1_000

/** Compares responses with other responses and with the clock of the run. */
export function createConsistencyAudit(
  { contract, startedAtMs }: AuditContext,
  reporter: ClauseReporter<'consistency'>,
): Audit & { readonly names: () => ModelNames } {
  const idHeader = `${contract.headerPrefix}model-id`
  const nameHeader = `${contract.headerPrefix}model-name`
  const names = new Map<string, FirstName>()
  const texts = new Map<string, ModelTexts>()
  const pages = new Map<string, Page>()
  let offsetMs: number | null = null
  let stamp = ''
  let stampMs = Number.NaN
  /** When a response had this Date first. */
  let stampedAtMs: number | null = null
  /** The correct day of the week for a Date; null if the Date has it, or names no day. */
  let weekday: string | null = null
  /** By how much the Date of completions and calls, which no cache answers, is off. */
  let usualOffsetMs: number | null = null
  /** Those whose Date is off otherwise, until another response shows that it was not the clock of the run that jumped. */
  let suspects: (readonly [id: number, message: string])[] = []

  return {
    add: observation => {
      const { response } = observation
      if (response === null || isFromGateway(response, contract)) return
      judgeDate(observation, response.headers.date ?? '')
      if (isChat(observation.request) || isRpc(observation.request))
        compareDate(observation, response.headers.date ?? '')
      addText(observation)
      addPage(observation)
      const modelId = response.headers[idHeader]
      const name = response.headers[nameHeader]
      if (modelId && name && is2xx(response.status)) judgeName(modelId, name, observation.id)
    },
    finish: () => {
      for (const known of texts.values()) judgeTexts(known, reporter)
    },
    names: () => names,
  }

  /** A Date that is hours away from those of the other responses is not the time of its response. */
  function compareDate({ sentMs, headersMs, id }: Observation, date: string) {
    const dateMs = date === stamp ? stampMs : Number.NaN
    if (Number.isNaN(dateMs) || sentMs === null || headersMs === null) return
    const offsetMs = dateMs - startedAtMs - headersMs
    usualOffsetMs ??= offsetMs
    const aheadMs = offsetMs - usualOffsetMs
    if (aheadMs > maxApartMs || aheadMs + headersMs - sentMs < -maxApartMs) {
      const minutes = Math.round(Math.abs(aheadMs) / 60_000)
      const message = `date is ${quote(date)}, ${minutes} minutes ${aheadMs > 0 ? 'after' : 'before'} the Date of other responses at that time, expected the time of the response`
      if (suspects.length < maxKept) suspects.push([id, message])
    } else {
      for (const [suspect, message] of suspects) reporter.fail('header.date.instant', message, [suspect])
      suspects = []
    }
  }

  function judgeDate({ sentMs, headersMs, id }: Observation, date: string) {
    if (date !== stamp) {
      stamp = date
      stampedAtMs = headersMs
      stampMs = Date.parse(date)
      const right = weekdays[new Date(stampMs).getUTCDay()] ?? null
      weekday = /^[A-Z][a-z]{2},/.test(date) && !date.startsWith(`${right},`) ? right : null
    }
    // Another clause judges whether it is a date.
    if (Number.isNaN(stampMs) || headersMs === null) return
    if (weekday !== null)
      return reporter.fail('header.date.instant', `date is ${quote(date)}, expected the weekday ${weekday}`, [id])
    // A service may write Date when a request arrives, and take long.
    const reusedMs = (sentMs ?? headersMs) - (stampedAtMs ?? headersMs)
    if (reusedMs > Math.max(maxReuseMs, contract.limits.dateAgeMs)) {
      const message = `date is still ${quote(date)} after ${Math.round(reusedMs / 1000)} s, expected the time of the response`
      return reporter.fail('header.date.instant', message, [id])
    }
    const nowMs = startedAtMs + headersMs
    // If all responses agree, our own clock may be wrong.
    offsetMs ??= stampMs - nowMs
    if (Math.abs(stampMs - nowMs) <= dayMs || Math.abs(stampMs - nowMs - offsetMs) <= maxDriftMs)
      return reporter.pass('header.date.instant')
    const message = `date is ${quote(date)} at ${new Date(nowMs).toUTCString()}, expected it within a day`
    reporter.fail('header.date.instant', message, [id])
  }

  function addText({ id, request, response, outcome }: Observation) {
    if (!isChat(request) || outcome.kind !== 'answered' || !is2xx(outcome.status)) return
    if (texts.size >= maxModels && !texts.has(request.model)) return
    const known = getOrAdd(texts, request.model, emptyTexts)
    const shown = shownText(response, request)
    if (shown === null) return
    known.hasReasoning ||= shown.reasoning !== 'none'
    if (shown.tokens < minTokens) return
    const perToken = shown.characters / shown.tokens
    if (perToken > 0) addLength(known.others, perToken)
    else if (shown.finish === 'stop' && known.empty.length < maxKept) known.empty.push([id, shown.tokens])
  }

  /** Two pages of an unchanged list hold no item twice. */
  function addPage({ id, request, response, caller }: Observation) {
    if (request.kind !== 'resource' || response === null || !is2xx(response.status)) return
    const [number, limit, total] = [pageHeaders.page, pageHeaders.limit, pageHeaders.total].map(
      name => response.headers[name],
    )
    const items = itemsOf(response)
    if (number === undefined || items === null || isDeepStrictEqual(items[0], items[1])) return
    if (items.length < 2 && itemId(items[0]) === null) return
    const list = [caller, request.resource, limit, total].join(' ')
    const before = pages.get(list)
    if (before === undefined) {
      if (pages.size < maxModels) pages.set(list, { id, number, items })
    } else if (before.number !== number) {
      if (isDeepStrictEqual(before.items, items)) {
        const message = `page ${quote(number)} has the same ${items.length} items as page ${quote(before.number)}, expected others`
        return reporter.fail('header.pagination.items', message, [before.id, id])
      }
      const ids = new Set(before.items.map(itemId))
      const shared = items.map(itemId).find(itemId => itemId !== null && ids.has(itemId)) ?? null
      if (shared !== null) {
        const message = `page ${quote(number)} has the item ${quote(shared)} of page ${quote(before.number)}, too, expected it once`
        return reporter.fail('header.pagination.items', message, [before.id, id])
      }
      reporter.pass('header.pagination.items')
      // The next page is compared with the last one.
      if (Number(number) > Number(before.number)) pages.set(list, { id, number, items })
    }
  }

  function judgeName(modelId: string, name: string, id: number) {
    const first = names.get(modelId)
    if (first === undefined) {
      if (names.size < maxModels) names.set(modelId, { name, id })
      return
    }
    checkSameName(modelId, first, { name, id }, reporter)
  }
}

/** The texts of the completions of a model that are long enough, in characters per token. */
type ModelTexts = {
  hasReasoning: boolean
  readonly others: TextLengths
  /** Those without a text that no token limit cut: their requests and tokens. */
  readonly empty: [id: number, tokens: number][]
}

const emptyTexts = (): ModelTexts => ({ hasReasoning: false, others: noLengths(), empty: [] })

/** A shorter text has no usual length of a token. */
const minTokens = 16
const maxKept = 1_000

/** A model whose other completions show all of their tokens hides no reasoning that would explain an empty text. */
function judgeTexts({ hasReasoning, others, empty }: ModelTexts, reporter: ClauseReporter<'consistency'>): void {
  if (hasReasoning || !areUsual(others)) return
  const { count, least } = others
  for (const [id, tokens] of empty) {
    const message = `${tokens} completion tokens have no text, expected ${least.toFixed(1)} characters per token or more, as in ${count} other completions of the model`
    reporter.fail('chat.usage.text', message, [id])
  }
}

/** What tells an item of a list from the others; null: nothing that is known. */
function itemId(item: unknown): string | null {
  const { id } = toObject(item) ?? {}
  return typeof id === 'string' || typeof id === 'number' ? String(id) : null
}

/** A page of a list. */
type Page = { readonly id: number; readonly number: string; readonly items: readonly unknown[] }

type FirstName = { readonly name: string; readonly id: number }
/** The first display name of each model, by its id. */
export type ModelNames = ReadonlyMap<string, FirstName>

/** Checks that several workers saw the same display name for each model. */
export function checkNamesAcrossWorkers(all: readonly ModelNames[], reporter: ClauseReporter<'consistency'>): void {
  const firsts = new Map<string, FirstName>()
  for (const [modelId, named] of all.flatMap(names => [...names]).toSorted(([, a], [, b]) => a.id - b.id)) {
    const first = firsts.get(modelId)
    if (first === undefined) firsts.set(modelId, named)
    else checkSameName(modelId, first, named, reporter)
  }
}

function checkSameName(
  modelId: string,
  first: FirstName,
  { name, id }: FirstName,
  reporter: ClauseReporter<'consistency'>,
): void {
  if (first.name === name) {
    reporter.pass('header.model-name.stable')
    return
  }
  const message = `${modelId} is called ${quote(name)}, and was called ${quote(first.name)} before, expected a single name`
  reporter.fail('header.model-name.stable', message, [first.id, id])
}
