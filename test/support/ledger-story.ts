import { documentedContract } from '../../src/contract/documented.ts'
import { type Audits, createAudits } from '../../src/judge/audits/audits.ts'
import { createFindingLog } from '../../src/judge/findings/findings.ts'
import { pico } from '../../src/lib/money.ts'
import type { Observation, ObservedResponse } from '../../src/observation/observation.ts'
import type { RequestDescriptor } from '../../src/observation/requests/request.ts'

/**
 * The requests of one account, as text: `statement; call 0.0000125; replay 0.0000125; refusal; statement`. Between
 * steps, the balance has time to settle; requests joined by `&` are concurrent. `balances` are those in the responses,
 * in the order of the requests. A charge is the cost that the response states.
 */
export type Story = {
  readonly steps: string
  readonly balances: readonly string[]
  /** Whether the account is that of a wallet, which may pay: `payment 5`. */
  readonly isWallet?: boolean
}

export type Outcome = {
  readonly billing: ReturnType<Audits['billing']>
  /** The clauses that the ledger fails. */
  readonly failed: readonly string[]
}

const noon = Date.UTC(2026, 0, 15, 12)
const tookMs = 400

export function judgeStory({ steps, balances, isWallet = false }: Story): Outcome {
  const findingLog = createFindingLog()
  const audits = createAudits({ contract: documentedContract, shared: false, startedAtMs: noon }, findingLog)
  const restMs = documentedContract.billing.settleMs + 2 * tookMs
  const together = steps.split(';').map(step => step.split('&').map(request => request.trim()))
  const sent = together.flatMap((requests, step) =>
    requests.map((request, index) => ({ request, sentMs: step * restMs + index * 10 })),
  )
  for (const [id, { request, sentMs }] of sent.entries())
    audits.add({
      ...observationOf(request, id, sentMs, balances[id] ?? ''),
      ...(isWallet && { chain: 'base' }),
    })
  audits.finish(true)
  return { billing: audits.billing(), failed: findingLog.findings().map(({ clause }) => clause) }
}

/** Statuses of payments by their outcome; null: no response. */
const paymentStatuses: Readonly<Record<string, number | null>> = {
  payment: 200,
  'payment-refused': 400,
  'payment-replayed': 400,
  'payment-unanswered': null,
}

const aPayment = (kind: string, usd: string): RequestDescriptor => {
  const payment = { id: 'w0/1', usd, amount: '0', payTo: '0x', isAgain: kind === 'payment-replayed' }
  return { kind: 'top-up', step: 'payment', chain: 'base', address: '0x', payment }
}

const aCall: RequestDescriptor = {
  kind: 'rpc',
  network: 'ethereum-mainnet',
  batch: false,
  items: [{ id: 1, method: 'eth_blockNumber', failing: false }],
  replay: null,
}

/** Another story tells its first use. */
const aReplay: RequestDescriptor = { ...aCall, replay: { group: 0, role: 'late-repeat', concurrent: false } }

/** The requests that are no payments; all others are calls. */
const requests: Readonly<Record<string, RequestDescriptor>> = { statement: { kind: 'rate-limits' }, replay: aReplay }

function observationOf(request: string, id: number, sentMs: number, balance: string): Observation {
  const [kind = '', costUsd = '0'] = request.split(' ')
  const paid = paymentStatuses[kind]
  const status = kind === 'refusal' ? 400 : (paid ?? 200)
  const endMs = sentMs + tookMs
  return {
    id,
    seq: id,
    stage: 'story',
    call: kind,
    caller: 'c0',
    key: 0,
    accountTier: 'default',
    request: paid === undefined ? (requests[kind] ?? aCall) : aPayment(kind, costUsd),
    dueMs: sentMs,
    sentMs,
    headersMs: endMs,
    endMs,
    outcome: paid === null ? { kind: 'failed', reason: 'total-timeout', detail: '' } : { kind: 'answered', status },
    response: paid === null ? null : responseOf(kind, status, costUsd, balance),
  }
}

function responseOf(kind: string, status: number, costUsd: string, balance: string): ObservedResponse {
  const { headerPrefix, rpc } = documentedContract
  const credits = String(pico(costUsd) / pico(rpc.usdPerCredit))
  const isCharged = kind === 'call' || kind === 'replay'
  return {
    status,
    headers: {
      [`${headerPrefix}balance-usd`]: balance,
      [`${headerPrefix}balance-diem`]: '0',
      ...(isCharged && { [`${headerPrefix}rpc-credits`]: credits, [`${headerPrefix}rpc-cost-usd`]: costUsd }),
      ...(kind === 'replay' && { 'idempotent-replayed': 'true' }),
    },
    bytes: 0,
    body: { kind: 'empty' },
  }
}
