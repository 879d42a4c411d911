import type { Contract } from '../contract/contract.ts'
import type { Account } from './account.ts'
import type { Reply } from './message.ts'
import type { Visit } from './visit.ts'

/**
 * Answers the RPC requests of an account one at a time, where the contract has it so: a request waits for those before
 * it as long as that may take, and is otherwise turned away.
 */
export function rpcTurns(
  rule: Contract['rpc']['oneAtATime'],
  turnAway: (visit: Visit, customMessage: string) => Reply,
): (visit: Visit, account: Account, answer: () => Reply) => Reply {
  const busyUntilMs = new WeakMap<Account, number>()
  return (visit, account, answer) => {
    if (rule === null) return answer()
    const waitMs = Math.max(0, (busyUntilMs.get(account) ?? 0) - visit.arrivedMs)
    if (waitMs > rule.waitMs) return turnAway(visit, rule.message)
    const reply = answer()
    const afterMs = waitMs + reply.afterMs
    busyUntilMs.set(account, visit.arrivedMs + afterMs)
    return { ...reply, afterMs }
  }
}
