import type { RpcAsked } from '../observation/observation.ts'
import { asObject } from '../observation/scope.ts'
import { type Check, quote } from './check.ts'
import { correlate, rejectsParams } from './correlate.ts'

/** The JSON-RPC side of an answer of the proxy: shape, ids, correlation. */
export const checkRpcAnswer: Check<'rpc-answer'> = ({ answer, asked, seq, outcome }, _contract, say) => {
  if (asked.kind !== 'rpc' || answer === null || outcome.kind !== 'answered') return
  const expect = (clause: Parameters<typeof say.kept>[0], kept: boolean, because: () => string) =>
    kept ? say.kept(clause) : say.broken(clause, because(), [seq])

  const { status, headers, body } = answer
  const judgesFailure = asked.items.some(item => item.failing) && asked.replay?.role !== 'conflict'
  if (judgesFailure && (status === 200 || !unrelated.includes(status))) {
    expect(
      'rpc.item-failure.status',
      status === 200,
      () => `a request with an item that fails was answered with ${status}, expected 200`,
    )
  }
  // A conflict that is answered at all is the idempotency audit's.
  if (status !== 200 || asked.replay?.role === 'conflict') return

  const type = headers['content-type']
  expect(
    'rpc.content-type',
    /^application\/json\s*(;|$)/i.test(type ?? ''),
    () => `content-type is ${quote(type)}, expected application/json`,
  )
  const requestId = headers['x-request-id']
  expect('rpc.request-id', requestId !== undefined && requestId !== '', () => `x-request-id is ${quote(requestId)}`)

  const value = body.kind === 'json' ? body.value : undefined
  const responses = asked.batch ? (Array.isArray(value) ? value : null) : [value]
  if (responses === null)
    return say.broken('rpc.batch.correlation', `the answer to a batch is ${quote(value)}, expected an array`, [seq])
  for (const response of responses) {
    const wrong = wrongResponse(response)
    expect('rpc.response', wrong === null, () => `a response is ${quote(response)}: ${wrong}`)
  }
  checkIds(responses, asked)

  function checkIds(list: readonly unknown[], { batch, items }: RpcAsked) {
    const pairing = correlate(items, list)
    if (!batch) {
      const [got, want] = [asObject(list[0])?.id, items[0]?.id]
      return expect('rpc.id', got === want, () => `the id came back as ${quote(got)}, expected ${quote(want)}`)
    }
    expect('rpc.batch.correlation', pairing.faults.length === 0, () => pairing.faults.join('; '))
    if (pairing.faults.length > 0) return
    const unharmed = items.find(item => item.failing && 'result' in (pairing.byId.get(item.id) ?? {}))
    const harmed = items.find(item => !item.failing && rejectsParams(pairing.byId.get(item.id)))
    expect(
      'rpc.id',
      unharmed === undefined || harmed === undefined,
      () =>
        `item ${quote(unharmed?.id)} has invalid params and came back with a result, ${quote(harmed?.id)} came back with their error`,
    )
  }
}

/** Statuses that say nothing about the items: who asked, how often, with what money; or nobody is there. */
const unrelated: readonly number[] = [401, 402, 429, 502, 503, 504]

function wrongResponse(value: unknown): string | null {
  const response = asObject(value)
  if (response === null) return 'it is no object'
  if (response.jsonrpc !== '2.0') return `jsonrpc is ${quote(response.jsonrpc)}`
  const hasError = response.error !== undefined && response.error !== null
  if (hasError === (response.result !== undefined && !(hasError && response.result === null)))
    return 'it has not exactly one of result and error'
  if (!hasError) return null
  const error = asObject(response.error)
  if (!Number.isInteger(error?.code)) return 'its error has no integer code'
  return typeof error?.message === 'string' ? null : 'its error has no message'
}
