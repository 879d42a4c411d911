import { sleepUntil } from '../../../../src/lib/clock.ts'
import { createMask } from '../../../../src/lib/mask/mask.ts'
import type { Observation } from '../../../../src/observation/observation.ts'
import type { ArrivalStep } from '../../../../src/plan/plan.ts'
import type { Arrival } from '../../../../src/produce/arrivals/arrivals.ts'
import { createPayments } from '../../../../src/produce/callers/payments.ts'
import { createSignIns } from '../../../../src/produce/callers/sign-ins.ts'
import { sendArrival } from '../../../../src/produce/calls/send.ts'
import type { SendContext } from '../../../../src/produce/calls/transmit.ts'
import type { Exchange, HttpRequest } from '../../../../src/produce/transport/transport.ts'
import { manualClock } from '../../../../src/prove/manual-clock.ts'
import { chatPlan, replayPlan, requestContext, rpcPlan } from './request-context.ts'

const signer = { signIns: async () => [], payment: async () => null }

export type Reply = {
  readonly status?: number | null
  readonly headers?: Record<string, string>
  readonly text?: string
}

/** A context in which every request takes 10 ms and gets the response of `reply`. */
export function sendContext(reply: (request: HttpRequest) => Reply = () => ({})) {
  const clock = manualClock()
  const stop = new AbortController()
  let nextSeq = 41
  const requests: HttpRequest[] = []
  const observations: Observation[] = []
  const transport: SendContext['transport'] = async (request): Promise<Exchange> => {
    requests.push(request)
    const sentMs = clock.nowMs()
    await sleepUntil(clock, sentMs + 10)
    const { status = 200, headers = {}, text = '{}' } = reply(request)
    const bytes = Buffer.from(text)
    const streamed = headers['content-type']?.startsWith('text/event-stream') && request.onStreamBytes !== null
    if (streamed) request.onStreamBytes?.(bytes, clock.nowMs())
    return {
      sentMs,
      headersMs: sentMs + 5,
      endMs: clock.nowMs(),
      status,
      headers,
      body: streamed ? Buffer.alloc(0) : bytes,
      bytes: bytes.length,
      failure: null,
    }
  }
  const request = requestContext()
  const terms = request.contract.wallets
  const context: SendContext = {
    ...request,
    signIns: createSignIns({ wallets: [], signer, clock, terms: terms.signIn, ahead: 1 }),
    payments: createPayments({ signer, terms, reserve: () => true, release: () => {} }),
    calls: {
      chat: chatPlan,
      rpc: rpcPlan,
      replay: { ...replayPlan, duplicates: 2 },
      late: { ...replayPlan, repeatAfterMs: 3_000 },
      twins: {
        ...{ kind: 'twin', of: rpcPlan, as: ['other-key', 'other-caller', 'alone'], concurrent: true, mayDiffer: [] },
        aloneAfterMs: 3_000,
      },
      'free-user': { kind: 'probe', probe: 'model-for-payers' },
      'empty-account': { kind: 'probe', probe: 'empty-account' },
      race: { ...replayPlan, duplicates: 2, concurrent: true },
    },
    callers: ['a', 'b', 'c'].map(name => ({ kind: 'key', name, keys: [`key-of-${name}`, `key-of-${name}-2`] })),
    specialKeys: { 'free-user': null, 'zero-balance': 'key-without-balance' },
    mask: createMask(['key-of-a-4711', 'key-of-b-4711']),
    accountTier: 'partner',
    clock,
    transport,
    abort: new AbortController().signal,
    stop: stop.signal,
    maySend: () => true,
    nextSeq: () => nextSeq++,
    sink: observation => observations.push(observation),
    traceIds: null,
  }
  return {
    clock,
    stop,
    requests,
    observations,
    context,
    send: (each: Arrival) => clock.run(sendArrival(each, context)),
  }
}

export const arrival = (call: string, steps: readonly ArrivalStep[] = ['only'], caller = 0): Arrival => ({
  id: 40,
  seq: 40,
  stage: 'steady',
  trial: null,
  call,
  caller,
  key: 0,
  dueMs: 0,
  steps,
})
