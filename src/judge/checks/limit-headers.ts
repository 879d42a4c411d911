import { quote } from '../../lib/format.ts'
import { numberIn } from '../../lib/numbers.ts'
import { applicableLimit } from '../../observation/limit-scope.ts'
import { authenticatedResponse, is2xx, isAbuseBlock } from '../../observation/response.ts'
import type { Check } from './check.ts'

const types = ['user', 'api_key', 'global']

const headersOf = (kind: 'requests' | 'tokens') => ({
  limit: `x-ratelimit-limit-${kind}`,
  remaining: `x-ratelimit-remaining-${kind}`,
  reset: `x-ratelimit-reset-${kind}`,
})
const ofRequests = headersOf('requests')
const ofTokens = headersOf('tokens')

/** Checks the `x-ratelimit-*` headers of single responses. The rate-limits audit checks them across responses. */
export const checkLimitHeaders: Check<'limit-headers'> = (observation, contract, reporter) => {
  const response = authenticatedResponse(observation)
  if (response === null || isAbuseBlock(response, contract)) return
  const scope = applicableLimit(observation, contract)
  const { headers, status } = response
  const requestIds = [observation.id]

  // A rejected request may count against another limit, which its headers state.
  if (areNumbers('limit.requests.headers', ofRequests) && (is2xx(status) || status === 429))
    compare(
      observation.request.kind === 'resource' ? 'limit.resources' : 'limit.requests.limit',
      headers[ofRequests.limit],
      scope?.requestsPerMinute,
      scope?.stated.requestsPerMinute,
    )

  const isInference = observation.request.kind === 'chat' && status === 200
  if (isInference && contract.limits.tokenHeaders && areNumbers('limit.tokens.headers', ofTokens)) {
    compare('limit.tokens.limit', headers[ofTokens.limit], scope?.tokensPerMinute, scope?.stated.tokensPerMinute)
    if (contract.limits.tokensReset === 'seconds') checkSecondsLeft(headers[ofTokens.reset])
  }

  const type = headers['x-ratelimit-type']
  if (type === undefined && (status !== 429 || response.headersCut)) return
  if (type !== undefined && types.includes(type)) reporter.pass('limit.type')
  else
    reporter.fail(
      'limit.type',
      `x-ratelimit-type is ${quote(type)} on a ${status}, expected ${types.join(', ')}`,
      requestIds,
    )

  function areNumbers(clause: 'limit.requests.headers' | 'limit.tokens.headers', names: typeof ofRequests): boolean {
    const { limit, remaining, reset } = names
    if (isNumber(limit) && isNumber(remaining) && isNumber(reset)) {
      reporter.pass(clause)
      return true
    }
    const invalid = [limit, remaining, reset].filter(name => !isNumber(name))
    if (response?.headersCut && invalid.every(name => headers[name] === undefined)) return false
    const got = invalid.map(name => `${name} is ${quote(headers[name])}`).join(', ')
    reporter.fail(clause, `${got} on a ${status}, expected non-negative numbers`, requestIds)
    return false
  }

  function isNumber(name: string): boolean {
    return numberIn(headers[name]) !== null
  }

  function compare(
    clause: 'limit.requests.limit' | 'limit.resources' | 'limit.tokens.limit',
    said: string | undefined,
    expected: number | null | undefined,
    stated: number | null | undefined,
  ) {
    if (expected === null || expected === undefined) return
    if (numberIn(said) === expected) return reporter.pass(clause)
    // Which of the two statements of the target is wrong shows the limit by the document or the profile.
    if (contract.limits.judgedBy === 'target' && Number(said) === stated) {
      const message = `the rate-limits endpoint states ${expected} for ${scope?.name}, but responses state ${said}`
      return reporter.fail('catalogue.rate-limits', message, requestIds)
    }
    const message = `the stated limit of ${scope?.name} is ${said}, expected ${expected} (${scope?.tier})`
    reporter.fail(clause, message, requestIds)
  }

  function checkSecondsLeft(said: string | undefined) {
    const max = Math.ceil(contract.limits.windowMs / 1000)
    if ((numberIn(said) ?? max) <= max) reporter.pass('limit.tokens.reset')
    else reporter.fail('limit.tokens.reset', `${ofTokens.reset} is ${said}, expected at most ${max} s`, requestIds)
  }
}
