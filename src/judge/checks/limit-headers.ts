import { type Contract, maxResetMs, resourceOf } from '../../contract/contract.ts'
import { requestsClause } from '../../contract/limiters.ts'
import { isListSilent } from '../../contract/limits.ts'
import { quote } from '../../lib/format.ts'
import { type ApplicableLimit, type StatedLimit, statedRequests, statedTokens } from '../../observation/limit-scope.ts'
import type { Observation } from '../../observation/observation.ts'
import { applicableLimit, requestTraits } from '../../observation/requests/request.ts'
import { authenticatedResponse, is2xx, isAbuseBlock } from '../../observation/response.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import type { Check } from './check.ts'

type Reporter = ClauseReporter<'limit-headers'>

const types = ['user', 'api_key', 'global']
const ofRequests = 'x-ratelimit-limit-requests'
const ofTokens = 'x-ratelimit-limit-tokens'

/** Checks the `x-ratelimit-*` headers of single responses. The rate-limits audit checks them across responses. */
export const checkLimitHeaders: Check<'limit-headers'> = (observation, contract, reporter) => {
  const response = authenticatedResponse(observation)
  if (response === null || isAbuseBlock(response, contract)) return
  const { id } = observation
  const { limiter } = applicableLimit(observation, contract) ?? {}
  const { headers, status } = response

  const requests = statedRequests(headers)
  if (!areNumbers(requests)) failHeaders('limit.requests.headers', requests, 'requests', observation, reporter)
  else {
    reporter.pass('limit.requests.headers')
    // A rejected request may count against another limit, which its headers state.
    if (is2xx(status) || status === 429)
      compare(requestsClause(limiter), 'requestsPerMinute', observation, contract, reporter)
  }

  if (limiter === 'chat' && is2xx(status) && contract.limits.tokenHeaders) {
    const tokens = statedTokens(headers)
    if (!areNumbers(tokens)) failHeaders('limit.tokens.headers', tokens, 'tokens', observation, reporter)
    else {
      reporter.pass('limit.tokens.headers')
      compare('limit.tokens.limit', 'tokensPerMinute', observation, contract, reporter)
      if (contract.limits.tokensReset === 'seconds') checkSecondsLeft(tokens, observation, contract, reporter)
    }
  }

  const type = headers['x-ratelimit-type']
  if (type === undefined && (status !== 429 || response.headersCut)) return
  if (type !== undefined && types.includes(type)) reporter.pass('limit.type')
  else
    reporter.fail('limit.type', `x-ratelimit-type is ${quote(type)} on a ${status}, expected ${types.join(', ')}`, [id])
}

const areNumbers = ({ limit, remaining, reset }: StatedLimit): boolean =>
  limit !== null && remaining !== null && reset !== null

function failHeaders(
  clause: 'limit.requests.headers' | 'limit.tokens.headers',
  stated: StatedLimit,
  unit: 'requests' | 'tokens',
  { response, id }: Observation,
  reporter: Reporter,
) {
  if (response === null) return
  const { headers, headersCut, status } = response
  const parts = ['limit', 'remaining', 'reset'] as const
  const invalid = parts.filter(part => stated[part] === null).map(part => `x-ratelimit-${part}-${unit}`)
  if (headersCut && invalid.every(name => headers[name] === undefined)) return
  const got = invalid.map(name => `${name} is ${quote(headers[name])}`).join(', ')
  reporter.fail(clause, `${got} on a ${status}, expected non-negative numbers`, [id])
}

function compare(
  clause: 'limit.requests.limit' | 'limit.resources' | 'limit.tokens.limit',
  unit: 'requestsPerMinute' | 'tokensPerMinute',
  observation: Observation,
  contract: Contract,
  reporter: Reporter,
) {
  const { response, id } = observation
  const scope = applicableLimit(observation, contract)
  const expected = scope?.[unit] ?? null
  if (scope === null || response === null) return
  if (expected === null) {
    if (clause === 'limit.resources') judgeDefault(observation, scope, contract, reporter)
    return
  }
  const isOfTokens = unit === 'tokensPerMinute'
  const isOfWallet = observation.chain !== undefined
  const { headers } = response
  if ((isOfTokens ? statedTokens : statedRequests)(headers).limit === expected) {
    if (isOfWallet) reporter.pass('wallet.limits')
    return reporter.pass(clause)
  }
  const said = headers[isOfTokens ? ofTokens : ofRequests]
  // Which of the two statements of the target is wrong shows the limit by the document or the profile.
  if (contract.limits.judgedBy === 'target' && Number(said) === scope.stated[unit]) {
    const message = `the rate-limits endpoint states ${expected} for ${scope.name}, but responses state ${said}`
    return reporter.fail('catalogue.rate-limits', message, [id])
  }
  const message = `the stated limit of ${scope.name} is ${said}, expected ${expected} (${scope.tier})`
  if (isOfWallet) reporter.fail('wallet.limits', `${message}, as with an API key`, [id])
  reporter.fail(clause, message, [id])
}

/**
 * A limit of the document is a default, which the list of limits may replace. If the list does not mention the resource,
 * the default holds.
 */
function judgeDefault(
  { response, request, id }: Observation,
  { name, tier, stated: { requestsPerMinute: documented } }: ApplicableLimit,
  contract: Contract,
  reporter: Reporter,
) {
  const stated = response && statedRequests(response.headers).limit
  if (stated === null || documented === null) return
  if (stated === documented) return reporter.pass('limit.resources')
  const limit = resourceOf(contract, requestTraits(request).subject(request))?.draws
  if (limit && isListSilent({ limiter: 'resources', unit: 'requests', limit, resource: '' }, contract)) {
    const message = `the stated limit of ${name} is ${stated}, expected ${documented} (${tier}), since the list of limits states no other`
    return reporter.fail('limit.resources', message, [id])
  }
  const text = `responses state ${stated}, the document ${documented} as a default; state the limit in a profile, or use --limits-from documented`
  reporter.unjudged('limit.resources', { text, clause: null })
}

function checkSecondsLeft(
  { remaining, reset }: StatedLimit,
  { response, id }: Observation,
  contract: Contract,
  reporter: Reporter,
) {
  const max = Math.ceil(maxResetMs(contract, remaining) / 1000)
  if ((reset ?? max) <= max) return reporter.pass('limit.tokens.reset')
  const said = response?.headers['x-ratelimit-reset-tokens']
  reporter.fail('limit.tokens.reset', `x-ratelimit-reset-tokens is ${said}, expected at most ${max} s`, [id])
}
