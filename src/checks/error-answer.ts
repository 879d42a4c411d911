import { asObject, jsonObject } from '../observation/scope.ts'
import { type Check, quote } from './check.ts'

/** The bodies of answers that are no success. */
export const checkErrorAnswer: Check<'error-answer'> = ({ answer, asked, seq }, _contract, say) => {
  if (answer === null || answer.status < 400) return
  const body = jsonObject(answer)
  const error = body?.error
  if ((typeof error === 'string' && error !== '') || asObject(error) !== null) say.kept('error.object')
  else
    say.broken(
      'error.object',
      `the body of a ${answer.status} has error ${quote(error)}, expected a text or an object`,
      [seq],
    )

  if (asked.kind !== 'rpc' || answer.status !== 429) return
  const missing = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'].filter(
    name => !/^\d+$/.test(answer.headers[name] ?? ''),
  )
  const message = body?.customMessage ?? asObject(error)?.customMessage
  if (typeof message !== 'string' || message === '') missing.unshift('customMessage')
  if (missing.length === 0) say.kept('limit.rpc-429')
  else say.broken('limit.rpc-429', `a 429 of the RPC proxy lacks ${missing.join(', ')}`, [seq])
}
