import { isChatPath } from '../../contract/chat-terms.ts'
import type { CheckName } from '../../contract/clause.ts'
import type { Contract } from '../../contract/contract.ts'
import type { CraftedRequest, RightAnswer, Sender } from '../../contract/probe.ts'
import { isPromisedStatus, probeOf } from '../../contract/probes.ts'
import { quote } from '../../lib/format.ts'
import { parseJson, toObject } from '../../lib/json.ts'
import { memoizeByObject } from '../../lib/memoize.ts'
import type { Observation, ObservedResponse } from '../../observation/observation.ts'
import type { ChatDescriptor } from '../../observation/requests/chat.ts'
import type { ProbeDescriptor } from '../../observation/requests/probe.ts'
import { isProbeRequest } from '../../observation/requests/request.ts'
import type { RpcDescriptor, RpcItem } from '../../observation/requests/rpc.ts'
import { bodyText, is2xx, isAbuseBlock, isFromGateway, isOverLimit } from '../../observation/response.ts'
import { isOfUnknownModel } from './chat-request.ts'
import { type Check, expectFor } from './check.ts'
import { isRpcError, joinFirst } from './rpc-response.ts'

/** Checks that a crafted request gets a documented response. */
export const checkProbe: Check<'probe', ProbeDescriptor> = ({ response, request, id, outcome }, contract, reporter) => {
  if (response === null) return
  const isWhole = outcome.kind === 'answered'
  const { clause, promised, right, names, as } = probeOf(request.probe)
  if (right !== undefined) {
    if (!isWhole || isUnrelated(response, as, contract) || [401, 402, 403].includes(response.status)) return
    const wrong = wrongAnswer(right, response)
    return expectFor(reporter, id)(clause, wrong === null, () => `${request.probe} ${wrong}`)
  }
  if (isFromGateway(response, contract)) return
  const statuses = promised(contract)
  if (statuses.length === 0) return
  if (isAbuseBlock(response, contract)) return
  const isPromised = isPromisedStatus(request.probe, response.status, contract)
  if (!isPromised && (isUnrelated(response, as, contract) || isOfUnknownModel(response, contract))) return
  const expect = expectFor(reporter, id)
  expect(clause, isPromised, () => `${request.probe} got status ${response.status}, expected ${statuses.join(' or ')}`)
  if (!isPromised || names.length === 0 || !isWhole || !contract.rpc.namesEveryMethod) return
  const said = bodyText(response)
  const unnamed = names.filter(name => !said.includes(name))
  if (unnamed.length > 0 && !isComplete(response)) return
  expect(
    'rpc.unsupported-method.named',
    unnamed.length === 0,
    () => `the message is ${quote(said)}, expected it to name ${joinFirst(unnamed, ' and ')}`,
  )
}

/** What is wrong with an answer to a request that JSON-RPC 2.0 has a rule for; null: nothing. */
function wrongAnswer(right: RightAnswer, { status, body }: ObservedResponse): string | null {
  const value = body.kind === 'json' ? body.value : undefined
  const got = body.kind === 'text' ? body.head : body.kind === 'empty' ? 'nothing' : quote(value)
  const expected = (what: string, isRight: boolean) =>
    isRight ? null : `got ${got} with status ${status}, expected ${what}`
  switch (right.kind) {
    case 'error': {
      const code = toObject(toObject(value)?.error)?.code
      return expected(
        `one error with the code ${right.codes.join(' or ')}`,
        right.codes.some(each => each === code),
      )
    }
    case 'nothing':
      return expected('nothing', body.kind === 'empty')
    case 'response': {
      const [only, ...others] = right.isList && Array.isArray(value) ? value : [right.isList ? undefined : value]
      const isRight = others.length === 0 && toObject(only)?.id === right.id
      return expected(`only a response with the id ${quote(right.id)}`, isRight)
    }
    case 'answer':
      return expected(
        `a response with the id ${quote(right.id)}, or a status of a refusal`,
        status < 500 && (status >= 400 || toObject(value)?.id === right.id),
      )
    case 'refusal': {
      const responses = (Array.isArray(value) ? value : [value]).map(each => toObject(each) ?? undefined)
      return expected('no result', status >= 400 || (responses.length > 0 && responses.every(isRpcError)))
    }
  }
}

