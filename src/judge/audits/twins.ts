import { isDeepStrictEqual } from 'node:util'
import { isDeterministic } from '../../contract/chat-options.ts'
import type { Contract } from '../../contract/contract.ts'
import { quote } from '../../lib/format.ts'
import { formatPico } from '../../lib/money.ts'
import type { Observation, ObservedResponse } from '../../observation/observation.ts'
import { type ChatDescriptor, isChat } from '../../observation/requests/chat.ts'
import { requestTraits } from '../../observation/requests/request.ts'
import { isRpc, type RpcDescriptor } from '../../observation/requests/rpc.ts'
import type { TwinRole } from '../../observation/requests/traits.ts'
import { is2xx, isAbuseBlock, isFromGateway, isUnrelatedStatus } from '../../observation/response.ts'
import { answersIn, type ChoiceAnswer } from '../checks/chat-json.ts'
import type { TokenCounts } from '../checks/completion.ts'
import { claimedCredits, responsesIn } from '../checks/rpc-credits.ts'
import { shownText } from '../checks/shown-text.ts'
import type { ClauseReporter } from '../findings/findings.ts'
import { getOrAdd } from '../merge.ts'
import type { Audit, AuditContext } from './audit.ts'
import { claimInBody } from './ledger/charge.ts'
import { countsOf } from './ledger/prices.ts'
import { createGroups } from './send-order.ts'
import { createSampledForms, type Sampled, type SampledForm, sampledOf } from './twin-samples.ts'

/** Compares the responses to one content in several forms. `judgeSampledForms` accuses where chance decides them. */
export function createTwinAudit(
  { contract }: Pick<AuditContext, 'contract'>,
  reporter: ClauseReporter<'twins'>,
): Audit & { readonly sampled: () => readonly SampledForm[] } {
  const samples = createSampledForms()
  const texts = new Map<string, TextsOfForm>()
  const groups = createGroups<Twin>(forms => {
    const original = forms.find(({ role }) => role.form === 'original')
    if (original === undefined) return
    for (const twin of forms) {
      if (twin === original) continue
      judgePair(original, twin, reporter)
      addTexts(texts, original, twin)
      const isRefused = original.isAccepted === false && twin.isAccepted === false
      const { form, mayDiffer } = twin.role
      if (original.sampled !== null && twin.sampled !== null && !isRefused && !mayDiffer.includes('answer'))
        samples.add(form, original.sampled, twin.sampled)
    }
  })
  return {
    add: (observation, watermarkMs) => {
      const role = requestTraits(observation.request).twin(observation.request)
      if (role !== null && observation.sentMs !== null)
        groups.add(role.group, twinOf(observation, role, observation.sentMs, contract))
      groups.settle(watermarkMs)
    },
    finish: isComplete => {
      if (isComplete) groups.settle(Number.POSITIVE_INFINITY)
      for (const [form, known] of texts) judgeTexts(form, known, reporter)
    },
    sampled: samples.forms,
  }
}

/** What one form of a request got. */
type Twin = {
  readonly id: number
  readonly role: TwinRole
  readonly sentMs: number
  /** Whether it was accepted; null: there is no response, or one that has nothing to do with the form. */
  readonly isAccepted: boolean | null
  readonly status: number | null
  /** null: not stated, below too. */
  readonly promptTokens: number | null
  readonly credits: number | null
  /** null: it is not deterministic. */
  readonly answer: FixedAnswer | null
  readonly sampled: Sampled | null
  /** Characters per token of its text; null: too short, or not all tokens are shown. */
  readonly perToken: number | null
  /** The results of its items, in order. */
  readonly results: readonly unknown[] | null
}

