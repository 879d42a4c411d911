import { type Contract, maxResetMs, resourceOf } from '../../contract/contract.ts'
import { type FurtherLimit, furtherLimitsOf } from '../../contract/limit-headers/further-limits.ts'
import {
  expectedForm,
  type LimitHeaders,
  type LimitStatement,
  type LimitStatements,
  limitHeadersOf,
  limitParts,
  retryAfterHeader,
  statedWait,
  statesWait,
} from '../../contract/limit-headers/limit-headers.ts'
import { statesOtherPolicy } from '../../contract/limit-headers/policies.ts'
import { countsTokens, type LimiterName, requestsClause } from '../../contract/limiters.ts'
import { isListSilent } from '../../contract/limits.ts'
import { quote } from '../../lib/format.ts'
import {
  type ApplicableLimit,
  type StatedLimit,
  statedFurther,
  statedRequests,
  statedTokens,
} from '../../observation/limit-scope.ts'
import type { Observation, ObservedResponse } from '../../observation/observation.ts'
import { applicableLimit, isProbeRequest, requestTraits } from '../../observation/requests/request.ts'
import {
  authenticatedResponse,
  is2xx,
  isAbuseBlock,
  isConcurrencyRejection,
  isFromGateway,
  isReplayed,
} from '../../observation/response.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import type { Check } from './check.ts'

type Reporter = ClauseReporter<'limit-headers'>

const types = ['user', 'api_key', 'global']

/** Checks the `x-ratelimit-*` headers of single responses. The rate-limits audit checks them across responses. */
export const checkLimitHeaders: Check<'limit-headers'> = (observation, contract, reporter) => {
  checkType(observation, contract, reporter)
  const response = authenticatedResponse(observation)
  if (response === null || isAbuseBlock(response, contract)) return
  // It may name another model than the one whose limit it draws on.
  const isProbe = isProbeRequest(observation.request)
  const { limiter } = applicableLimit(observation, contract) ?? {}
  const { headers, status } = response

  const at = limitHeadersOf(contract.limits)
  if (!areStated(observation, limiter, at, contract)) return
  const requests = statedRequests(headers, contract)
  // Of other gateways, a 429 may state its wait alone.
  const isBare = !at.isDocumented && status === 429 && !hasAny(headers, at.requests)
  // What remains of another policy, which applies, is not what remains of this one.
  const said = statesOtherPolicy(at.requests, headers, contract.limits.windowMs)
    ? { ...at.requests, remaining: null, reset: null }
    : at.requests
  const wrong = [...(isBare ? [] : wrongIn(requests, said)), ...wrongWaitIn(at, response)]
  if (wrong.length > 0) failHeaders('limit.requests.headers', wrong, at, observation, reporter)
  else {
    reporter.pass('limit.requests.headers')
    // A rejected request may count against another limit, which its headers state.
    if (!isProbe && (is2xx(status) || (status === 429 && !isBare)) && at.requests.limit !== null)
      compare(requestsClause(limiter), 'requestsPerMinute', observation, contract, reporter)
  }

  if (isProbe) return
  if (countsTokens(limiter) && is2xx(status) && contract.limits.tokenHeaders) {
    const tokens = statedTokens(headers, contract)
    const wrongOfTokens = wrongIn(tokens, at.tokens)
    if (wrongOfTokens.length > 0) failHeaders('limit.tokens.headers', wrongOfTokens, at, observation, reporter)
    else if (at.tokens.remaining !== null) {
      reporter.pass('limit.tokens.headers')
      if (at.tokens.limit !== null) compare('limit.tokens.limit', 'tokensPerMinute', observation, contract, reporter)
      if (statesWait(at.tokens)) checkSecondsLeft(tokens, observation, contract, reporter)
    }
  }

  if (is2xx(status) && limiter !== undefined && limiter !== 'control')
    for (const limit of furtherLimitsOf(contract.limits))
      if (limit.counts === 'requests' ? limit.units === null || limiter === 'rpc' : countsTokens(limiter))
        checkFurther(limit, response, observation, reporter)
}

/** Checks the type of a limit, on whatever response it is. A request that a limit has rejected must get one. */
function checkType(observation: Observation, contract: Contract, reporter: Reporter) {
  const { response, id, request } = observation
  if (response === null || isFromGateway(response, contract) || isAbuseBlock(response, contract)) return
  const { headers, status, headersCut } = response
  const type = headers['x-ratelimit-type']
  const mayLack = status !== 429 || headersCut || !limitHeadersOf(contract.limits).isDocumented
  if (type === undefined && (mayLack || isProbeRequest(request) || authenticatedResponse(observation) === null)) return
  if (type !== undefined && types.includes(type)) reporter.pass('limit.type')
  else
    reporter.fail('limit.type', `x-ratelimit-type is ${quote(type)} on a ${status}, expected ${types.join(', ')}`, [id])
}

/**
 * Whether the headers of limits must be on a response. Of those of the document that are all; of other gateways, the
 * successes and the 429s, and not those of lists and of other paths. A gateway may answer a replay before it looks at limits.
 */
