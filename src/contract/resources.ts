import type { Contract, Resource } from './contract.ts'

const post = (path: string, body: Resource['body'], more: Partial<Resource>): Resource => ({
  method: 'POST',
  path,
  body,
  draws: null,
  isInference: true,
  isPaginated: false,
  isDownload: false,
  worstUsd: null,
  ...more,
})

const get = (path: string, isPaginated: boolean): Resource => ({
  method: 'GET',
  path,
  body: null,
  draws: null,
  isInference: false,
  isPaginated,
  isDownload: false,
  worstUsd: '0',
})

/**
 * The document names these and gives no payload. Paths and members are from public sources, the models are those of the
 * reference service, and a price is a guess at the most that so small a request can cost.
 */
export const resources: Contract['resources'] = {
  embeddings: post('/embeddings', { model: 'ref-embed', input: 'hello' }, { draws: 'embedding', worstUsd: '0.001' }),
  image: post('/image/generate', { model: 'ref-image', prompt: 'a grey square' }, { draws: 'image', worstUsd: '0.25' }),
  speech: post('/audio/speech', { model: 'ref-speech', input: 'hello' }, { draws: 'audio', worstUsd: '0.01' }),
  'video-queue': post(
    '/video/queue',
    { model: 'ref-video', prompt: 'a grey square', duration: '5s' },
    { draws: 'video-queue', worstUsd: '5' },
  ),
  'video-retrieve': post(
    '/video/retrieve',
    { model: 'ref-video', queue_id: '00000000-0000-4000-8000-000000000000' },
    { draws: 'video-retrieve', isInference: false, worstUsd: '0' },
  ),
  characters: get('/characters', true),
  'billing-balance': get('/billing/balance', false),
  'billing-usage': get('/billing/usage-history', true),
}
