import type { Contract, Resource } from '../contract/contract.ts'
import { resourceDraw } from '../contract/limiters.ts'
import { isJson, isObject, parseUncut } from '../lib/json.ts'
import type { Account } from './account.ts'
import type { Behavior } from './behavior.ts'
import type { Identifiers } from './identifiers.ts'
import { keyedReplies, replayWhole, storeSuccess } from './keyed-replies.ts'
import type { Limiter } from './limiter.ts'
import { errorReply, jsonReply, type Reply, type RequestState } from './message.ts'

type ResourceHandlerDeps = {
  readonly contract: Contract
  readonly behavior: Behavior
  readonly limiter: Limiter
  readonly identifiers: Identifiers
}

/** The length of every list. */
const totalItems = 7

/**
 * Resources that are neither chat nor RPC, as far as they are documented: limits, headers, the input of embeddings,
 * lists in pages. Nothing is charged.
 */
export function resourceHandler({
  contract,
  behavior,
  limiter,
  identifiers,
}: ResourceHandlerDeps): (state: RequestState, account: Account, resource: Resource) => Reply | Promise<Reply> {
  const { headerPrefix: prefix, pagination } = contract
  const keyed = keyedReplies({ contract, behavior })
  const hasKeys = contract.idempotency.calls.includes('resource')

  return (state, account, resource) => {
    const draw = resourceDraw(resource.path, resource.draws)
    if (!limiter.enter(state, account, draw).admitted) return limiter.reject(state, draw)
    const body = resource.method === 'POST' ? parseUncut(state.request.body) : {}
    if (resource.method === 'POST' && !isJson(state.request.headers['content-type']))
      return errorReply(state, 415, 'Content-Type must be application/json')
    if (!isObject(body)) return errorReply(state, 400, 'Invalid JSON request')
    if (resource.isInference) {
      if (typeof body.model !== 'string') return errorReply(state, 400, 'The model is missing')
      state.headers[`${prefix}model-id`] = body.model
      state.headers[`${prefix}model-name`] = titleOf(body.model)
    }
    if (!hasKeys || resource.method === 'GET') return respond(state, resource, body)
    return keyed(state, account, resource.path, {
      first: store => storeSuccess(respond(state, resource, body), state, '0', store),
      again: stored => replayWhole(state, stored),
    })
  }

  function respond(
    state: RequestState,
    { draws, isPaginated }: Resource,
    body: Readonly<Record<string, unknown>>,
  ): Reply {
    const { model } = body
    switch (draws) {
      case 'embedding':
        if (!behavior.isEmbeddable(body.input))
          return errorReply(state, 400, 'input must be a string or an array of strings')
        return jsonReply(state, embeddings(body))
      case 'image':
        state.headers[`${prefix}is-blurred`] = 'false'
        state.headers[`${prefix}is-content-violation`] = 'false'
        state.headers[`${prefix}is-adult-model-content-violation`] = 'false'
        state.headers[`${prefix}control-instance`] = 'reference-image-1'
        return jsonReply(state, { id: identifiers.completionId(), images: ['UklGRg=='] })
      case 'audio':
        state.headers['content-type'] = 'audio/mpeg'
        state.headers['content-disposition'] = 'attachment; filename="speech.mp3"'
        return { status: 200, headers: state.headers, afterMs: 0, body: { kind: 'whole', text: 'ID3' } }
      case 'video-queue':
        return jsonReply(state, { model, queue_id: identifiers.completionId() })
      case 'video-retrieve':
        return jsonReply(state, { status: 'PROCESSING', average_execution_time: 60_000, execution_duration: 1_000 })
      case null:
        return isPaginated ? listPage(state) : jsonReply(state, { object: 'resource' })
    }
  }

  function listPage(state: RequestState): Reply {
    const query = new URLSearchParams(state.request.path.split('?')[1] ?? '')
    const positive = (name: string) =>
      /^[1-9]\d*$/.test(query.get(name) ?? '') ? Math.min(Number(query.get(name)), Number.MAX_SAFE_INTEGER) : null
    const { page, limit } = behavior.page(positive(pagination.pageParameter), positive(pagination.limitParameter))
    const first = (page - 1) * limit
    const items = Array.from({ length: Math.max(0, Math.min(limit, totalItems - first)) }, (_, index) => ({
      id: `item-${first + index + 1}`,
    }))
    state.headers['x-pagination-limit'] = String(limit)
    state.headers['x-pagination-page'] = String(page)
    state.headers['x-pagination-total'] = String(totalItems)
    state.headers['x-pagination-total-pages'] = String(Math.ceil(totalItems / limit))
    return jsonReply(state, { object: 'list', data: items })
  }
}

const embedding = [0.25, -0.5]
/** As little-endian floats of 32 bits, which SDKs ask for. */
const packed = Buffer.from(new Float32Array(embedding).buffer).toString('base64')

function embeddings({ model, input, encoding_format: format }: Readonly<Record<string, unknown>>) {
  const count = Array.isArray(input) ? input.length : 1
  const item = { object: 'embedding', embedding: format === 'base64' ? packed : embedding }
  return {
    object: 'list',
    model,
    data: Array.from({ length: count }, (_, index) => ({ ...item, index })),
    usage: { prompt_tokens: count, total_tokens: count },
  }
}

/** `ref-embed` becomes `Ref Embed`. */
const titleOf = (id: string): string =>
  id
    .split('-')
    .map(word => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
    .join(' ')
