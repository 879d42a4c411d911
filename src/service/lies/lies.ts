import { type ClauseId, clauseIds } from '../../contract/clauses.ts'
import { abuseLies } from './abuse-lies.ts'
import { authLies } from './auth-lies.ts'
import { billingLies } from './billing-lies.ts'
import { cacheLies } from './cache-lies.ts'
import { catalogueLies } from './catalogue-lies.ts'
import { chatLies } from './chat-lies.ts'
import { chatRequestLies } from './chat-request-lies.ts'
import { completionLies } from './completion-lies.ts'
import { compressionLies } from './compression-lies.ts'
import { creditLies } from './credit-lies.ts'
import { errorLies } from './error-lies.ts'
import { headerLies } from './header-lies.ts'
import type { Lie } from './lie.ts'
import { limitLies } from './limit-lies.ts'
import { logLies } from './log-lies.ts'
import { logprobsLies } from './logprobs-lies.ts'
import { occasionalHeaderLies } from './occasional-header-lies.ts'
import { parameterLies } from './parameter-lies.ts'
import { replayLies } from './replay-lies.ts'
import { resourceLies } from './resource-lies.ts'
import { rpcLies } from './rpc-lies.ts'
import { rpcRefusalLies } from './rpc-refusal-lies.ts'
import { streamLies } from './stream-lies.ts'

/** For every clause the misbehaviours that break it. A clause that nothing breaks does not compile. */
export const lies: Readonly<Record<ClauseId, readonly [Lie, ...Lie[]]>> = {
  ...headerLies,
  ...occasionalHeaderLies,
  ...authLies,
  ...errorLies,
  ...limitLies,
  ...logLies,
  ...chatLies,
  ...completionLies,
  ...chatRequestLies,
  ...cacheLies,
  ...compressionLies,
  ...logprobsLies,
  ...streamLies,
  ...parameterLies,
  ...rpcLies,
  ...rpcRefusalLies,
  ...creditLies,
  ...replayLies,
  ...abuseLies,
  ...billingLies,
  ...catalogueLies,
  ...resourceLies,
}

export type ListedLie = { readonly clause: ClauseId; readonly name: string; readonly says: string }

/** In the order of the clauses. */
export const allLies: readonly ListedLie[] = clauseIds.flatMap(clause =>
  lies[clause].map(({ name, says }) => ({ clause, name, says })),
)

const byName = new Map(Object.values(lies).flatMap(told => told.map(lie => [lie.name, lie] as const)))

export const lieByName = (name: string): Lie | undefined => byName.get(name)
