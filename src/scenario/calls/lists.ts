import { z } from 'zod'
import { mapping } from '../fields.ts'
import { type CallKind, kindField, noCost, usualTraits } from './call-kind.ts'

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
  traits: () => ({
    ...usualTraits,
    judges: () => list.judges,
    limits: [],
    cost: noCost,
    unfitToSaturate: null,
  }),
  // A scenario cannot name the check of a balance. By default, it asks for the limits.
  written: ({ kind }) => (kind === 'balance' ? { kind: 'rate-limits' } : {}),
}
