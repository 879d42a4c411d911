import { bodyOptions } from '../../contract/chat-options.ts'
import { chatPath } from '../../contract/chat-terms.ts'
import { canaryOf } from '../../contract/requests/canary.ts'
import { type Random, randomStream } from '../../lib/random.ts'
import type { ChatDescriptor } from '../../observation/requests/chat.ts'
import type { ReplayRole } from '../../observation/requests/traits.ts'
import { withLengths } from '../../plan/plan.ts'
import type { RecordedPrompt } from '../arrivals/arrivals.ts'
import type { Headers } from '../callers/caller.ts'
import {
  type BuiltRequest,
  type CallOf,
  jsonHeaders,
  keyOf,
  type Message,
  type OpenReader,
  type RequestBuilder,
  type RequestContext,
} from './call.ts'
import { pointToLeave } from './hang-up.ts'
import { type AnswerSink, createStreamReader } from './stream-reader.ts'

export const chatRequests: RequestBuilder<CallOf<'chat'>> = {
  build: (plan, { firstId, prompt }, headers, context) => {
    if (prompt === undefined) return buildChat(plan, firstId, headers, context)
    const call = withLengths(plan, prompt)
    const { content, newTokens } = recordedText(prompt, firstId, context)
    const { descriptor, ...built } = buildChatOf(call, [{ role: 'user', content }], headers, context)
    const leaves = pointToLeave(plan.hangUp, firstId, context.seed)
    return { ...built, ...slowly(plan, { ...descriptor, recorded: prompt.index, newTokens }), leaves }
  },
}

/**
 * The text of a recorded prompt: of its own, or words. Equal blocks have equal words, prompts of a session begin with the
 * same words, and all else is new in each run, since a cache of the target may outlive a run. `newTokens`: how many words
 * only this request has; undefined if it is unknown.
 */
function recordedText(
  { promptTokens, session, sharedTokens, blocks, blockTokens, stage, text }: RecordedPrompt,
  firstId: number,
  { seed, runId }: Pick<RequestContext, 'seed' | 'runId'>,
): { readonly content: string; readonly newTokens?: number } {
  if (text !== null) return { content: text }
  let left = promptTokens
  const parts: string[] = []
  const add = (tokens: number, what: string) => {
    const count = Math.min(left, tokens)
    left -= count
    if (count > 0) parts.push(makePrompt(count, randomStream(seed, `trace/${runId}/${stage}/${what}`)))
  }
  for (const block of blocks) add(blockTokens, `block/${block}`)
  if (blocks.length === 0 && session > 0) add(left, `session/${session}`)
  if (blocks.length === 0) add(sharedTokens, 'shared')
  const newTokens = left
  add(left, `own/${firstId}`)
  return { content: parts.join(' '), ...(newTokens > 0 && { newTokens }) }
}

/** `echoes`: only a request with options gets an echo of them. */
const readerFor =
  (echoes: boolean, onAnswer: AnswerSink | null): OpenReader =>
  ({ chat: terms }, mask, digest) =>
    createStreamReader({
      doneMarker: terms.stream.doneMarker,
      echoField: echoes ? terms.parametersField : null,
      mask,
      onAnswer,
      digest,
    })
const openReader = readerFor(false, null)
const openEchoReader = readerFor(true, null)

/**
 * A chat completion with a new prompt for each `content`. With an idempotency key, a replay has the `content` of its
 * original.
 */
export function buildChat(
  plan: CallOf<'chat'>,
  content: number | string,
  headers: Headers,
  context: RequestContext,
  replay: ReplayRole | null = null,
): BuiltRequest<ChatDescriptor> {
  const { promptTokens, options } = plan
  const { contract, seed, runId } = context
  const random = randomStream(
    seed,
    `prompt/${options?.samePrompt ? (replay?.role === 'conflict' ? 'other' : 'same') : content}`,
  )
  const prompt = makePrompt(promptTokens, random)
  const canary = plan.canary ? canaryOf(`${seed}/${runId}/${content}`) : undefined
  const asked = canary === undefined ? prompt : `${prompt}. Begin your answer with the word ${canary}`
  const messages = [{ role: 'user', content: asked }] as const
  if (replay === null) {
    const built = buildChatOf(plan, messages, headers, context)
    const leaves = pointToLeave(plan.hangUp, content, seed)
    return withCanary(canary, { ...built, ...slowly(plan, built.descriptor), leaves })
  }
  const { descriptor, ...built } = buildChatOf(
    plan,
    messages,
    { ...keyOf(replay, contract, runId), ...headers },
    context,
  )
  return withCanary(canary, { ...built, descriptor: { ...descriptor, replay }, keepsDigest: true })
}

