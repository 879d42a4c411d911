import type { Settings } from './accounts.ts'
import type { Exchange } from './exchange.ts'
import { chatLies } from './lies-chat.ts'
import { headerLies } from './lies-headers.ts'
import { moneyLies } from './lies-money.ts'
import type { Reply } from './reply.ts'

/** A deliberate violation of one sentence of the document. */
export type Lie = {
  readonly name: string
  readonly section: string
  readonly does: string
  /** A fair judge names one of these clauses. */
  readonly clauses: readonly string[]
  readonly change?: (reply: Reply, exchange: Exchange) => Reply
  readonly settings?: Partial<Settings>
  /** Whether only a run in which windows end can show it. */
  readonly takesWindows?: boolean
}

export const lies: readonly Lie[] = [...headerLies, ...moneyLies, ...chatLies]
