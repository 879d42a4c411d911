import type { Contract } from '../contract/contract.ts'
import { authenticatedAnswer, scopeOf } from '../observation/scope.ts'
import { type Check, quote } from './check.ts'

const number = /^\d+(\.\d+)?$/
const types = ['user', 'api_key', 'global']

/** The `x-ratelimit-*` headers, one answer at a time. What they say together is the limiter's audit. */
export const checkLimitHeaders: Check<'limit-headers'> = (observation, contract, say) => {
  const answer = authenticatedAnswer(observation)
  if (answer === null) return
  const scope = scopeOf(observation, contract)
  const { headers, status } = answer
  const seqs = [observation.seq]
  const unfit = (kind: 'requests' | 'tokens') =>
    ['limit', 'remaining', 'reset']
      .map(part => `x-ratelimit-${part}-${kind}`)
      .filter(name => !number.test(headers[name] ?? ''))
      .map(name => `${name} is ${quote(headers[name])}`)

  const requests = unfit('requests')
  if (requests.length > 0) {
    say.broken('limit.requests.headers', `${requests.join(', ')} on a ${status}, expected numbers`, seqs)
  } else {
    say.kept('limit.requests.headers')
    const limit = scope?.requestsPerMinute ?? null
    if (limit !== null) compare('limit.requests.limit', Number(headers['x-ratelimit-limit-requests']), limit)
  }

  if (observation.asked.kind === 'chat' && status === 200 && contract.limits.tokenHeaders) {
    const tokens = unfit('tokens')
    if (tokens.length > 0) say.broken('limit.tokens.headers', `${tokens.join(', ')}, expected numbers`, seqs)
    else {
      say.kept('limit.tokens.headers')
      const limit = scope?.tokensPerMinute ?? null
      if (limit !== null) compare('limit.tokens.limit', Number(headers['x-ratelimit-limit-tokens']), limit)
      if (contract.limits.tokensReset === 'seconds') checkSeconds(Number(headers['x-ratelimit-reset-tokens']))
    }
  }

  const type = headers['x-ratelimit-type']
  if (type !== undefined || status === 429) {
    if (type !== undefined && types.includes(type)) say.kept('limit.type')
    else
      say.broken('limit.type', `x-ratelimit-type is ${quote(type)} on a ${status}, expected ${types.join(', ')}`, seqs)
  }

  function compare(clause: 'limit.requests.limit' | 'limit.tokens.limit', got: number, expected: number) {
    if (got === expected) say.kept(clause)
    else
      say.broken(
        clause,
        `the limit of ${scope?.name} is said to be ${got}, expected ${expected} (${scope?.tier})`,
        seqs,
      )
  }

  function checkSeconds(seconds: number) {
    const longest = windowSeconds(contract)
    if (seconds <= longest) say.kept('limit.tokens.reset')
    else say.broken('limit.tokens.reset', `x-ratelimit-reset-tokens is ${seconds}, expected at most ${longest} s`, seqs)
  }
}

const windowSeconds = (contract: Contract): number => Math.ceil(contract.limits.windowMs / 1000)