function areStated(
  observation: Observation,
  limiter: LimiterName | undefined,
  { isDocumented, requests, retryAfter }: LimitHeaders,
  contract: Contract,
): boolean {
  if (isDocumented) return true
  const { response } = observation
  if (response === null || isConcurrencyRejection(response, contract)) return false
  if (hasAny(response.headers, requests)) return true
  if (isReplayed(observation, contract)) return false
  const isPromised = limitParts.some(part => requests[part] !== null) || retryAfter !== 'none'
  return (
    isPromised && limiter !== undefined && limiter !== 'control' && (is2xx(response.status) || response.status === 429)
  )
}

const hasAny = (headers: Readonly<Record<string, string>>, at: LimitStatements): boolean =>
  limitParts.some(part => headers[at[part]?.header ?? ''] !== undefined)

/** Checks what a success states of a limit that only the profile promises. */
function checkFurther(limit: FurtherLimit, response: ObservedResponse, { id }: Observation, reporter: Reporter) {
  const { at, name, amount, counts } = limit
  const { headers } = response
  const clause = counts === 'requests' ? 'limit.requests' : 'limit.tokens'
  const stated = statedFurther(headers, limit)
  // A service may state the tightest of several policies alone.
  const isOfOther = ({ header, policy }: LimitStatement) =>
    policy !== undefined && headers[header] !== undefined && !headers[header].includes(policy)
  const said = {
    ...at,
    remaining: at.remaining && isOfOther(at.remaining) ? null : at.remaining,
    reset: at.reset && isOfOther(at.reset) ? null : at.reset,
  }
  const wrong = wrongIn(stated, said)
  if (wrong.length > 0) {
    if (response.headersCut && wrong.every(({ header }) => headers[header] === undefined)) return
    const got = wrong.map(({ header }) => `${header} is ${quote(headers[header])}`).join(', ')
    const forms = [...new Set(wrong.map(({ expected }) => expected))].join(', ')
    return reporter.fail(`${clause}.headers`, `${got}, expected ${forms} of the limit ${name}`, [id])
  }
  if (at.limit === null) return
  reporter.pass(`${clause}.headers`)
  if (stated.limit === amount) reporter.pass(`${clause}.limit`)
  else reporter.fail(`${clause}.limit`, `the stated limit ${name} is ${stated.limit}, expected ${amount}`, [id])
}

/** A header whose value is missing or has another form. */
type WrongHeader = { readonly header: string; readonly expected: string }

const wrongIn = (stated: StatedLimit, at: LimitStatements): readonly WrongHeader[] =>
  limitParts.flatMap(part => {
    const statement = at[part]
    return statement === null || stated[part] !== null
      ? []
      : { header: statement.header, expected: expectedForm(statement) }
  })

/** The header in which a 429 must state a wait, if it does not. */
function wrongWaitIn(at: LimitHeaders, { status, headers }: ObservedResponse): readonly WrongHeader[] {
  const header = retryAfterHeader(at)
  if (status !== 429 || header === null || statedWait(at, headers) !== null) return []
  return [{ header, expected: at.retryAfter === 'http-date' ? 'an HTTP date' : `a number of ${at.retryAfter}` }]
}

function failHeaders(
  clause: 'limit.requests.headers' | 'limit.tokens.headers',
  wrong: readonly WrongHeader[],
  { isDocumented }: LimitHeaders,
  { response, id }: Observation,
  reporter: Reporter,
) {
  if (response === null) return
  const { headers, headersCut, status } = response
  if (headersCut && wrong.every(({ header }) => headers[header] === undefined)) return
  const got = wrong.map(({ header }) => `${header} is ${quote(headers[header])}`).join(', ')
  const forms = isDocumented ? 'non-negative numbers' : [...new Set(wrong.map(({ expected }) => expected))].join(', ')
  reporter.fail(clause, `${got} on a ${status}, expected ${forms}`, [id])
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
  const stated = (isOfTokens ? statedTokens : statedRequests)(headers, contract).limit
  if (stated === expected) {
    if (isOfWallet) reporter.pass('wallet.limits')
    return reporter.pass(clause)
  }
  const said = headers[limitHeadersOf(contract.limits)[isOfTokens ? 'tokens' : 'requests'].limit?.header ?? '']
  // Which of the two statements of the target is wrong shows the limit by the document or the profile.
  if (contract.limits.judgedBy === 'target' && stated === scope.stated[unit]) {
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
  const stated = response && statedRequests(response.headers, contract).limit
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
  // A response may see what was used after it began, so its seconds may be rounded up to one more.
  if (reset === null || reset <= max * 1000 || reset === (max + 1) * 1000) return reporter.pass('limit.tokens.reset')
  const name = limitHeadersOf(contract.limits).tokens.reset?.header ?? ''
  reporter.fail('limit.tokens.reset', `${name} is ${response?.headers[name]}, expected at most ${max} s`, [id])
}