/** What a request has whose client reads slowly. */
const slowly = ({ readRate }: CallOf<'chat'>, descriptor: ChatDescriptor) =>
  readRate === undefined ? { descriptor } : { descriptor: { ...descriptor, readRate }, readRate }

const withCanary = (canary: string | undefined, built: BuiltRequest<ChatDescriptor>): BuiltRequest<ChatDescriptor> =>
  canary === undefined ? built : { ...built, descriptor: { ...built.descriptor, canary } }

/** A chat completion of these messages. It turns off the system prompts of the service. */
export function buildChatOf(
  plan: CallOf<'chat'>,
  messages: readonly Message[],
  headers: Headers,
  { contract, bounds }: RequestContext,
  onAnswer: AnswerSink | null = null,
): BuiltRequest<ChatDescriptor> {
  const { kind, model, modelTier, stream, promptTokens, maxCompletionTokens, isBounded, options } = plan
  const { lengthField, parametersField, systemPromptOption } = contract.chat
  const parameters = bodyOptions(options, contract)
  const body = {
    model: options?.suffix ? `${model}:${options.suffix}` : model,
    messages,
    stream,
    // Many servers state the usage of a stream only if they are asked.
    ...(stream && contract.chat.stream.asksForUsage && { stream_options: { include_usage: true } }),
    ...(isBounded && { [lengthField]: maxCompletionTokens }),
    ...options?.body,
    ...((systemPromptOption !== null || Object.keys(parameters).length > 0) && { [parametersField]: parameters }),
  }
  return {
    descriptor: { kind, model, modelTier, stream, promptTokens, maxCompletionTokens, options },
    request: {
      method: 'POST',
      path: chatPath(contract.paths.chat, model),
      headers: {
        ...jsonHeaders,
        ...(stream && { accept: 'text/event-stream' }),
        ...(options?.encoding && { 'accept-encoding': options.encoding }),
        ...headers,
      },
      body: JSON.stringify(body),
      timeouts: bounds.timeouts.chat,
      maxBodyBytes: bounds.maxBodyBytes,
    },
    keepsDigest: false,
    openReader: !stream
      ? null
      : onAnswer !== null
        ? readerFor(options !== null, onAnswer)
        : options === null && !plan.canary
          ? openReader
          : openEchoReader,
  }
}

/**
 * Common English words. Each is one token in the widely used tokenizers (cl100k and o200k), with or without a space
 * before it. So a prompt of n words has n tokens, plus the tokens of the chat template.
 */
const words = (
  'time year people way day man thing woman life child world school state family student group country problem hand ' +
  'part place case week company system program question work government number night point home water room mother ' +
  'area money story fact month lot right study book eye job word business issue side kind head house service friend ' +
  'father power hour game line end member law car city community name bank team minute idea body information ' +
  'back parent face others level office door health person art war history party result change energy reason ' +
  'research girl board moment air teacher force education foot boy age policy music market sense nation plan college ' +
  'interest death experience effect use class control field development role color rate heart drug show leader light ' +
  'voice wife language mind price report decision son view relationship town road form value action model season series ' +
  'tax director position player record paper space ground event official matter center list site project activity ' +
  'star table need court oil access cost industry figure street image phone data picture practice piece land ' +
  'product doctor wall patient worker news test movie north love support technology step baby computer type film tree'
).split(' ')

/** A prompt of `tokens` tokens. Prompts are random, so the target's prompt cache never hits. */
export function makePrompt(tokens: number, random: Random): string {
  const chosen = Array.from({ length: tokens }, () => words[random.int(words.length)])
  return chosen.join(' ')
}
