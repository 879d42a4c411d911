import { z } from 'zod'
import { is2xx } from '../lib/numbers.ts'
import type { Contract } from './contract.ts'
import { needsWallet, type Probe } from './probe.ts'
import { authProbes, keyProbes } from './probes/auth.ts'
import { chatProbes } from './probes/chat.ts'
import { rpcProbes } from './probes/rpc.ts'
import { rpcProtocolProbes } from './probes/rpc-protocol.ts'
import { walletProbes } from './probes/wallets.ts'

/** All crafted requests by name, as in scenarios. */
const probes = {
  ...authProbes,
  ...chatProbes,
  ...rpcProbes,
  ...rpcProtocolProbes,
  ...keyProbes,
  ...walletProbes,
} as const

export type ProbeName = keyof typeof probes

export const probeNames = Object.keys(probes) as readonly ProbeName[]

/** The name of a probe in a plan or a record. */
export const probeNameSchema = z.string().refine(name => Object.hasOwn(probes, name), 'the name of a probe')

export const probeOf = (name: string): Probe => {
  const probe = Object.hasOwn(probes, name) ? probes[name as ProbeName] : undefined
  if (probe === undefined) throw new RangeError(`no probe named ${name}`)
  return probe
}

/** Whether a status is one that a probe may get. Where 200 is one, any success is; the clauses of statuses accuse others. */
export function isPromisedStatus(name: string, status: number, contract: Contract): boolean {
  const statuses = probeOf(name).promised(contract)
  return statuses.includes(status) || (is2xx(status) && statuses.some(is2xx))
}

/** The number of requests of a probe that count as refused ones of its caller. */
export function ownRefusals(name: string, contract: Contract): number {
  const { copies = 1 } = probeOf(name)
  return copies > 1 ? copies - 1 : isOwnRefusal(name, contract) ? 1 : 0
}

/** Whether the rejection of a probe counts, or may count, toward its caller's abuse block. */
export function isOwnRefusal(name: string, contract: Contract): boolean {
  const { as, promised } = probeOf(name)
  return (as === 'caller' || needsWallet(as)) && promised(contract).every(status => status >= 300)
}
