import { z } from 'zod'
import { type Contract, type ResourceLimit, resourceOf } from '../../contract/contract.ts'
import { documentedContract } from '../../contract/documented.ts'
import { listDraw, resourceDraw } from '../../contract/limiters.ts'
import type { DeepReadonly } from '../../lib/json.ts'
import { costOfUnits, pico } from '../../lib/money.ts'
import { members, openText, parseFields, whole } from '../../lib/schemas.ts'
import { unknownWord } from '../../lib/usage-error.ts'
import { integerField, jsonObjectField, mapping, textField } from '../fields.ts'
import { type CallContext, type CallKind, kindField, limitUsages, noCost, usualTraits } from './call-kind.ts'

export const modelsSchema = mapping({ kind: kindField('models') }).describe('The list of models.')
export const networksSchema = mapping({ kind: kindField('networks') }).describe('The list of networks.')
export const rateLimitsSchema = mapping({ kind: kindField('rate-limits') }).describe('The limits of the caller.')
export const limitLogsSchema = mapping({ kind: kindField('rate-limit-logs') }).describe(
  'The log of requests of the caller that hit a limit.',
)

export const resolvedList = z.object({
  kind: z.enum(['models', 'networks', 'rate-limits', 'rate-limit-logs', 'balance']),
})
type ListCall = Readonly<z.output<typeof resolvedList>>

export const list: CallKind<ListCall> = {
  judges: ['lists'],
  traits: ({ kind }) => ({
    ...usualTraits,
    judges: () => list.judges,
    limits: limitUsages(listDraw(kind)),
    cost: noCost,
    unfitToSaturate: null,
  }),
  // A scenario cannot name the check of a balance. By default, it asks for the limits.
  written: ({ kind }) => (kind === 'balance' ? { kind: 'rate-limits' } : {}),
}

export const resourceSchema = mapping({
  kind: kindField('resource'),
  resource: textField('the name of a resource of the profile').describe(
    'Name of the resource in the profile: embeddings, image, characters and so on.',
  ),
  body: jsonObjectField('request fields')
    .optional()
    .describe('Fields of the request, which override the profile. Default: none.'),
  page: integerField(1, 1_000_000).optional().describe('The requested page of a list, from 1. Default: not sent.'),
  limit: integerField(1, 1_000_000).optional().describe('The requested number of items per page. Default: not sent.'),
}).describe('A request of a resource that is neither chat nor RPC.')

export const resolvedResource = z.object({
  kind: z.literal('resource'),
  resource: z.string(),
  draws: openText<ResourceLimit>().nullable(),
  /** Fields that override those of the contract. */
  body: members,
  page: whole.nullable(),
  limit: whole.nullable(),
})
type ResourceCall = DeepReadonly<z.output<typeof resolvedResource>>

export const resource: CallKind<ResourceCall> = {
  judges: ['resources'],
  traits: ({ resource: name, draws }) => {
    const arrivals = (count: number, contract: Contract) => {
      const usd = resourceOf(contract, name)?.worstUsd ?? null
      return usd === null ? null : costOfUnits(count, pico(usd))
    }
    return {
      ...usualTraits,
      judges: () => resource.judges,
      limits: limitUsages(resourceDraw(name, draws)),
      cost: { credits: () => 0, arrivals, maxRequest: contract => arrivals(1, contract), maxCharged: 1 },
      unfitToSaturate: 'which is a resource',
    }
  },
  written: ({ resource: name, body, page, limit }) => ({
    resource: name,
    body,
    ...(page !== null && { page }),
    ...(limit !== null && { limit }),
  }),
}

export function resolveResource(value: unknown, { contract, report }: CallContext): ResourceCall | null {
  const { resource: name, body = {}, page = null, limit = null } = parseFields(resourceSchema, value)
  if (name === undefined) return null
  // A resource of the document that the target does not offer is left out later.
  const known = resourceOf(contract, name) ?? resourceOf(documentedContract, name)
  if (known !== null) return { kind: 'resource', resource: name, draws: known.draws, body, page, limit }
  const what = `a resource of the profile "${contract.name}"`
  report(['resource'], unknownWord(name, Object.keys(contract.resources), what))
  return null
}
