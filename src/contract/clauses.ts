import type { JudgeName } from './clause.ts'
import { abuseClauses } from './clauses/abuse.ts'
import { authClauses } from './clauses/auth.ts'
import { billingClauses } from './clauses/billing.ts'
import { catalogueClauses } from './clauses/catalogue.ts'
import { chatClauses } from './clauses/chat.ts'
import { chatRequestClauses } from './clauses/chat-request.ts'
import { completionClauses } from './clauses/completion.ts'
import { compressionClauses } from './clauses/compression.ts'
import { errorClauses } from './clauses/errors.ts'
import { headerClauses } from './clauses/headers.ts'
import { limitClauses } from './clauses/limits.ts'
import { occasionalHeaderClauses } from './clauses/occasional-headers.ts'
import { parameterClauses } from './clauses/parameters.ts'
import { replayClauses } from './clauses/replays.ts'
import { resourceClauses } from './clauses/resources.ts'
import { rpcClauses } from './clauses/rpc.ts'
import { streamClauses } from './clauses/streams.ts'

/** Every sentence that a run judges, with those who judge it. The rest of the document is in `excused-clauses.ts`. */
export const clauses = {
  ...headerClauses,
  ...occasionalHeaderClauses,
  ...authClauses,
  ...errorClauses,
  ...limitClauses,
  ...chatClauses,
  ...completionClauses,
  ...chatRequestClauses,
  ...compressionClauses,
  ...streamClauses,
  ...parameterClauses,
  ...rpcClauses,
  ...replayClauses,
  ...abuseClauses,
  ...billingClauses,
  ...catalogueClauses,
  ...resourceClauses,
} as const

export type ClauseId = keyof typeof clauses

/** The clauses that the judge called `Name` answers for: a judge cannot speak about another's. */
export type ClausesOf<Name extends JudgeName> = {
  [Id in ClauseId]: Name extends (typeof clauses)[Id]['judges'][number] ? Id : never
}[ClauseId]

export const clauseIds = Object.keys(clauses) as readonly ClauseId[]
