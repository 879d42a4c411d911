import type { ClauseId } from '../contract/clauses.ts'
import type { Contract } from '../contract/contract.ts'
import { notPromised } from '../contract/promises.ts'
import { pico } from '../lib/money.ts'
import { defaultLatency, delayReply, scaleLatency } from '../service/capacity.ts'
import type { Fault } from '../service/faults.ts'
import type { Lie } from '../service/lies/lie.ts'
import type { FaultTerms, Mutant } from './mutants.ts'

type FaultRow = FaultTerms & { readonly text: string; readonly clause: ClauseId | null }

const workers = 4
const lostMs = 1_000

/** The faults that every gate is tried with, by name. */
const rows: Readonly<Record<string, FaultRow>> = {
  'slower-by-half': { kind: 'slower', ratio: 0.5, text: 'Everything takes 50 % longer.', clause: null },
  'three-times-as-slow': { kind: 'slower', ratio: 2, text: 'Everything takes three times as long.', clause: null },
  'ten-times-as-slow': { kind: 'slower', ratio: 9, text: 'Everything takes ten times as long.', clause: null },
  'one-slow-worker': {
    kind: 'slow-worker',
    ratio: 9,
    text: 'Every fourth response takes ten times as long.',
    clause: null,
  },
  'errors-two-percent': { kind: 'errors', ratio: 0.02, text: '2 % of valid requests get a 500.', clause: null },
  'errors-twenty-percent': { kind: 'errors', ratio: 0.2, text: '20 % of valid requests get a 500.', clause: null },
  'lost-second': {
    kind: 'lost',
    ratio: 0,
    text: 'Connections break for a second in the middle of the run.',
    clause: null,
  },
  'limit-a-fifth-higher': {
    ...{ kind: 'limit', ratio: 0.2, clause: 'limit.requests.enforced' },
    text: 'Windows admit 20 % more than the stated limit.',
  },
  'limit-a-fifth-lower': {
    ...{ kind: 'limit', ratio: -0.2, clause: 'limit.requests.not-early' },
    text: 'Windows admit 20 % less than the stated limit.',
  },
  'charge-off-by-a-unit': {
    ...{ kind: 'charge', ratio: 0, clause: 'billing.conservation' },
    text: 'Every charge is higher by the last digit of a balance.',
  },
}

/** Those whose clause the profile promises, and those about times and errors, which a profile does not promise. */
export function faultMutants(contract: Contract): readonly Mutant[] {
  const missing = notPromised(contract)
  return Object.entries(rows).flatMap(([name, { text, clause, kind, ratio }]) =>
    clause !== null && missing.includes(clause)
      ? []
      : { name, group: 'faults', text, clause, terms: { lie: null, fault: { kind, ratio } } },
  )
}

/** The times of a service with this fault. */
export const faultyLatency = (fault: FaultTerms | null) =>
  fault?.kind === 'slower' ? scaleLatency(defaultLatency, fault.ratio) : defaultLatency

export const randomErrors = (fault: FaultTerms | null): readonly Fault[] =>
  fault?.kind === 'errors' ? [{ status: 500, probability: fault.ratio }] : []

/** Whether a connection breaks at this time of a run; `fromMs`: when the fault begins. */
export const isBroken = (fault: FaultTerms | null, fromMs: number, nowMs: number): boolean =>
  fault?.kind === 'lost' && nowMs >= fromMs && nowMs < fromMs + lostMs

/** What the service decides in another way. */
export function faultyDecisions(fault: FaultTerms | null): readonly Lie[] {
  if (fault === null) return []
  const { kind, ratio } = fault
  const lie = (overrides: Lie['overrides']): readonly Lie[] => [{ name: kind, text: kind, overrides, alsoViolates: [] }]
  switch (kind) {
    case 'limit':
      return lie(honest => ({
        admits: (window, limit) => honest.admits(window, Math.max(1, Math.round(limit * (1 + ratio)))),
      }))
    case 'charge':
      return lie((honest, { billing }) => ({
        charge: (account, charge) =>
          honest.charge(account, { ...charge, pico: charge.pico + pico(billing.balanceResolutionUsd) }),
      }))
    case 'slow-worker': {
      return lie(honest => {
        let replies = 0
        return {
          finish: (reply, state) => {
            const said = honest.finish(reply, state)
            return ++replies % workers === 0 ? delayReply(said, said.afterMs * ratio) : said
          },
        }
      })
    }
    default:
      return []
  }
}
