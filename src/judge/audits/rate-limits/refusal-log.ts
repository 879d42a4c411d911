import { toObject } from '../../../lib/json.ts'
import type { Observation } from '../../../observation/observation.ts'
import { isAbuseBlock, isConcurrencyRejection, jsonObject } from '../../../observation/response.ts'
import type { Say } from '../../checks/findings.ts'
import type { AuditContext } from '../audit.ts'
import { type ClockOffset, clockResolutionMs } from './resets.ts'

/** A request that a log shows, or may show: one without an answer can have been refused unseen. */
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

/** More refusals of a caller than this are not remembered, and then its log is not judged. */
const maxRefused = 500

const limitTypes = ['RPM', 'TPM', 'RPD']

/** Holds the last log of rate limits that each caller saw against the refusals of the run. */
export function createRefusalLogCheck(
  { contract, shared, startedAtMs }: AuditContext,
  offset: () => ClockOffset,
  say: Say<'rate-limits'>,
): { readonly add: (observation: Observation) => void; readonly finish: () => void } {
  const accounts = new Map<string, CallerLog>()
  const accountOf = (caller: string): CallerLog => {
    const account = accounts.get(caller) ?? { refused: [], log: null, isForgetful: false }
    accounts.set(caller, account)
    return account
  }
  const named = new Set([...contract.models.map(({ id }) => id), contract.limitLogs.rpcId])
  let firstSentMs: number | null = null

  return {
    add: observation => {
      const { request, response, sentMs, endMs, caller, id } = observation
      if (sentMs === null || endMs === null) return
      firstSentMs ??= sentMs
      if (request.kind === 'rate-limit-logs' && response?.status === 200) {
        const data = jsonObject(response)?.data
        const rows = rowsOf(data, contract.limitLogs.rows)
        const isFull = Array.isArray(data) && data.length === contract.limitLogs.rows
        accountOf(caller).log = rows && { id, sentMs, rows, isFull }
      }
      if (response !== null && response.status !== 429) return
      const name = request.kind === 'chat' ? request.model : request.kind === 'rpc' ? contract.limitLogs.rpcId : ''
      const isCertain =
        name !== '' &&
        response !== null &&
        !isAbuseBlock(response, contract) &&
        !isConcurrencyRejection(response, contract)
      const account = accountOf(caller)
      account.refused.push({ id, name, sentMs, endMs, isCertain })
      if (account.refused.length <= maxRefused) return
      account.refused.shift()
      account.isForgetful = true
    },
    finish: () => {
      for (const account of accounts.values())
        if (account.log !== null && !account.isForgetful) judge(account, account.log)
    },
  }

  function judge({ refused }: CallerLog, log: RefusalLog) {
    const { min, max } = offset()
    const open = new Set(refused)
    const runBeganMs = startedAtMs + (firstSentMs ?? 0) + max + clockResolutionMs
    const isOf = ({ name, atMs }: RefusalRow, each: Refused) =>
      (each.name === name || !each.isCertain) &&
      atMs >= startedAtMs + each.sentMs + min - clockResolutionMs &&
      atMs <= startedAtMs + each.endMs + max + clockResolutionMs

    for (const row of log.rows.toSorted((a, b) => a.atMs - b.atMs)) {
      const able = [...open].filter(each => isOf(row, each))
      // Of those that it can be, the one that can be in the fewest of the rows to come.
      const [found] = able.toSorted((a, b) => Number(b.isCertain) - Number(a.isCertain) || a.endMs - b.endMs)
      if (found !== undefined) open.delete(found)
      else if (shared || row.atMs < runBeganMs || !named.has(row.name)) continue
      else {
        const message = `the log shows that a request of ${row.name} was refused at ${new Date(row.atMs).toISOString()}, expected it to show those of the run alone`
        say.broken('logs.no-phantom', message, [log.id])
        continue
      }
      say.kept('logs.no-phantom')
    }
    if (log.isFull) return
    for (const each of refused) {
      if (!each.isCertain || each.endMs + contract.billing.settleMs > log.sentMs) continue
      if (!open.has(each)) say.kept('logs.shows-429')
      else
        say.broken('logs.shows-429', `a refused request of ${each.name} is not in the log, expected it to be`, [
          each.id,
          log.id,
        ])
    }
  }
}

/** Null where the list is not as it should be, which has a clause of its own. Rows of other limits are left out. */
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
