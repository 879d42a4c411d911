import { documentedContract } from '../../../../src/contract/documented.ts'
import { createIdempotencyAudit } from '../../../../src/judge/audits/idempotency.ts'
import { createSendOrder } from '../../../../src/judge/audits/send-order.ts'
import { createFindingLog } from '../../../../src/judge/findings/findings.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import type { ReplayRole } from '../../../../src/observation/requests/traits.ts'
import { observed, responseOf, rpcHeaders, singleDescriptor, startedAtMs } from '../checks/observed.ts'

/** A request with the key: its role, its times, and its response. */
export type Use = readonly [role: ReplayRole['role'], fromMs: number, toMs: number, response: Got]
/** A body, fresh or replayed; a rejection; or no response. */
type Got = { readonly body: string; readonly replayed: boolean } | number | 'lost'

export const fresh = (body = 'a'): Got => ({ body, replayed: false })
export const replay = (body = 'a'): Got => ({ body, replayed: true })

/** The requests of one key in the order of their numbers. The first has the id `first`. */
export function observationsOf(uses: readonly Use[], first = 0): readonly Observation[] {
  return uses.map(([role, sentMs, endMs, got], index) => {
    const request = { ...singleDescriptor, replay: { group: first, role, concurrent: false } }
    const caller = role === 'other-caller' ? 'c1' : 'c0'
    const base = { id: first + index, caller, dueMs: sentMs, sentMs, headersMs: endMs, endMs }
    if (got === 'lost') {
      const outcome = { kind: 'failed', reason: 'total-timeout', detail: '' } as const
      return observed(request, null, { ...base, outcome })
    }
    if (typeof got === 'number') return observed(request, responseOf(got, { error: 'No' }, rpcHeaders), base)
    const mark = got.replayed ? { 'idempotent-replayed': 'true' } : {}
    return observed(request, responseOf(200, { body: got.body }, { ...rpcHeaders, ...mark }), base)
  })
}

/** The findings for the observations, and the passed clauses. */
export function judge(
  observations: readonly Observation[],
  idempotency: Partial<typeof documentedContract.idempotency> = {},
) {
  const contract = { ...documentedContract, idempotency: { ...documentedContract.idempotency, ...idempotency } }
  const findingLog = createFindingLog()
  const audit = createIdempotencyAudit({ contract, shared: false, startedAtMs }, findingLog.reporterFor('idempotency'))
  const sendOrder = createSendOrder(audit.add)
  for (const observation of observations.toSorted((a, b) => (a.endMs ?? 0) - (b.endMs ?? 0))) sendOrder.add(observation)
  sendOrder.flush()
  audit.finish(true)
  const pass = findingLog.tallies().flatMap(({ id, judged, violated }) => (judged > violated ? [id] : []))
  return { failed: findingLog.findings().map(({ clause, message }) => [clause, message]), pass }
}
