import { choicesOf, unknownMember } from '../../contract/chat-options.ts'
import type { ClausesOf } from '../../contract/clauses.ts'
import type { Contract } from '../../contract/contract.ts'
import { isAssumed } from '../../contract/sources.ts'
import { quote } from '../../lib/format.ts'
import { toObject } from '../../lib/json.ts'
import type { ObservedResponse } from '../../observation/observation.ts'
import type { ChatDescriptor } from '../../observation/requests/chat.ts'
import { bodyText, is2xx, jsonObject } from '../../observation/response.ts'
import { checkLogprobs } from './chat-response.ts'
import { type Check, type Expect, expectFor } from './check.ts'

type ChatRequestClause = ClausesOf<'chat-request'>

/** Checks that a valid chat request is accepted, and that its options take effect. */
export const checkChatRequest: Check<'chat-request', ChatDescriptor> = (
  { response, request, id, outcome },
  contract,
  reporter,
) => {
  // An audit of replays judges what a conflict gets.
  if (response === null || request.replay?.role === 'conflict') return
  const expect = expectFor(reporter, id)
  const accepted = is2xx(response.status)
  if (accepted || (refusals.includes(response.status) && !mentionsModel(response)))
    checkAccepted(response, request, contract, expect)
  if (!accepted || outcome.kind !== 'answered') return
  if (request.stream) {
    const stream = response.body.kind === 'stream' ? response.body.stream : null
    if (stream !== null) checkOldBound(stream.usage, stream.finishReasons, request, expect)
    return
  }
  const body = jsonObject(response)
  const choices: readonly unknown[] = Array.isArray(body?.choices) ? body.choices : []
  // If members of the body are missing, so may be parts of a log probability.
  if (response.body.kind !== 'json' || !response.body.cut)
    checkLogprobs(body?.prompt_logprobs, choices, request, contract, expect)
  checkCount(choices, request, expect)
  const finishReasons = choices.map(choice => toObject(choice)?.finish_reason)
  checkOldBound(body?.usage, finishReasons, request, expect)
}

/**
 * The statuses with which a service rejects an invalid request. Other statuses are about the caller, the rate or the
 * format.
 */
const refusals: readonly number[] = [400, 422]

/** A rejection that mentions the model or its context is about a limit of that model, not about the request. */
export const mentionsModel = (response: ObservedResponse): boolean => /\b(models?\b|context)/i.test(bodyText(response))

/** Whether a rejection may be about the model, because neither the target nor a profile states that there is such a model. */
export const isOfUnknownModel = (response: ObservedResponse, contract: Contract): boolean =>
  isAssumed(contract, 'models') && [400, 404, 422].includes(response.status) && mentionsModel(response)

function checkAccepted(
  response: ObservedResponse,
  request: ChatDescriptor,
  contract: Contract,
  expect: Expect<ChatRequestClause>,
): void {
  const clause = clauseOf(request, contract)
  if (clause === null) return
  const isAccepted = is2xx(response.status)
  const shouldAccept = clause !== 'chat.request.unknown-member' || contract.chat.unknownMembers === 'tolerated'
  expect(clause, isAccepted === shouldAccept, () => {
    const sent = quote(request.options?.body ?? {})
    const got = isAccepted ? 'was accepted' : `got status ${response.status} ${quote(bodyText(response))}`
    return `a request with ${sent} ${got}, expected ${shouldAccept ? 'a success' : 400}`
  })
}

/** A prompt this short fits into any model, however tokens are counted and whatever a template adds. */
const safePromptTokens = 1_000

/**
 * The clause that requires the request to be accepted; null if it may be rejected or if several clauses could be the
 * reason.
 */
function clauseOf(request: ChatDescriptor, contract: Contract): ChatRequestClause | null {
  const { options } = request
  if (request.promptTokens > safePromptTokens) return null
  if (options === null) return 'chat.request'
  if (options.suffix !== null || Object.keys(options.parameters).length > 0) return null
  const members = Object.keys(options.body)
  const [first, second] = members
  if (first === undefined) return 'chat.request'
  if (members.length === 1) return clauseOfField(first, options.body[first], request, contract)
  const isPair = members.length === 2 && (first === 'logprobs' || second === 'logprobs')
  const top = options.body.top_logprobs
  return isPair && options.body.logprobs === true ? clauseOfField('top_logprobs', top, request, contract) : null
}

