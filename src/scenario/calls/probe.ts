import { z } from 'zod'
import type { JudgeName } from '../../contract/clause.ts'
import type { ClauseId } from '../../contract/clauses.ts'
import { needsWallet, type Probe } from '../../contract/probe.ts'
import { ownRefusals, probeNameSchema, probeNames, probeOf } from '../../contract/probes.ts'
import type { ArrivalStep } from '../../contract/requests/steps.ts'
import { parseFields, whole } from '../../lib/schemas.ts'
import { mapping } from '../fields.ts'
import { type CallKind, kindField, usualTraits } from './call-kind.ts'
import { chat } from './chat.ts'
import { resource } from './resource.ts'
import { creditsPicoUsd, roundedPicoUsd } from './rpc.ts'

export const probeSchema = mapping({
  kind: kindField('probe'),
  probe: z.enum(probeNames, { error: 'the name of a probe' }).describe('Name of the crafted request.'),
}).describe('A crafted request with a documented response, mostly a refusal.')

/** `copies`: how many are sent at once, with one sign-in. */
export const resolvedProbe = z.object({
  kind: z.literal('probe'),
  probe: probeNameSchema,
  copies: whole.positive().optional(),
})
type ProbeCall = Readonly<z.output<typeof resolvedProbe>>

export const probe: CallKind<ProbeCall> = {
  judges: ['probe'],
  traits: ({ probe: name, copies = 1 }) => {
    const { as, clause, draws, promised, credits = () => 0 } = probeOf(name)
    return {
      ...usualTraits,
      judges: judged => [
        ...(draws === null ? [] : judgesByLimit[draws]),
        // It may be judged by further clauses of its group.
        ...(judged.map(groupOf).includes(groupOf(clause)) ? probe.judges : []),
      ],
      limits: [],
      cost: {
        credits,
        arrivals: (arrivals, contract) => creditsPicoUsd(arrivals * credits(contract), contract),
        maxRequest: contract => roundedPicoUsd(credits(contract), contract),
        maxCharged: copies,
      },
      unfitToSaturate: 'which must be refused',
      isSearchable: false,
      requests: copies,
      ...(copies > 1 && { steps: () => Array<ArrivalStep>(copies).fill('only') }),
      samples: contract => (promised(contract).every(status => status >= 300) ? 0 : 1),
      refusals: contract => ownRefusals(name, contract),
      sender: as,
      needsWallet: needsWallet(as),
    }
  },
  written: ({ probe: name }) => ({ probe: name }),
}

/** The judges of other calls that judge a probe which draws on the same limit. */
const judgesByLimit: Readonly<Record<NonNullable<Probe['draws']>, readonly JudgeName[]>> = {
  chat: chat.judges,
  rpc: ['rpc-response', 'rpc-credits'],
  embedding: resource.judges,
  control: [],
}

const groupOf = (id: ClauseId): string => id.slice(0, id.indexOf('.'))

/** Whether a call of a plan or a report is a crafted request. */
export const isProbe = (call: { readonly kind: string } | undefined): boolean => call?.kind === 'probe'

export function resolveProbe(value: unknown): ProbeCall | null {
  const { probe: name } = parseFields(probeSchema, value)
  return name === undefined ? null : probeNamed(name)
}

export function probeNamed(name: string): ProbeCall {
  const { copies = 1 } = probeOf(name)
  return copies === 1 ? { kind: 'probe', probe: name } : { kind: 'probe', probe: name, copies }
}