function twinOf(observation: Observation, role: TwinRole, sentMs: number, contract: Contract): Twin {
  const { id, request, response, outcome } = observation
  const status = outcome.kind === 'answered' && response !== null ? outcome.status : null
  const isUnrelated =
    status === null || response === null || isUnrelatedStatus(status) || isAbuseBlock(response, contract)
  const isAccepted = isUnrelated || isFromGateway(response, contract) ? null : is2xx(status)
  const rpc = isAccepted && response !== null && isRpc(request) ? { request, response } : null
  const credits = rpc && claimedCredits(rpc.response, contract)
  return {
    ...{ id, role, sentMs, isAccepted, status },
    promptTokens: isAccepted ? (countsOf(observation)?.prompt ?? null) : null,
    credits: credits === null ? null : Number(credits),
    answer:
      isAccepted && response !== null && isChat(request) && isDeterministic(request.options)
        ? fixedIn(observation, response, request.maxCompletionTokens)
        : null,
    sampled: sampledOf(observation),
    perToken: isAccepted && isChat(request) ? perTokenOf(request, response) : null,
    results: rpc && inOrder(role, resultsIn(rpc.request, rpc.response)),
  }
}

/** A shorter text has no usual length of a token. */
const minTokens = 12

function perTokenOf(request: ChatDescriptor, response: ObservedResponse | null): number | null {
  const shown = shownText(response, request)
  if (shown === null || shown.reasoning !== 'none' || shown.tokens < minTokens) return null
  return shown.characters / shown.tokens
}

/** Pairs of a form: how many have less text per token than without it, how many have more, and some of each. */
type TextsOfForm = { pairs: number; less: number; more: number; readonly ids: number[]; was: number; is: number }

/** Texts differ by less than this factor by chance at least once in two pairs. */
const clearRatio = 1.4
/** That all of 20 pairs differ in one direction is chance in less than 1 of 100,000 runs. */
const minPairs = 20
/** A finding cites at most this many requests. */
const maxCited = 8

function addTexts(texts: Map<string, TextsOfForm>, original: Twin, { id, role, perToken: is }: Twin): void {
  const { perToken: was } = original
  if (was === null || is === null) return
  const known = getOrAdd(texts, role.form, () => ({ pairs: 0, less: 0, more: 0, ids: [], was: 0, is: 0 }))
  known.pairs++
  known.was += was
  known.is += is
  if (is * clearRatio < was) known.less++
  if (was * clearRatio < is) known.more++
  if (known.ids.length < maxCited) known.ids.push(original.id, id)
}

function judgeTexts(
  form: string,
  { pairs, less, more, ids, was, is }: TextsOfForm,
  reporter: ClauseReporter<'twins'>,
): void {
  if (pairs < minPairs) return
  if (less < pairs && more < pairs) {
    reporter.pass('twin.text')
    return
  }
  const mean = (sum: number) => (sum / pairs).toFixed(1)
  const message = `${pairs} completions in the form ${form} have ${mean(is)} characters per token in the mean, and each is far from its twin, expected about ${mean(was)} as without it`
  reporter.fail('twin.text', message, ids)
}

/** What a deterministic completion has each time. */
type FixedAnswer = {
  /** Its text, or its calls of tools; null: not all is known. */
  readonly said: ChoiceAnswer['content'] | ChoiceAnswer['calls']
  readonly finish: unknown
  readonly counts: TokenCounts | null
  /** The maximum of its tokens. */
  readonly most: number
  /** In pico-USD; null: not stated. */
  readonly price: bigint | null
}

/** null: not one choice. */
function fixedIn(observation: Observation, response: ObservedResponse, most: number): FixedAnswer | null {
  const [answer, another] = answersIn(response)
  if (answer === undefined || another !== undefined) return null
  const { content, calls, finish } = answer
  const price = claimInBody(response)?.said ?? null
  return { said: calls.length > 0 ? calls : content, finish, counts: countsOf(observation), most, price }
}

/** In the order of the items of the first request. */
const inOrder = ({ form }: TwinRole, results: readonly unknown[] | null): readonly unknown[] | null =>
  form === 'other-order' ? (results?.toReversed() ?? null) : results

/** Null if an item has no result: what a node fails at now, it may do a moment later. */
function resultsIn({ items }: RpcDescriptor, { body }: ObservedResponse): readonly unknown[] | null {
  if (body.kind !== 'json' || body.cut) return null
  const responses = responsesIn(body.value, items)
  const results = responses?.map(each => each?.result)
  return results === undefined || results.some(each => each === undefined) ? null : results
}