function clauseOfField(
  member: string,
  value: unknown,
  request: ChatDescriptor,
  contract: Contract,
): ChatRequestClause | null {
  switch (member) {
    case 'frequency_penalty':
      return isWithin(value, -2, 2) ? 'chat.request.frequency-penalty' : null
    case 'max_temp':
      return isWithin(value, 0, 2) ? 'chat.request.max-temp' : null
    case 'max_tokens':
      return Number.isInteger(value) ? 'chat.request.max-tokens' : null
    case 'n':
      return Number.isInteger(value) && isWithin(value, 1, Infinity) ? 'chat.request.n' : null
    case 'prompt_cache_key':
      return typeof value === 'string' && value !== '' ? 'chat.request.prompt-cache-key' : null
    case 'logprobs':
      return value === false || (value === true && hasLogprobs(request, contract)) ? 'chat.request.logprobs' : null
    case 'top_logprobs':
      return Number.isInteger(value) && isWithin(value, 0, Infinity) && hasLogprobs(request, contract)
        ? 'chat.request.top-logprobs'
        : null
    case 'messages':
      return clauseOfMessages(value)
    case unknownMember:
      return contract.chat.unknownMembers === null ? null : 'chat.request.unknown-member'
    default:
      return null
  }
}

const isWithin = (value: unknown, min: number, max: number): boolean =>
  typeof value === 'number' && value >= min && value <= max

const hasLogprobs = ({ model }: ChatDescriptor, { models }: Contract): boolean =>
  models.some(({ id, logprobs }) => id === model && logprobs === true)

/** Checks that there are at most the requested number of choices, each with its own index. */
function checkCount(choices: readonly unknown[], request: ChatDescriptor, expect: Expect<'chat.request.n'>): void {
  const max = choicesOf(request.options)
  if (max === 1 && choices.length <= 1 && request.options?.body.n === undefined) return
  const indices = choices.map(choice => toObject(choice)?.index).filter(index => index !== undefined)
  const isUnique = new Set(indices).size === indices.length
  expect('chat.request.n', choices.length <= max && isUnique, () => {
    if (choices.length > max) return `${choices.length} choices were returned, expected at most ${max}`
    return `choices with the indices ${quote(indices)} were returned, expected a different index for each`
  })
}

/** Checks for a completion that was cut because a max_tokens of 0 or less was not ignored. */
function checkOldBound(
  usage: unknown,
  finishReasons: readonly unknown[],
  { options, maxCompletionTokens }: ChatDescriptor,
  expect: Expect<'chat.request.max-tokens'>,
): void {
  const older = options?.body.max_tokens
  if (typeof older !== 'number' || older > 0 || maxCompletionTokens <= 1) return
  const tokens = toObject(usage)?.completion_tokens
  const isTruncated = finishReasons.includes('length')
  expect(
    'chat.request.max-tokens',
    !(isTruncated && typeof tokens === 'number' && tokens <= finishReasons.length),
    () => `a completion was cut after ${tokens} tokens, expected max_tokens of ${older} to be ignored`,
  )
}

type MessagesClause = 'chat.request.message' | 'chat.request.text-part' | 'chat.request.cache-control'

/**
 * The clause that requires these messages to be accepted, by their rarest feature. Null if they may be rejected: a part
 * that only some models read, or a ttl, which needs an undocumented header.
 */
function clauseOfMessages(messages: unknown): MessagesClause | null {
  if (!Array.isArray(messages) || messages.length === 0) return null
  let clause: MessagesClause = 'chat.request.message'
  for (const message of messages) {
    const { role, content } = toObject(message) ?? {}
    if (role !== 'user' && role !== 'system') return null
    if (typeof content === 'string' && content !== '') continue
    if (!Array.isArray(content) || content.length === 0) return null
    for (const part of content) {
      const { type, text, cache_control: control, ...others } = toObject(part) ?? {}
      if (type !== 'text' || typeof text !== 'string' || text === '' || Object.keys(others).length > 0) return null
      if (control === undefined) {
        if (clause === 'chat.request.message') clause = 'chat.request.text-part'
      } else if (isEphemeral(control)) clause = 'chat.request.cache-control'
      else return null
    }
  }
  return clause
}

function isEphemeral(control: unknown): boolean {
  const members = toObject(control)
  return members?.type === 'ephemeral' && Object.keys(members).length === 1
}
