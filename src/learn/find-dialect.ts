import { type LimitForm, limitForms } from '../contract/limit-headers/forms.ts'
import { furtherUnits } from '../contract/limit-headers/further-limits.ts'
import {
  type DialectName,
  dialectNames,
  formsThatState,
  type LimitHeaders,
  type LimitPart,
  type LimitStatement,
  limitHeadersOf,
  limitStatements,
} from '../contract/limit-headers/limit-headers.ts'
import { countsRequests, policiesIn, policySeconds } from '../contract/limit-headers/policies.ts'
import type { Answer } from './asker.ts'
import { isPositive } from './find-window.ts'
import { cite, type Fact, unknown, value } from './question.ts'

/** The dialect whose statements most responses have, and what it says of each. */
export type FoundDialect = {
  /** null: the headers of the document. */
  readonly dialect: DialectName | null
  readonly facts: readonly Fact[]
  /** Whether any response states tokens. */
  readonly hasTokens: boolean
}

const dayMs = 86_400_000
/** A reset further away is in another form than it seems to be. */
const maxAheadMs = 31 * dayMs

/** Without a clock of the target. */
const year2001Ms = 1e12
const year2100Ms = 4.1e12

const none = { headers: {}, retryAfter: null, requestsReset: 'unix-seconds', tokensReset: 'seconds' } as const
const headersIn = (dialect: DialectName | null): LimitHeaders => limitHeadersOf({ ...none, dialect })

const statementsOf = (headers: LimitHeaders) =>
  limitStatements.flatMap(statement => {
    const at = headers[statement.unit][statement.part]
    return at === null ? [] : [{ ...statement, at }]
  })

/** Whether a text is a credible statement of this form. */
function isCredible(
  { form, member }: Pick<LimitStatement, 'form' | 'member'>,
  text: string,
  nowMs: number | null,
): boolean {
  const { read, states } = limitForms[form] as LimitForm
  const number = read(text, member ?? '')
  if (number === null) return false
  if (states === 'count') return true
  if (states === 'wait') return number <= maxAheadMs
  return number > (nowMs ?? year2001Ms) - dayMs && number < (nowMs ?? year2100Ms) + maxAheadMs
}

type Seen = { readonly reply: Answer; readonly text: string }

const seenIn = (replies: readonly Answer[], { header }: LimitStatement): readonly Seen[] =>
  replies.flatMap(reply => {
    const text = reply.headers[header]
    return text === undefined ? [] : [{ reply, text }]
  })

/** null: no response states a limit. */
export function findDialect(replies: readonly Answer[], nowMs: number | null): FoundDialect | null {
  const scored = [null, ...dialectNames].map(dialect => {
    const statements = statementsOf(headersIn(dialect))
    const seen = statements.map(({ at }) => seenIn(replies, at))
    const fit = statements.map(({ at }, index) => {
      const texts = seen[index] ?? []
      return texts.length > 0 && texts.every(({ text }) => isCredible(at, text, nowMs))
    })
    const fits = fit.filter(Boolean).length
    const ofRequests = statements.filter(({ unit }, index) => unit === 'requests' && fit[index] !== true).length
    return { dialect, fits, score: 2 * fits - ofRequests }
  })
  const [best] = scored.filter(({ fits }) => fits > 0).toSorted((a, b) => b.score - a.score || b.fits - a.fits)
  if (best === undefined) return null
  const statements = statementsOf(headersIn(best.dialect))
  const hasTokens = statements.some(({ unit, at }) => unit === 'tokens' && seenIn(replies, at).length > 0)
  if (best.dialect === null) return { dialect: null, facts: [], hasTokens }
  const own = statements
    .filter(({ unit }) => unit === 'requests' || hasTokens)
    .flatMap(({ name, part, at }) => statementFact(name, part, at, seenIn(replies, at), nowMs))
  const [first] = statements.flatMap(({ at }) => seenIn(replies, at))
  const evidence = `its responses have ${[...new Set(statements.map(({ at }) => at.header))].slice(0, 3).join(', ')}`
  return {
    dialect: best.dialect,
    hasTokens,
    facts: [
      value(['limits', 'dialect'], best.dialect, ...(first === undefined ? [] : [first.reply]), evidence),
      ...(hasTokens ? [] : [value(['limits', 'tokenHeaders'], false, 'no response states tokens')]),
      ...own,
    ],
  }
}

/** What the target does otherwise than its dialect: it has no such header, or has it in another form. */
function statementFact(
  name: string,
  part: LimitPart,
  at: LimitStatement,
  seen: readonly Seen[],
  nowMs: number | null,
): readonly Fact[] {
  const path = ['limits', 'headers', name] as const
  const [first] = seen
  if (first === undefined) return [value(path, null, `no response has ${at.header}`)]
  if (seen.every(({ text }) => isCredible(at, text, nowMs))) return []
  const other = formsThatState(part).find(
    form => !form.startsWith('field-') && seen.every(({ text }) => isCredible({ form, member: null }, text, nowMs)),
  )
  const evidence = `${at.header} is ${first.text}`
  return other === undefined
    ? [unknown(path.join('.'), `${cite(first.reply)}: ${evidence}, which has no known form`)]
    : [value(path, { header: at.header, form: other }, first.reply, evidence)]
}

/** Limits that the target states beside those of requests and tokens. */
export function furtherFacts(replies: readonly Answer[], dialect: DialectName | null): readonly Fact[] {
  const path = (name: string) => ['limits', 'further', name] as const
  if (dialect === 'ietf') {
    const reply = replies.findLast(({ headers }) => headers['ratelimit-policy'] !== undefined)
    if (reply === undefined) return []
    const policies = policiesIn(reply.headers['ratelimit-policy'])
    // The first policy of requests is their limit.
    const first = policies.find(countsRequests)
    return policies
      .filter(policy => policy !== first)
      .flatMap(policy => {
        const name = /^"([A-Za-z][\w.-]{0,63})"$/.exec(policy.name)?.[1]
        const [amount = null, seconds] = [policy.parameters.get('q'), policySeconds(policy)]
        const counts = furtherUnits.find(unit => unit === (policy.unit ?? 'requests'))
        if (name === undefined || counts === undefined || !isPositive(amount) || !isPositive(seconds))
          return unknown(
            'limits.further',
            `${cite(reply)}: the policy ${policy.text} is not one that a profile can state`,
          )
        const limit = { counts, amount, windowMs: seconds * 1_000 }
        return value(path(name), limit, reply, `ratelimit-policy: ${policy.text}`)
      })
  }
  if (dialect !== 'anthropic') return []
  return (['input-tokens', 'output-tokens'] as const).flatMap(counts => {
    const header = `anthropic-ratelimit-${counts}-limit`
    const reply = replies.findLast(({ headers }) => Number(headers[header]) > 0)
    const amount = Number(reply?.headers[header])
    return reply === undefined || !Number.isSafeInteger(amount)
      ? []
      : value(path(counts), { counts, amount }, reply, `${header}: ${amount}`)
  })
}