function judgePair(original: Twin, twin: Twin, reporter: ClauseReporter<'twins'>): void {
  const { form, mayDiffer } = twin.role
  const ids = [original.id, twin.id]
  if (original.isAccepted === null || twin.isAccepted === null) return
  if (original.isAccepted !== twin.isAccepted) {
    const message = `the form ${form} got status ${twin.status}, expected a success or a refusal as without it: ${original.status}`
    reporter.fail('twin.accepted', message, ids)
    return
  }
  reporter.pass('twin.accepted')
  const judge = (clause: PartClause, part: TwinRole['mayDiffer'][number], was: unknown, is: unknown, what: string) => {
    if (was === null || is === null || mayDiffer.includes(part)) return
    if (isDeepStrictEqual(was, is)) reporter.pass(clause)
    else reporter.fail(clause, `the form ${form} has ${what} ${quote(is)}, expected ${quote(was)} as without it`, ids)
  }
  judge('twin.tokens', 'tokens', original.promptTokens, twin.promptTokens, 'prompt tokens')
  judge('twin.credits', 'credits', original.credits, twin.credits, 'credits')
  judge('twin.result', 'result', original.results, twin.results, 'the results')
  if (original.answer === null || twin.answer === null) return
  if (form === 'shorter') {
    judgeCut(original.answer, twin.answer, ids, reporter)
    return
  }
  const wrong = differenceOf(original.answer, twin.answer, twin.role)
  if (wrong === null) reporter.pass('twin.answer')
  else reporter.fail('twin.answer', `the form ${form} has ${wrong} as without it`, ids)
}

/** The whole text tells whether the one with half of the tokens was cut at its limit, if it reached that. */
function judgeCut(
  whole: FixedAnswer,
  half: FixedAnswer,
  ids: readonly number[],
  reporter: ClauseReporter<'twins'>,
): void {
  const tokens = half.counts?.completion ?? 0
  if (typeof whole.said !== 'string' || typeof half.said !== 'string' || half.said === '' || tokens < half.most) return
  if (!whole.said.startsWith(half.said) || whole.said === half.said) return
  if (half.finish === 'length') reporter.pass('twin.length')
  else {
    const message = `a text of the allowed ${half.most} tokens ends with ${quote(half.finish)}, expected "length", since it goes on with ${quote(whole.said.slice(half.said.length, half.said.length + 28))} where more are allowed`
    reporter.fail('twin.length', message, ids)
  }
}

/** The first part of a deterministic completion that another form has in another way; null: there is none. */
function differenceOf(was: FixedAnswer, is: FixedAnswer, { form, mayDiffer }: TwinRole): string | null {
  const tell = (what: string, before: unknown, now: unknown) => `${what} ${quote(now)}, expected ${quote(before)}`
  if (!mayDiffer.includes('answer')) {
    if (was.said !== null && is.said !== null && !isDeepStrictEqual(was.said, is.said))
      return differenceOfTexts(was.said, is.said)
    if (was.finish !== is.finish) return tell('the finish reason', was.finish, is.finish)
    const [before, now] = [was.counts?.completion ?? null, is.counts?.completion ?? null]
    if (before !== null && now !== null && before !== now) return tell('completion tokens', before, now)
  }
  // Tokens from a cache have another price, and another account may pay in another currency.
  const isPriced =
    was.price !== null && is.price !== null && was.counts !== null && isDeepStrictEqual(was.counts, is.counts)
  if (!isPriced || mayDiffer.includes('price') || form === 'other-caller' || was.price === is.price) return null
  return `the cost ${formatPico(is.price ?? 0n)}, expected ${formatPico(was.price ?? 0n)}`
}

/** The texts from shortly before they differ. */
function differenceOfTexts(was: NonNullable<FixedAnswer['said']>, is: NonNullable<FixedAnswer['said']>): string {
  if (typeof was !== 'string' || typeof is !== 'string') return `the answer ${quote(is)}, expected ${quote(was)}`
  let at = 0
  while (was[at] === is[at]) at++
  const from = Math.max(0, at - 12)
  const shown = (text: string) => quote(text.slice(from, at + 28))
  return `from character ${from} on the text ${shown(is)}, expected ${shown(was)}`
}

type PartClause = 'twin.tokens' | 'twin.credits' | 'twin.result'
