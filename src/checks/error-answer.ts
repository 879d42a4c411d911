import { asObject, jsonObject } from '../observation/scope.ts'
import { type Check, quote } from './check.ts'
import { isAbuseBlock, isFromInFront, isOutOfTurn } from './who-answered.ts'

const wholeNumber = /^\d+$/
const rpcLimitHeaders = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']

/** The bodies of answers that are no success. */
export const checkErrorAnswer: Check<'error-answer'> = ({ answer, asked, seq }, contract, say) => {
  if (answer === null || answer.status < 400 || isFromInFront(answer, contract)) return
  if (answer.body.kind === 'undecodable') return
  const body = jsonObject(answer)
  const error = body?.error
  const isErrorObject = (typeof error === 'string' && error !== '') || asObject(error) !== null
  if (isErrorObject || (answer.status === 402 && isPaymentOffer(body))) say.kept('error.object')
  else {
    const got = body === null ? 'is no JSON object' : `has error ${quote(error)}`
    say.broken('error.object', `the body of a ${answer.status} ${got}, expected a text or an object as error`, [seq])
  }

  if (asked.kind !== 'rpc' || answer.status !== 429 || isAbuseBlock(answer, contract) || isOutOfTurn(answer, contract))
    return
  const missing = rpcLimitHeaders.filter(name => !wholeNumber.test(answer.headers[name] ?? ''))
  // Where the message stands in the body is open.
  const message = body?.customMessage ?? asObject(error)?.customMessage
  if (typeof message !== 'string' || message === '') missing.unshift('customMessage')
  if (missing.length === 0) say.kept('limit.rpc-429')
  else
    say.broken(
      'limit.rpc-429',
      `a 429 of the RPC proxy lacks ${missing.join(', ')}, expected a message and whole numbers`,
      [seq],
    )
}

/** The structured form of a 402, which a caller without credit can get in place of an error. */
const isPaymentOffer = (body: Readonly<Record<string, unknown>> | null): boolean =>
  body?.x402Version !== undefined && Array.isArray(body.accepts)
