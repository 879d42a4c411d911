import { isObject, parseJson } from '../../lib/json.ts'
import type { ParsedItem } from '../rpc/item.ts'
import { statusError, UpstreamError } from './failure.ts'
import { type Upstream, wholeText } from './upstream.ts'

/** A node behind the proxy. */
export type RpcUpstream = {
  /** The responses in the order of the items. Rejects with an `UpstreamError` if there are none. */
  readonly forward: (
    slug: string,
    request: { readonly items: readonly ParsedItem[]; readonly batched: boolean },
    signal: AbortSignal,
  ) => Promise<readonly NodeResponse[]>
  readonly warn: (note: string) => void
}

/** The response to one item as JSON, with the id of the caller. The result keeps the text of the node. */
type NodeResponse = { readonly failed: boolean; readonly text: string }

const maxBytes = 67_108_864
const internalError = -32_603

/**
 * Forwards a batch as one batch. The node gets ids of its own, so that it does not matter which ids callers use.
 * `hideKey` hides the key of the node in its errors.
 */
export function rpcUpstream(upstream: Upstream, hideKey: (text: string) => string): RpcUpstream {
  return {
    warn: upstream.warn,
    forward: async (slug, { items, batched }, signal) => {
      const requests = items.map(({ method, params }, index) => ({ jsonrpc: '2.0', id: index + 1, method, params }))
      const reply = await upstream.post({ network: slug }, JSON.stringify(batched ? requests : requests[0]), signal)
      const refused = statusError('rpc', reply)
      const text = await wholeText(reply, maxBytes)
      if (refused !== null) throw refused
      const texts = responsesOf(text, items.length, batched)
      // Some nodes send the errors of JSON-RPC with a status of 400 or 500.
      if (texts === null)
        throw new UpstreamError(500, `The rpc upstream responded ${reply.status} without a JSON-RPC response.`)
      return texts.map((raw, index) => {
        const response = withId(raw, items[index]?.id ?? null)
        return response.failed ? { ...response, text: hideKey(response.text) } : response
      })
    },
  }
}

/** The text of the response to each item, undefined for a missing one. null: these are no JSON-RPC responses. */
function responsesOf(text: string, count: number, batched: boolean): readonly (string | undefined)[] | null {
  const value = parseJson(text)
  if (isObject(value)) {
    if (!('result' in value) && !('error' in value)) return null
    // One error may answer a whole batch.
    return batched && !('error' in value) ? null : Array.from({ length: count }, () => text)
  }
  if (!Array.isArray(value) || !batched) return null
  const byId = new Map(elementTexts(text).map((element, index) => [idOf(value[index]), element]))
  return Array.from({ length: count }, (_, index) => byId.get(index + 1))
}

const idOf = (response: unknown): unknown => (isObject(response) ? response.id : null)

function withId(text: string | undefined, id: ParsedItem['id']): NodeResponse {
  const members = text?.trimStart().startsWith('{') ? memberTexts(text) : new Map<string, string>()
  const start = `{"jsonrpc":"2.0","id":${JSON.stringify(id)}`
  const error = members.get('error')
  if (error !== undefined && error !== 'null') return { failed: true, text: `${start},"error":${errorText(error)}}` }
  const result = members.get('result')
  return result === undefined
    ? { failed: true, text: `${start},"error":${errorOf('The node did not respond to this request')}}` }
    : { failed: false, text: `${start},"result":${result}}` }
}

/** The error of the node, or one with its text if it has no code and message. */
function errorText(raw: string): string {
  const error = parseJson(raw)
  if (isObject(error) && Number.isInteger(error.code) && typeof error.message === 'string') return raw
  return errorOf(isObject(error) && typeof error.message === 'string' ? error.message : raw.slice(0, 500))
}

const errorOf = (message: string): string => JSON.stringify({ code: internalError, message })

/**
 * The texts of the elements of a JSON list, unchanged: numbers beyond doubles keep their digits. `json` must be the text
 * of a list, as `JSON.parse` accepts it.
 */
const elementTexts = (json: string): readonly string[] => slices(json).map(slice => slice.trim())

/** The texts of the members of a JSON object by name, unchanged. `json` must be the text of an object. */
function memberTexts(json: string): ReadonlyMap<string, string> {
  return new Map(
    slices(json).map(slice => {
      const colon = endOfText(slice, slice.indexOf('"'))
      const name: unknown = JSON.parse(slice.slice(0, colon))
      return [String(name), slice.slice(slice.indexOf(':', colon) + 1).trim()]
    }),
  )
}

/** The parts between the commas of the outermost list or object. */
function slices(json: string): readonly string[] {
  const parts: string[] = []
  let depth = 0
  let from = 0
  for (let index = 0; index < json.length; index++) {
    const letter = json[index]
    if (letter === '"') index = endOfText(json, index) - 1
    else if (letter === '[' || letter === '{') {
      if (++depth === 1) from = index + 1
    } else if (letter === ',' && depth === 1) {
      parts.push(json.slice(from, index))
      from = index + 1
    } else if (letter === ']' || letter === '}') {
      if (--depth === 0) parts.push(json.slice(from, index))
    }
  }
  return parts.filter(part => part.trim() !== '')
}

/** The index after the text that begins with the quote at `start`. */
function endOfText(json: string, start: number): number {
  let index = start + 1
  while (index < json.length && json[index] !== '"') index += json[index] === '\\' ? 2 : 1
  return index + 1
}
