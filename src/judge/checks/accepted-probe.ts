import type { CheckName } from '../../contract/clause.ts'
import type { Contract } from '../../contract/contract.ts'
import type { CraftedRequest, Sender } from '../../contract/probe.ts'
import { probeOf } from '../../contract/probes.ts'
import { parseJson, toObject } from '../../lib/json.ts'
import { memoizeByObject } from '../../lib/memoize.ts'
import type { Observation } from '../../observation/observation.ts'
import type { ChatDescriptor } from '../../observation/requests/chat.ts'
import { isProbeRequest } from '../../observation/requests/request.ts'
import type { RpcDescriptor, RpcItem } from '../../observation/requests/rpc.ts'
import { is2xx } from '../../observation/response.ts'

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
        const { request, as } = probeOf(name)
        const described = describe(request(contract), contract)
        sent = described && { request: described, as }
        known.set(name, sent)
      }
      return sent
    },
  }
})

function describe({ path, body }: CraftedRequest, contract: Contract): ChatDescriptor | RpcDescriptor | null {
  const value = parseJson(body ?? '')
  if (path === contract.paths.chat) return describeChat(toObject(value), contract)
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
    maxCompletionTokens: typeof bound === 'number' ? bound : Number.POSITIVE_INFINITY,
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
