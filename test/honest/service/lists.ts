import type { LogRow } from './accounts.ts'
import type { Model } from './catalog.ts'
import type { Exchange } from './exchange.ts'
import { type Json, json, type Reply } from './reply.ts'

/** In the order of the variant: as given, or every second one first. */
function inOrder<Item>({ service }: Exchange, items: readonly Item[]): readonly Item[] {
  if (service.variant.listOrder === 'sorted') return items
  return [1, 0].flatMap(rest => items.filter((_, index) => index % 2 === rest))
}

function modelRow(
  { id, name, tier, longest, hasLogprobs, thinking, prices, retires, forPayers }: Model,
  shown: boolean,
): Json {
  return {
    id,
    object: 'model',
    created: 1_760_000_000,
    owned_by: 'acme',
    type: 'text',
    model_spec: {
      name,
      maxCompletionTokens: longest,
      ...(shown && { tier, size: tier }),
      capabilities: { supportsLogProbs: hasLogprobs, supportsReasoning: thinking !== 'none' },
      pricing: { input: { usd: prices.input / 1000 }, output: { usd: prices.output / 1000 } },
      ...(retires !== null && { deprecation: { date: retires } }),
      ...(forPayers && { betaModel: false, proOnly: true }),
    },
  }
}

export function models(exchange: Exchange): Reply {
  const { variant, catalog } = exchange.service
  const rows = inOrder(
    exchange,
    catalog.models.map(model => modelRow(model, variant.modelTiers === 'shown')),
  )
  switch (variant.modelsLayout) {
    case 'data':
      return json(200, { object: 'list', type: 'text', data: rows })
    case 'models':
      return json(200, { models: rows, count: rows.length })
    case 'array':
      return json(200, rows)
  }
}

export function networks(exchange: Exchange): Reply {
  const { variant, catalog } = exchange.service
  const slugs = inOrder(exchange, catalog.chains.map(({ slug }) => slug).toSorted())
  switch (variant.networksLayout) {
    case 'networks':
      return json(200, { networks: slugs })
    case 'array':
      return json(200, slugs)
    case 'data':
      return json(200, { data: slugs.map(slug => ({ slug, status: 'up' })) })
  }
}

export function rateLimits(exchange: Exchange): Reply {
  const { variant, catalog } = exchange.service
  const number = (value: number) => (variant.numbers === 'numbers' ? value : `${value}`)
  const others = variant.rpcLimitPublished ? [{ id: 'endpoint:api/v1/crypto/rpc', requests: catalog.rpcRequests }] : []
  const all = inOrder(exchange, [
    ...catalog.models.map(({ id, requests, tokens }) => ({ id, requests, tokens: tokens as number | null })),
    ...others.map(other => ({ ...other, tokens: null as number | null })),
  ])
  switch (variant.rateLimitsLayout) {
    case 'entries':
      return json(200, {
        data: {
          accessPermitted: true,
          apiTier: { id: 'paid', isCharged: true },
          rateLimits: all.map(({ id, requests, tokens }) => ({
            apiModelId: id,
            rateLimits: [
              { amount: number(requests), type: 'RPM' },
              ...(tokens === null ? [] : [{ amount: number(tokens), type: 'TPM' }]),
            ],
          })),
        },
      })
    case 'by-model':
      return json(200, {
        limits: Object.fromEntries(
          all.map(({ id, requests, tokens }) => [
            id,
            { requests_per_minute: number(requests), ...(tokens !== null && { tokens_per_minute: number(tokens) }) },
          ]),
        ),
      })
    case 'rows':
      return json(
        200,
        all.map(({ id, requests, tokens }) => ({ subject: id, rpm: number(requests), tpm: tokens && number(tokens) })),
      )
  }
}

/** The latest refusals of the account for a limit. */
export function rateLimitLogs({ service, account }: Exchange): Reply {
  const rows: readonly LogRow[] = account?.log.slice(-50) ?? []
  const subject = (name: string) => (name === 'rpc' ? 'endpoint:api/v1/crypto/rpc' : name)
  switch (service.variant.logs) {
    case 'rows':
      return json(200, {
        object: 'list',
        data: rows.map(({ keyId, subject: name, kind, at }) => ({
          apiKeyId: keyId,
          modelId: subject(name),
          rateLimitTier: 'paid',
          rateLimitType: kind,
          timestamp: new Date(at).toISOString(),
        })),
      })
    case 'own':
      return json(200, { entries: rows.map(({ subject: name, at }) => [Math.floor(at / 1000), subject(name)]) })
  }
}
