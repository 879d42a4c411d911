import type { ClauseId } from '../contract/clauses.ts'
import type { Contract } from '../contract/contract.ts'
import { limitForms } from '../contract/limit-headers/forms.ts'
import { furtherLimitsOf } from '../contract/limit-headers/further-limits.ts'
import {
  limitHeadersOf,
  type RetryAfterForm,
  retryAfterHeader,
  statedWait,
  statesWait,
} from '../contract/limit-headers/limit-headers.ts'
import { is2xx } from '../lib/numbers.ts'
import { statedFurther, statedRequests } from '../observation/limit-scope.ts'
import { chatAsk } from './ask-chat.ts'
import type { Answer, Ask } from './asker.ts'
import { findDialect, furtherFacts } from './find-dialect.ts'
import {
  exactMs,
  isLimited,
  isNoEnd,
  lengthFacts,
  longestRounding,
  roundingOf,
  windowFacts,
  windowStatements,
} from './find-window.ts'
import {
  brief,
  type Conclusion,
  cite,
  type Fact,
  isService,
  type Known,
  type Question,
  type QuestionAsker,
  rpcCall,
  unknown,
  value,
} from './question.ts'

/** The smallest request that a limit counts. */
export function limitedAsk({ chat, rpc }: Known): Ask | null {
  if (chat !== null) return chatAsk(chat.model)
  return rpc === null ? null : { call: rpcCall(rpc), worstPico: rpc.worstPico }
}

const ofRequests: readonly ClauseId[] = [
  'limit.requests.headers',
  'limit.requests.remaining',
  'limit.requests.reset',
  'limit.requests.enforced',
  'limit.requests.not-early',
  'retry.after-reset',
]
/** What is about a number of requests, or about the window in which they count. */
const ofCounts: readonly ClauseId[] = ofRequests.filter(clause => clause !== 'limit.requests.headers')
/** What a limiter cannot keep whose refusals last longer than a window. */
const ofResets: readonly ClauseId[] = ['limit.requests.reset', 'retry.after-reset']
/** What depends on the length of a window. */
const ofWindows: readonly ClauseId[] = [
  'limit.requests.remaining',
  'limit.requests.reset',
  'limit.requests.enforced',
  'limit.requests.not-early',
  'limit.tokens.remaining',
  'limit.tokens.reset',
  'limit.tokens.enforced',
]
/** What a limit of tokens keeps whose headers and resets are judged nowhere else. */
const ofFurtherTokens: readonly ClauseId[] = ['limit.tokens.remaining', 'limit.tokens.enforced']
const ofTokens: readonly ClauseId[] = [
  'limit.tokens.headers',
  'limit.tokens.remaining',
  'limit.tokens.reset',
  'limit.tokens.enforced',
]

/** How a target that is not the documented service states its limits. */
export const limitDialect: Question = {
  name: 'dialect of limit headers',
  calls: 2,
  applies: ({ chat, rpc }) => chat !== null || rpc !== null,
  answer: async (known, { ask, replies, isBrief }) => {
    const wallMs = () => lastMs(replies())
    const first = findDialect(replies().filter(isLimited), wallMs())
    if (first === null) return { findings: [] }
    if (first.dialect === null) return { findings: [], known: { limitClauses: ofRequests } }
    const request = limitedAsk(known)
    // How its statements move shows how it counts.
    if (request !== null && !(isBrief && replies().filter(isLimited).length > 2))
      for (let call = 0; call < 2; call++) await ask(request)
    const own = replies().filter(isLimited)
    const found = findDialect(own, wallMs()) ?? first
    return {
      findings: [...found.facts, ...windowFacts(own), ...furtherFacts(own, found.dialect)],
      known: { limitClauses: [...ofRequests, ...(found.hasTokens ? ofTokens : [])] },
    }
  },
}

/** The Unix time of the last response, as its `Date` has it; null: it has none. */
function lastMs(replies: readonly Answer[]): number | null {
  const dates = replies.map(({ headers }) => Date.parse(headers.date ?? '')).filter(Number.isFinite)
  return dates.at(-1) ?? null
}

/** More requests than this are not spent on one limit. */
const maxToEdge = 40
/** Beyond the stated limit, to see whether it exists. */
const beyond = 2

