import type { Clause, ClauseRow, JudgeName } from './clause.ts'
import { authClauses, compressionClauses, errorClauses, headerClauses } from './clauses/answers.ts'
import { billingClauses, replayClauses } from './clauses/billing.ts'
import { chatClauses, chatJsonClauses, slowReaderClauses, streamClauses, tokenLimitClauses } from './clauses/chat.ts'
import { abuseClauses, limitClauses } from './clauses/limits.ts'
import { resourceClauses } from './clauses/resources.ts'
import { rpcClauses, rpcCoherenceClauses, rpcProtocolClauses } from './clauses/rpc.ts'
import { twinClauses } from './clauses/twins.ts'
import { walletMoneyClauses } from './clauses/wallet-money.ts'
import { walletClauses } from './clauses/wallets.ts'

/** In the order of reports. `clauses/not-judged.ts` has the sentences that no run judges. */
const rows = {
  ...headerClauses,
  ...authClauses,
  ...errorClauses,
  ...limitClauses,
  ...chatClauses,
  ...compressionClauses,
  ...streamClauses,
  ...chatJsonClauses,
  ...tokenLimitClauses,
  ...slowReaderClauses,
  ...rpcClauses,
  ...rpcProtocolClauses,
  ...rpcCoherenceClauses,
  ...replayClauses,
  ...twinClauses,
  ...abuseClauses,
  ...billingClauses,
  ...resourceClauses,
  ...walletClauses,
  ...walletMoneyClauses,
}

export type ClauseId = keyof typeof rows

type Each<Judges> = Judges extends readonly (infer Judge)[] ? Judge : Judges

/** The clauses of the judge `Name`. A judge cannot report on other clauses. */
export type ClausesOf<Name extends JudgeName> = {
  [Id in ClauseId]: Name extends Each<(typeof rows)[Id][1]> ? Id : never
}[ClauseId]

export const clauseIds = Object.keys(rows) as readonly ClauseId[]

/** Every sentence that a run judges, with its judges. */
export const clauses = Object.fromEntries(clauseIds.map(id => [id, clauseOf(rows[id])] as const)) as Readonly<
  Record<ClauseId, Clause>
>

/** Whether a clause is not a sentence of the document, so that only a profile can promise it. */
export const isExtra = (id: ClauseId): boolean => clauses[id].isExtra === true

function clauseOf([section, judges, text, more]: ClauseRow): Clause {
  return { section, text, judges: typeof judges === 'string' ? [judges] : judges, ...more }
}
