import { isAssumed } from '../../../contract/sources.ts'
import { toObject } from '../../../lib/json.ts'
import type { Observation } from '../../../observation/observation.ts'
import { isRefusalLog } from '../../../observation/requests/lists.ts'
import { applicableLimit, requestTraits } from '../../../observation/requests/request.ts'
import { is2xx, isAbuseBlock, isConcurrencyRejection, jsonObject } from '../../../observation/response.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import type { Obstacle } from '../../findings/obstacles.ts'
import { getOrAdd } from '../../merge.ts'
import type { AuditContext } from '../audit.ts'
import { unknownClock } from './hidden.ts'
import { anyOffset, type ClockOffset, clockResolutionMs, isClockKnown } from './resets.ts'

/** A request that a log lists or may list. A request without a response may have been rejected. */
type Refused = {
  readonly id: number
  readonly name: string
  readonly sentMs: number
  readonly endMs: number
  readonly isCertain: boolean
}

type RefusalRow = { readonly name: string; readonly atMs: number }
type RefusalLog = {
  readonly id: number
  readonly sentMs: number
  readonly rows: readonly RefusalRow[]
  readonly isFull: boolean
}
type CallerLog = { refused: Refused[]; log: RefusalLog | null; isForgetful: boolean }

/** Above this number of rejections of a caller, its log is not judged. */
const maxRefused = 500

const clauses = ['logs.shows-429', 'logs.no-phantom'] as const
const unreadable: Obstacle = { text: 'the log is unreadable', clause: 'logs.layout' }
const tooManyRefused: Obstacle = { text: `a caller got more than ${maxRefused} rejections`, clause: null }
const fullLog: Obstacle = { text: 'the log is full, so older rows may be gone', clause: null }
const olderThanLog: Obstacle = { text: 'the log may list only the latest rejections', clause: null }

const limitTypes = ['RPM', 'TPM', 'RPD']

/** Compares the last rate-limit log that each caller received with the rejections of the run. */
export function createRefusalLogCheck(
  { contract, shared, startedAtMs }: AuditContext,
  offset: () => ClockOffset,
  reporter: ClauseReporter<'rate-limits'>,
): { readonly add: (observation: Observation) => void; readonly finish: () => void } {
  const accounts = new Map<string, CallerLog>()
  const accountOf = (caller: string): CallerLog =>
    getOrAdd(accounts, caller, () => ({ refused: [], log: null, isForgetful: false }))
  const named = new Set([...contract.models.map(({ id }) => id), contract.limitLogs.rpcId])
  // Another service may list fewer or more rows, and may name its limits as it likes.
  const isOpen = isAssumed(contract, 'limitLogs')
  const most = isOpen ? Number.POSITIVE_INFINITY : contract.limitLogs.rows
  let firstSentMs: number | null = null

  return {
    add: observation => {
      const { request, response, sentMs, endMs, caller, id, outcome } = observation
      if (sentMs === null || endMs === null) return
      firstSentMs ??= sentMs
      if (isRefusalLog(request) && response !== null && is2xx(response.status)) {
        const data = jsonObject(response)?.data
        const rows = rowsOf(data, most)
        const isFull = Array.isArray(data) && data.length === most
        accountOf(caller).log = rows && { id, sentMs, rows, isFull }
        if (rows === null) for (const clause of clauses) reporter.unjudged(clause, unreadable)
      }
      if (response !== null && response.status !== 429) return
      // It is open what counts a probe.
      const drawn = requestTraits(request).limiter === null ? null : applicableLimit(observation, contract)
      const name = drawn?.loggedAs ?? ''
      const isCertain =
        name !== '' &&
        response !== null &&
        outcome.kind === 'answered' &&
        !isAbuseBlock(response, contract) &&
        !isConcurrencyRejection(response, contract)
      const account = accountOf(caller)
      account.refused.push({ id, name, sentMs, endMs, isCertain })
      if (account.refused.length <= maxRefused) return
      account.refused.shift()
      account.isForgetful = true
    },
    finish: () => {
      for (const account of accounts.values()) {
        if (account.log === null) continue
        if (!account.isForgetful) judge(account, account.log)
        else for (const clause of clauses) reporter.unjudged(clause, tooManyRefused)
      }
    },
  }

  function judge({ refused }: CallerLog, log: RefusalLog) {
    // Without the target's clock, only the number of rows says something.
    const isKnown = isClockKnown(offset())
    const { min, max } = isKnown ? offset() : anyOffset
    if (!isKnown) reporter.unjudged('logs.no-phantom', unknownClock)
    const open = new Set(refused)
    const runBeganMs = startedAtMs + (firstSentMs ?? 0) + max + clockResolutionMs
    // The document does not say how the log names the RPC proxy.
    const mayName = (row: string, name: string) =>
      row === name || ((isOpen || name === contract.limitLogs.rpcId) && !named.has(row))
    const isOf = ({ name, atMs }: RefusalRow, each: Refused) =>
      (mayName(name, each.name) || !each.isCertain) &&
      atMs >= startedAtMs + each.sentMs + min - clockResolutionMs &&
      atMs <= startedAtMs + each.endMs + max + clockResolutionMs

    // The latest rows first, since a log may lack the oldest. A row with an unknown name gets what the others leave.
    const isUnknown = ({ name }: RefusalRow) => Number(!named.has(name))
    for (const row of log.rows.toSorted((a, b) => isUnknown(a) - isUnknown(b) || b.atMs - a.atMs)) {
      const candidates = [...open].filter(each => isOf(row, each))
      // Of the matching requests, takes the one that matches the fewest remaining rows.
      const [found] = candidates.toSorted((a, b) => Number(b.isCertain) - Number(a.isCertain) || b.sentMs - a.sentMs)
      if (found !== undefined) open.delete(found)
      else if (shared || row.atMs < runBeganMs || !named.has(row.name)) continue
      else {
        const message = `the log lists a rejected request of ${row.name} at ${new Date(row.atMs).toISOString()}, expected only rejections of the run`
        reporter.fail('logs.no-phantom', message, [log.id])
        continue
      }
      reporter.pass('logs.no-phantom')
    }
    const oldest = isOpen ? log.rows.toSorted((a, b) => a.atMs - b.atMs)[0] : undefined
    const mayBeOlder = ({ sentMs }: Refused) =>
      oldest !== undefined && startedAtMs + sentMs + min - clockResolutionMs <= oldest.atMs
    if (log.isFull) return reporter.unjudged('logs.shows-429', fullLog)
    for (const each of refused) {
      if (!each.isCertain || each.endMs + contract.billing.settleMs > log.sentMs) continue
      if (!open.has(each)) reporter.pass('logs.shows-429')
      else if (mayBeOlder(each)) reporter.unjudged('logs.shows-429', olderThanLog)
      else
        reporter.fail(
          'logs.shows-429',
          `a rejected request of ${each.name} is not in the log, expected the log to list it`,
          [each.id, log.id],
        )
    }
  }
}

/**
 * The rows of the log; null if the list is malformed, which violates another clause. Rows of other limits are left out.
 */
function rowsOf(data: unknown, max: number): readonly RefusalRow[] | null {
  if (!Array.isArray(data) || data.length > max) return null
  const rows: RefusalRow[] = []
  for (const row of data.map(toObject)) {
    const { modelId, rateLimitType, timestamp } = row ?? {}
    const atMs = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN
    if (typeof modelId !== 'string' || typeof rateLimitType !== 'string' || Number.isNaN(atMs)) return null
    if (limitTypes.includes(rateLimitType)) rows.push({ name: modelId, atMs })
  }
  return rows
}