/** Whether a limit bites where it says, and how a 429 states the wait. */
export const limitEdge: Question = {
  name: 'the edge of a limit',
  calls: Number.POSITIVE_INFINITY,
  applies: known => !isService(known) && known.contract.limits.dialect !== null,
  answer: async (known, asker) => {
    const isBriefly = asker.isBrief && !isBriefWindow(asker.replies(), known.contract)
    const { findings, known: seen } = isBriefly ? { findings: [] } : await reachEdge(known, asker)
    const units = unitsIn(asker.replies(), known.contract)
    if (units !== null) {
      const limitClauses = known.limitClauses.filter(clause => !ofCounts.includes(clause))
      return { findings: [...findings, units.fact], known: { ...seen, limitClauses, unitsEach: units.each } }
    }
    if (isBriefly) return withoutEdge(known, asker.replies())
    let facts = lengthFacts(asker.replies(), known.contract)
    if (isUnknown(facts)) {
      await beginWindow(known, asker)
      facts = lengthFacts(asker.replies(), known.contract)
    }
    const punished = punishmentIn(asker.replies(), known, facts)
    const isOpen =
      (isUnknown(facts) && (!isServedAgain(asker.replies()) || facts.some(isNoEnd))) ||
      (facts.length === 0 && hasTokensAlone(known.contract))
    const unkept = [...(isOpen ? ofWindows : []), ...(punished === null ? [] : ofResets)]
    const limitClauses = known.limitClauses.filter(clause => !unkept.includes(clause))
    const further = isOpen ? [] : furtherLengths(asker.replies(), known, facts)
    return {
      findings: [...findings, ...facts, ...further, ...(punished === null ? [] : [punished])],
      known: { ...seen, limitClauses: [...limitClauses, ...(further.length === 0 ? [] : ofFurtherTokens)] },
    }
  },
}

/** Whether the edge can be seen, and judged in a first run, within a minute. */
export function isBriefWindow(replies: readonly Answer[], contract: Contract): boolean {
  const stated = windowStatements(replies, contract, statesWait(limitHeadersOf(contract.limits).requests))
  return stated.length > 0 && stated.every(({ seconds }) => seconds * 1_000 < brief.windowMs + 1_000)
}

function withoutEdge(known: Known, replies: readonly Answer[]): Conclusion {
  const facts = lengthFacts(replies, known.contract)
  const isKnown = known.contract.sources['limits.windowMs'] === 'profile'
  const isOpen = !isKnown && !facts.some(({ kind }) => kind === 'value')
  const left = leftIn(replies, known)
  const isLong = facts.some(fact => fact.kind === 'value' && Number(fact.value) > maxWaitMs)
  const isNear = left !== null && left + beyond <= maxToEdge && !isLong
  return {
    findings: [
      ...facts,
      ...(isOpen ? [] : furtherLengths(replies, known, facts)),
      unknown('limits.retryAfter', 'would take longer than a minute'),
    ],
    known: {
      limitClauses: known.limitClauses.filter(clause => !(isOpen && ofWindows.includes(clause))),
      leftOut: isNear ? ['the waits and the remaining requests of a limit'] : [],
    },
  }
}

async function reachEdge(
  known: Known,
  { ask, replies, callsLeft, hasOtherCaller }: QuestionAsker,
): Promise<Conclusion> {
  const request = limitedAsk(known)
  let left = leftIn(replies(), known)
  if (request === null || left === null) return { findings: [] }
  const most = Math.min(maxToEdge, callsLeft() - 1)
  // A bucket fills up between requests, and what was left may be of an earlier window.
  for (let [call, unrefused] = [0, 0]; call < most && unrefused <= beyond; call++) {
    if (call + left + beyond > most)
      return { findings: [unknown('limits.retryAfter', `would need ${left} more requests to reach the limit`)] }
    const reply = await ask({ ...request, isBeyondLimit: true })
    if (reply.status === 429) {
      const other = hasOtherCaller ? await ask({ ...request, as: 'other', isBeyondLimit: true }) : null
      const waitMs = statedWait({ retryAfter: formOfWait(reply) }, reply.headers)
      if (waitMs !== null && waitMs <= maxWaitMs) await testWait(waitMs, request, ask)
      if (other?.status !== 429) return { findings: waitFacts(reply, known) }
      return { findings: [...waitFacts(reply, known), sharedLimit(other)], known: { sharesLimit: true } }
    }
    if (!is2xx(reply.status)) return { findings: [unknown('limits.retryAfter', cite(reply))] }
    left = leftIn([reply], known) ?? Math.max(0, left - 1)
    unrefused = left === 0 ? unrefused + 1 : 0
  }
  return { findings: [unknown('limits.retryAfter', 'no 429 came after the requests that remained')] }
}

