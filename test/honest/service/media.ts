import { modelHeaders } from './chat.ts'
import { parseObject } from './chat-request.ts'
import { type Draw, drawRequest, type Exchange, showLimits } from './exchange.ts'
import { invalid, type Refusal } from './refusals.ts'
import { type Header, type Json, json, type Reply } from './reply.ts'

type Kind = Exclude<keyof Exchange['service']['catalog']['others'], 'other'>

const kinds: Readonly<Record<string, Kind>> = {
  '/embeddings': 'embedding',
  '/image/generate': 'image',
  '/audio/speech': 'audio',
  '/video/queue': 'video-queue',
  '/video/retrieve': 'video-retrieve',
}

export const mediaPaths = Object.keys(kinds)

/** Embeddings, images, speech and video. They are free during the preview of this service. */
export function media(exchange: Exchange): Reply | Refusal {
  const { service, headers, path } = exchange
  const kind = kinds[path]
  if (kind === undefined) return invalid('no such path')
  const draw: Draw = {
    name: kind,
    counter: service.variant.otherWindows === 'per-endpoint' ? path : kind,
    limit: service.catalog.others[kind],
  }
  const early = service.variant.invalidCount ? drawRequest(exchange, draw) : null
  if (early !== null) return early
  showLimits(exchange, draw)
  if (!`${headers['content-type'] ?? ''}`.startsWith('application/json')) {
    return { status: 415, message: 'Content-Type must be application/json', code: 'INVALID_CONTENT_TYPE' }
  }
  const body = parseObject(exchange.body)
  if (body === null || typeof body.model !== 'string') return invalid('model must be a text')
  const model = body.model
  const named = modelHeaders({ id: model, name: `Model ${model}`, retires: null })
  const answer = produce(kind, body, named)
  if ('message' in answer) return answer
  const late = service.variant.invalidCount ? null : drawRequest(exchange, draw)
  return late ?? answer
}

function produce(kind: Kind, body: Json, headers: readonly Header[]): Reply | Refusal {
  switch (kind) {
    case 'embedding': {
      const input: readonly unknown[] = Array.isArray(body.input) ? body.input : [body.input]
      if (input.length === 0 || !input.every(text => typeof text === 'string')) {
        return invalid('input must be a text or a list of texts')
      }
      const data = input.map((text, index) => ({
        object: 'embedding',
        index,
        embedding: [0.25, `${text}`.length / 1000, -1],
      }))
      return json(
        200,
        { object: 'list', model: body.model, data, usage: { prompt_tokens: input.length, total_tokens: input.length } },
        headers,
      )
    }
    case 'image':
      return json(200, { id: 'image-1', images: ['iVBORw0KGgo='], timing: { total: 5 } }, [
        ...headers,
        ['x-service-is-blurred', 'false'],
        ['x-service-is-content-violation', 'false'],
      ])
    case 'audio':
      return {
        status: 200,
        type: 'audio/mpeg',
        headers,
        body: { kind: 'bytes', bytes: Buffer.from([0xff, 0xfb, 0x90, 0x00]) },
        encoding: null,
      }
    case 'video-queue':
      return json(200, { model: body.model, queue_id: '6f1c5a06-37cc-4d66-b4ff-3f2a7f1f6a52' }, headers)
    case 'video-retrieve':
      return invalid('There is no video with this queue_id')
  }
}

const characters = ['ada', 'bob', 'cleo', 'dora', 'emil', 'fay', 'gus'].map((slug, index) => ({
  slug,
  name: slug.toUpperCase(),
  stats: { imports: 10 * index },
}))

/** The list of characters, and the usage records, in pages. */
export function paged({ query, path }: Exchange): Reply | Refusal {
  const all: readonly Json[] =
    path === '/characters' ? characters : characters.map(({ slug }) => ({ sku: slug, amount: 0 }))
  const [page, limit] = [Number(query.get('page') ?? 1), Number(query.get('limit') ?? 5)]
  if (!Number.isInteger(page) || page < 1 || !Number.isInteger(limit) || limit < 1)
    return invalid('page and limit count from 1')
  const items = all.slice((page - 1) * limit, page * limit)
  return json(200, { object: 'list', data: items }, [
    ['x-pagination-limit', `${limit}`],
    ['x-pagination-page', `${page}`],
    ['x-pagination-total', `${all.length}`],
    ['x-pagination-total-pages', `${Math.ceil(all.length / limit)}`],
  ])
}
