import { type ClauseId, clauseIds } from '../../contract/clauses.ts'
import type { Contract } from '../../contract/contract.ts'
import { nearest, UsageError } from '../../lib/usage-error.ts'
import { abuseLies } from './abuse.ts'
import { answerLies } from './answers.ts'
import { billingLies } from './billing.ts'
import { chatLies } from './chat.ts'
import { chatOptionLies } from './chat-options.ts'
import { chatRequestLies } from './chat-request.ts'
import { completionLies } from './completion.ts'
import { furtherLies } from './further-limits.ts'
import { headerLies } from './headers.ts'
import type { Lie, LieRows, Lies } from './lie.ts'
import { limitLies } from './limits.ts'
import { chatReplayLies, replayLies, streamReplayLies } from './replays.ts'
import { resourceLies } from './resources.ts'
import { rpcLies } from './rpc.ts'
import { rpcProtocolLies } from './rpc-protocol.ts'
import { twinLies } from './twins.ts'
import { walletMoneyLies } from './wallets/money.ts'
import { signInLies } from './wallets/sign-ins.ts'

/** The lies of every clause. A clause without an entry does not compile. */
const rows: Readonly<Record<ClauseId, LieRows>> = {
  ...answerLies,
  ...billingLies,
  ...chatLies,
  ...chatOptionLies,
  ...chatRequestLies,
  ...completionLies,
  ...headerLies,
  ...limitLies,
  ...abuseLies,
  ...replayLies,
  ...resourceLies,
  ...rpcLies,
  ...rpcProtocolLies,
  ...signInLies,
  ...twinLies,
  ...walletMoneyLies,
}

const liesOf = (clause: ClauseId): readonly Lie[] =>
  Object.entries(rows[clause]).map(([name, row]) => ({ name, ...row }))

/** For every clause, the lies that violate it. */
export const lies = Object.fromEntries(clauseIds.map(clause => [clause, liesOf(clause)])) as Readonly<
  Record<ClauseId, readonly Lie[]>
>

export type ListedLie = { readonly clause: ClauseId; readonly name: string; readonly text: string }

/** In the order of the clauses. */
export const allLies: readonly ListedLie[] = clauseIds.flatMap(clause =>
  lies[clause].map(({ name, text }) => ({ clause, name, text })),
)

type Promises = Pick<Contract, 'limits' | 'idempotency'>

/** Lies about what only a profile promises: a service that does not promise it tells none of them. */
const ofProfiles: readonly { readonly rows: Lies; readonly isPromised: (contract: Promises) => boolean }[] = [
  { rows: furtherLies, isPromised: ({ limits }) => Object.keys(limits.further).length > 0 },
  { rows: chatReplayLies, isPromised: ({ idempotency }) => idempotency.calls.includes('chat') },
  { rows: streamReplayLies, isPromised: ({ idempotency }) => idempotency.calls.includes('stream') },
]

const profileLiesOf = (clause: ClauseId, contract: Promises | null): readonly Lie[] =>
  ofProfiles
    .filter(({ isPromised }) => contract === null || isPromised(contract))
    .flatMap(({ rows }) => Object.entries(rows[clause] ?? {}).map(([name, row]) => ({ name, ...row })))

/** The lies that violate a clause of this profile. */
export const liesAbout = (clause: ClauseId, contract: Promises): readonly Lie[] => [
  ...lies[clause],
  ...profileLiesOf(clause, contract),
]

/** The lies that only some profiles have, in the order of the clauses. */
export const liesOfProfiles: readonly ListedLie[] = clauseIds.flatMap(clause =>
  profileLiesOf(clause, null).map(({ name, text }) => ({ clause, name, text })),
)

const byName = new Map(
  clauseIds.flatMap(clause => [...lies[clause], ...profileLiesOf(clause, null)].map(lie => [lie.name, lie] as const)),
)

export const knownLies = (): readonly string[] => [...byName.keys()]

export const lieByName = (name: string): Lie | undefined => byName.get(name)

/** The lie of a flag. Throws a UsageError if there is no lie of this name. */
export function knownLie(name: string): Lie {
  const lie = lieByName(name)
  if (lie !== undefined) return lie
  throw new UsageError({
    where: '--lie',
    got: JSON.stringify(name),
    expected: 'a lie that turnpike service --list-lies shows',
    ...nearest(name, knownLies()),
  })
}