/** Another account has used nothing. */
export const sharedLimit = (reply: Answer): Fact => ({
  ...{ kind: 'difference', clause: 'limit.requests.not-early', always: false },
  text: 'another account of TURNPIKE_KEYS is refused, too, when the first one has used up its limit',
  evidence: cite(reply),
})

const isUnknown = (facts: readonly Fact[]): boolean => facts.some(({ kind }) => kind === 'unknown')

/** Whether nothing states requests, so that the window of tokens may have any length. */
const hasTokensAlone = ({ limits, sources }: Contract): boolean =>
  limitHeadersOf(limits).requests.remaining === null && sources['limits.windowMs'] !== 'profile'

/** Whether a wait for a limit was tried. Then a reset that does not fit to any usual window is a defect. */
function isServedAgain(replies: readonly Answer[]): boolean {
  const refused = replies.findIndex(({ status }) => status === 429)
  return refused >= 0 && replies.slice(refused).some(isLimited)
}

/** Asks when the present window has ended. If windows are aligned to the clock, the next one begins about now. */
async function beginWindow(known: Known, { ask, replies }: QuestionAsker): Promise<void> {
  const request = limitedAsk(known)
  const isWait = statesWait(limitHeadersOf(known.contract.limits).requests)
  const stated = windowStatements(replies().filter(isLimited), known.contract, isWait)
  const seconds = stated.at(-1)?.seconds ?? 0
  if (request === null || seconds <= 0 || seconds * 1_000 > maxWaitMs) return
  const lateMs = roundingOf(stated, isWait).isExact ? exactMs / 2 : afterWaitMs
  await ask({ ...request, afterMs: Math.ceil(seconds * 1_000) + lateMs })
}

const maxWaitMs = 60_000
/** A shorter wait is tested at its end alone. */
const longWaitMs = 4_000
const afterWaitMs = 1_100

/** A wait is long enough, and no longer than needed: a 429 in its middle states what is left of it. */
async function testWait(waitMs: number, request: Ask, ask: QuestionAsker['ask']): Promise<void> {
  const halfMs = waitMs / 2
  const isRefused =
    waitMs < longWaitMs || (await ask({ ...request, isBeyondLimit: true, afterMs: halfMs })).status === 429
  const leftMs = waitMs < longWaitMs ? waitMs : halfMs
  if (isRefused) await ask({ ...request, isBeyondLimit: true, afterMs: leftMs + afterWaitMs })
}

function leftIn(replies: readonly Answer[], { contract }: Known): number | null {
  const stated = replies.filter(isLimited).map(({ headers }) => statedRequests(headers, contract).remaining)
  return stated.at(-1) ?? null
}

const httpDate = / GMT$/

function formOfWait({ headers }: Answer): RetryAfterForm {
  const plain = headers['retry-after']
  if (plain === undefined) return headers['retry-after-ms'] === undefined ? 'none' : 'ms'
  return httpDate.test(plain) ? 'http-date' : 'seconds'
}

/** How a 429 states its wait. One that lacks it is a defect of a dialect that has it, and a lack of any other. */
function waitFacts(reply: Answer, { contract }: Known): readonly Fact[] {
  const limits = limitHeadersOf(contract.limits)
  const path = ['limits', 'retryAfter'] as const
  const header = retryAfterHeader(limits)
  if (header !== null && statedWait(limits, reply.headers) !== null) return []
  const form = formOfWait(reply)
  const name = retryAfterHeader({ retryAfter: form })
  if (name !== null) return [value(path, form, reply, `${name} is ${reply.headers[name]}`)]
  if (header !== null) return []
  const other = statesWait(limits.requests) || limits.requests.reset !== null ? ', only its reset' : ''
  return [unknown(path.join('.'), `${cite(reply)}: it states no wait in Retry-After${other}`)]
}

/**
 * A limit that counts the cost of a request: requests in a row each take more than one of what remains, and it
 * bites when less than that is left. One that bites before or after contradicts itself, and is judged as one of requests.
 */
