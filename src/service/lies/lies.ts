import { type ClauseId, clauseIds } from '../../contract/clauses.ts'
import { nearest, UsageError } from '../../lib/usage-error.ts'
import { abuseLies } from './abuse.ts'
import { answerLies } from './answers.ts'
import { authLies } from './auth.ts'
import { billingLies } from './billing.ts'
import { chatLies } from './chat.ts'
import { chatOptionLies } from './chat-options.ts'
import { chatRequestLies } from './chat-request.ts'
import { completionLies } from './completion.ts'
import type { Lie } from './lie.ts'
import { limitLies } from './limits.ts'
import { resourceLies } from './resources.ts'
import { rpcLies } from './rpc.ts'
import { walletMoneyLies } from './wallet-money.ts'
import { signInLies } from './wallets.ts'

/** For every clause, the lies that violate it. A clause without one does not compile. */
export const lies: Readonly<Record<ClauseId, readonly [Lie, ...Lie[]]>> = {
  ...answerLies,
  ...authLies,
  ...billingLies,
  ...chatLies,
  ...chatOptionLies,
  ...chatRequestLies,
  ...completionLies,
  ...limitLies,
  ...abuseLies,
  ...resourceLies,
  ...rpcLies,
  ...signInLies,
  ...walletMoneyLies,
}

export type ListedLie = { readonly clause: ClauseId; readonly name: string; readonly text: string }

/** In the order of the clauses. */
export const allLies: readonly ListedLie[] = clauseIds.flatMap(clause =>
  lies[clause].map(({ name, text }) => ({ clause, name, text })),
)

const byName = new Map(Object.values(lies).flatMap(listed => listed.map(lie => [lie.name, lie] as const)))

export const lieByName = (name: string): Lie | undefined => byName.get(name)

/** The lie of a flag. Throws a UsageError if there is no lie of this name. */
export function knownLie(name: string): Lie {
  const lie = lieByName(name)
  if (lie !== undefined) return lie
  const names = allLies.map(known => known.name)
  throw new UsageError({
    where: '--lie',
    got: JSON.stringify(name),
    expected: 'a lie that turnpike service --list-lies shows',
    ...nearest(name, names),
  })
}