/**
 * Statuses about the caller's rate, its balance, or an outage, and not about the request. An anonymous caller
 * has no balance, so it must not get a 402.
 */
const isUnrelated = (response: ObservedResponse, as: Sender, contract: Contract): boolean =>
  isOverLimit(response, contract) ||
  [502, 503, 504].includes(response.status) ||
  (response.status === 402 && (as === 'caller' || as === 'free-user'))

/** Long bodies are recorded only in part: long JSON strings are cut, and only the head of a text is recorded. */
const isComplete = ({ body, bytes }: ObservedResponse): boolean =>
  bytes <= (body.kind === 'text' ? maxTextLength : clippedAboveBytes)
const clippedAboveBytes = 4096
const maxTextLength = 512

/** An accepted probe as the request that it is, for the checks of such responses. */
export type AcceptedProbe = {
  readonly observation: Observation
  readonly checks: readonly CheckName[]
}

const ofBodies: readonly CheckName[] = ['chat-response', 'rpc-response', 'rpc-credits']
/** Only a caller's own account has known limits and a balance. */
const ofCallers: readonly CheckName[] = [...ofBodies, 'headers', 'conditional-headers', 'limit-headers']

/**
 * A probe with a success is a chat or RPC request with a response like any other, whatever it was sent for. Returns
 * null for all other observations, and for a probe that cannot be described.
 */
export function acceptedProbe(observation: Observation, contract: Contract): AcceptedProbe | null {
  const { request, response, outcome } = observation
  if (!isProbeRequest(request) || response === null || !is2xx(response.status) || outcome.kind !== 'answered')
    return null
  // A probe is not read as a stream.
  if (response.headers['content-type']?.startsWith('text/event-stream')) return null
  const sent = sentRequests(contract).of(request.probe)
  if (sent === null) return null
  return { observation: { ...observation, request: sent.request }, checks: sent.as === 'caller' ? ofCallers : ofBodies }
}

type SentRequest = { readonly request: ChatDescriptor | RpcDescriptor; readonly as: Sender }

/** The probes of a contract, each described once. */
const sentRequests = memoizeByObject((contract: Contract) => {
  const known = new Map<string, SentRequest | null>()
  return {
    of: (name: string): SentRequest | null => {
      let sent = known.get(name)
      if (sent === undefined) {
        const { request, right, as } = probeOf(name)
        const described = right === undefined ? describe(request(contract), contract) : null
        sent = described && { request: described, as }
        known.set(name, sent)
      }
      return sent
    },
  }
})

function describe({ path, body }: CraftedRequest, contract: Contract): ChatDescriptor | RpcDescriptor | null {
  const value = parseJson(body ?? '')
  if (isChatPath(contract.paths.chat, path)) return describeChat(toObject(value), contract)
  const [before = '', after = ''] = contract.paths.rpc.split('{network}')
  if (!path.startsWith(before) || !path.endsWith(after) || path === contract.paths.networks) return null
  return describeRpc(value, path.slice(before.length, path.length - after.length))
}

function describeChat(body: Readonly<Record<string, unknown>> | null, { models }: Contract): ChatDescriptor | null {
  const model = models.find(({ id }) => id === body?.model)
  const bound = body?.max_completion_tokens
  if (model === undefined) return null
  return {
    kind: 'chat',
    model: model.id,
    modelTier: model.tier,
    stream: false,
    promptTokens: 1,
    maxCompletionTokens: typeof bound === 'number' ? Math.floor(bound) : Number.POSITIVE_INFINITY,
    options: null,
  }
}

function describeRpc(value: unknown, network: string): RpcDescriptor | null {
  const batch = Array.isArray(value)
  const items = (batch ? value : [value]).map(itemOf)
  if (items.some(item => item === null)) return null
  return { kind: 'rpc', network, batch, items: items.filter(item => item !== null), replay: null }
}

function itemOf(value: unknown): RpcItem | null {
  const { id, method, jsonrpc, params } = toObject(value) ?? {}
  if (jsonrpc !== '2.0' || !Array.isArray(params)) return null
  if ((typeof id !== 'number' && typeof id !== 'string') || typeof method !== 'string') return null
  return { id, method, failing: false }
}
