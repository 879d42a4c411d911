import type { Contract, Resource } from '../contract/contract.ts'
import { isJson, isObject, parseJson } from '../lib/json.ts'
import type { Account } from './account.ts'
import type { Behaviour } from './behaviour.ts'
import { controlLimits } from './control.ts'
import type { Identifiers } from './identifiers.ts'
import type { Limiter } from './limiter.ts'
import type { Reply } from './message.ts'
import { json, refuse, type Visit } from './visit.ts'

export type DeskOptions = {
  readonly contract: Contract
  readonly behaviour: Behaviour
  readonly limiter: Limiter
  readonly identifiers: Identifiers
}

/** Of each list. */
const totalItems = 7

/**
 * Whatever is neither chat nor RPC, as far as the document says anything of it: limits, headers, what an embedding may
 * be made of, lists in pages. Nothing is charged.
 */
export function resourceDesk({
  contract,
  behaviour,
  limiter,
  identifiers,
}: DeskOptions): (visit: Visit, account: Account, resource: Resource) => Reply {
  const { headerPrefix: prefix, pagination } = contract

  return (visit, account, resource) => {
    const { draws } = resource
    const limits =
      draws === null ? controlLimits : { requests: behaviour.resourceLimit(draws, account.tier), tokens: null }
    if (!limiter.enter(visit, account, draws ?? 'control', limits).admitted)
      return limiter.reject(visit, draws ?? 'control')
    const body = resource.method === 'POST' ? parseJson(visit.request.body) : {}
    if (resource.method === 'POST' && !isJson(visit.request.headers['content-type']))
      return refuse(visit, 415, 'Content-Type must be application/json')
    if (!isObject(body)) return refuse(visit, 400, 'Invalid JSON request')
    if (resource.isInference) {
      if (typeof body.model !== 'string') return refuse(visit, 400, 'The model is missing')
      visit.headers[`${prefix}model-id`] = body.model
      visit.headers[`${prefix}model-name`] = titleOf(body.model)
    }
    return answer(visit, resource, body)
  }

  function answer(visit: Visit, { draws, isPaginated }: Resource, body: Readonly<Record<string, unknown>>): Reply {
    const { model } = body
    switch (draws) {
      case 'embedding':
        if (!behaviour.isEmbeddable(body.input))
          return refuse(visit, 400, 'input must be a string or an array of strings')
        return json(visit, embeddings(model, Array.isArray(body.input) ? body.input.length : 1))
      case 'image':
        visit.headers[`${prefix}is-blurred`] = 'false'
        visit.headers[`${prefix}is-content-violation`] = 'false'
        visit.headers[`${prefix}is-adult-model-content-violation`] = 'false'
        visit.headers[`${prefix}control-instance`] = 'reference-image-1'
        return json(visit, { id: identifiers.completionId(), images: ['UklGRg=='] })
      case 'audio':
        visit.headers['content-type'] = 'audio/mpeg'
        visit.headers['content-disposition'] = 'attachment; filename="speech.mp3"'
        return { status: 200, headers: visit.headers, afterMs: 0, body: { kind: 'whole', text: 'ID3' } }
      case 'video-queue':
        return json(visit, { model, queue_id: identifiers.completionId() })
      case 'video-retrieve':
        return json(visit, { status: 'PROCESSING', average_execution_time: 60_000, execution_duration: 1_000 })
      case null:
        return isPaginated ? listPage(visit) : json(visit, { object: 'resource' })
    }
  }

  function listPage(visit: Visit): Reply {
    const query = new URLSearchParams(visit.request.path.split('?')[1] ?? '')
    const asked = (name: string) => (/^[1-9]\d*$/.test(query.get(name) ?? '') ? Number(query.get(name)) : null)
    const { page, limit } = behaviour.page(asked(pagination.pageParameter), asked(pagination.limitParameter))
    const first = (page - 1) * limit
    const items = Array.from({ length: Math.max(0, Math.min(limit, totalItems - first)) }, (_, index) => ({
      id: `item-${first + index + 1}`,
    }))
    visit.headers['x-pagination-limit'] = String(limit)
    visit.headers['x-pagination-page'] = String(page)
    visit.headers['x-pagination-total'] = String(totalItems)
    visit.headers['x-pagination-total-pages'] = String(Math.ceil(totalItems / limit))
    return json(visit, { object: 'list', data: items })
  }
}

const embeddings = (model: unknown, count: number) => ({
  object: 'list',
  model,
  data: Array.from({ length: count }, (_, index) => ({ object: 'embedding', index, embedding: [0.25, -0.5] })),
  usage: { prompt_tokens: count, total_tokens: count },
})

/** `ref-embed` is shown as `Ref Embed`. */
const titleOf = (id: string): string =>
  id
    .split('-')
    .map(word => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
    .join(' ')