function unitsIn(
  replies: readonly Answer[],
  contract: Contract,
): { readonly fact: Fact; readonly each: number } | null {
  const isWait = statesWait(limitHeadersOf(contract.limits).requests)
  const stated = windowStatements(replies.filter(isLimited), contract, isWait)
  const steps = stated.flatMap(({ reply, remaining }, index) => {
    const { remaining: before = 0, reply: last = reply } = stated[index - 1] ?? {}
    const isNext = replies.indexOf(reply) === replies.indexOf(last) + 1
    return isNext && before > remaining ? [{ reply, before, remaining, size: before - remaining }] : []
  })
  const [step] = steps.filter(({ size }) => size > 1)
  const sizes = steps.map(({ size }) => size)
  const most = Math.max(...sizes)
  const edge = replies.findIndex(({ status }) => status === 429)
  const last = windowStatements(replies.slice(0, Math.max(edge, 0)).filter(isLimited), contract, isWait).at(-1)
  // Where costs differ, that of the refused request is unknown.
  const isEarly = last !== undefined && last.remaining >= most && sizes.every(size => size === most)
  if (step === undefined || steps.length < fewestSteps || isEarly) return null
  if (sizes.filter(size => size === 1).length * 4 > steps.length) return null
  const why = `${cite(step.reply)}: ${step.remaining} of ${step.before} remain after it, so it does not count requests`
  return { fact: unknown('limits: what the limit counts', why), each: most }
}

/** Others who use the same key may be between two requests. */
const fewestSteps = 3

/** Limits of tokens whose windows are those of requests: their resets are as far ahead. */
function furtherLengths(replies: readonly Answer[], { contract }: Known, facts: readonly Fact[]): readonly Fact[] {
  const length = facts.find(fact => fact.kind === 'value' && fact.path.join('.') === 'limits.windowMs')
  const windowMs = length?.kind === 'value' ? Number(length.value) : contract.limits.windowMs
  const successes = replies.filter(isLimited)
  return furtherLimitsOf(contract.limits).flatMap(limit => {
    const { name, counts, amount, at } = limit
    if (counts === 'requests' || at.reset === null) return []
    const isWait = limitForms[at.reset.form].states === 'wait'
    const ahead = successes.flatMap(reply => {
      const { reset } = statedFurther(reply.headers, limit)
      const nowMs = isWait ? 0 : Date.parse(reply.headers.date ?? '')
      return reset === null || Number.isNaN(nowMs) ? [] : [{ reply, seconds: (reset - nowMs) / 1_000 }]
    })
    const [longest] = ahead.toSorted((a, b) => b.seconds - a.seconds)
    if (longest === undefined || Math.abs(longest.seconds - windowMs / 1_000) > longestRounding) return []
    const evidence = `its reset is up to ${Math.round(longest.seconds)} s ahead, as that of requests`
    return value(['limits', 'further', name], { counts, amount, windowMs }, longest.reply, evidence)
  })
}

/** A limiter that punishes: the reset of a 429 is later than the end of a window, and its wait does not contradict it. */
function punishmentIn(replies: readonly Answer[], { contract }: Known, facts: readonly Fact[]): Fact | null {
  const limits = limitHeadersOf(contract.limits)
  const length = facts.find(fact => fact.kind === 'value' && fact.path.join('.') === 'limits.windowMs')
  if (length?.kind !== 'value' || limits.requests.reset === null) return null
  const isWait = statesWait(limits.requests)
  const windowMs = Number(length.value)
  const aheadOf = (headers: Answer['headers']): number | null => {
    const { reset } = statedRequests(headers, contract)
    const aheadMs = reset === null ? null : reset - (isWait ? 0 : Date.parse(headers.date ?? ''))
    return aheadMs === null || Number.isNaN(aheadMs) ? null : aheadMs
  }
  const punished = replies.find(({ status, headers }) => {
    const reset = aheadOf(headers)
    const waitMs = statedWait({ retryAfter: 'seconds' }, headers)
    const isLater = status === 429 && reset !== null && reset > windowMs + longestRounding * 1_000
    return isLater && (waitMs === null || Math.abs(waitMs - reset) <= (isWait ? 1_000 : longestRounding * 1_000))
  })
  if (punished === undefined) return null
  const seconds = (aheadOf(punished.headers) ?? 0) / 1_000
  const why = `${cite(punished)}: a refusal lasts ${seconds} s, longer than a window of ${windowMs / 1_000} s`
  return unknown('limits: the waits of refusals', why)
}
