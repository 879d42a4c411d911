import type { CheckName } from '../../contract/clause.ts'
import type { Contract } from '../../contract/contract.ts'
import type { Sink } from '../../observation/observation.ts'
import type { FindingLog } from '../findings/findings.ts'
import { acceptedProbe } from './accepted-probe.ts'
import { checkChatOptions } from './chat-options.ts'
import { checkChatRequest } from './chat-request.ts'
import { checkChatResponse } from './chat-response.ts'
import { checkChatStream } from './chat-stream.ts'
import type { Check } from './check.ts'
import { checkErrors } from './errors.ts'
import { checkCompression, checkConditionalHeaders, checkHeaders } from './headers.ts'
import { checkLimitHeaders } from './limit-headers.ts'
import { checkLists } from './lists.ts'
import { checkPayments } from './payments.ts'
import { checkProbe } from './probe.ts'
import { checkResources } from './resources.ts'
import { checkRpcCredits } from './rpc-credits.ts'
import { checkRpcResponse } from './rpc-response.ts'
import { checkWalletOffers } from './wallet-offers.ts'

/** All checks by name, as in the table of clauses. A name without a check does not compile. */
const checks: { readonly [Name in CheckName]: Check<Name> } = {
  headers: checkHeaders,
  'conditional-headers': checkConditionalHeaders,
  'limit-headers': checkLimitHeaders,
  errors: checkErrors,
  'chat-request': checkChatRequest,
  compression: checkCompression,
  'chat-response': checkChatResponse,
  'chat-stream': checkChatStream,
  'chat-options': checkChatOptions,
  'rpc-response': checkRpcResponse,
  'rpc-credits': checkRpcCredits,
  lists: checkLists,
  resources: checkResources,
  'wallet-offers': checkWalletOffers,
  probe: checkProbe,
  payments: checkPayments,
}

/** These judge what is there, and not what is missing, if headers were cut. */
const knowCutHeaders: readonly CheckName[] = ['headers', 'conditional-headers', 'limit-headers', 'errors']

/**
 * All checks as a single sink. A success is judged for what it is: that of a probe also as a success of such a request.
 */
export function createChecks(contract: Contract, findingLog: FindingLog): Sink {
  const bind = <Name extends CheckName>(name: Name): Sink => {
    const reporter = findingLog.reporterFor(name)
    const check: Check<Name> = checks[name]
    return observation => check(observation, contract, reporter)
  }
  const bound = (Object.keys(checks) as CheckName[]).map(name => ({ name, check: bind(name) }))
  return observation => {
    // Headers beyond the number that is kept may be the ones that a check misses.
    const isCut = observation.response?.headersCut === true
    if (isCut) {
      for (const { name, check } of bound) if (knowCutHeaders.includes(name)) check(observation)
      return
    }
    const accepted = observation.request.kind === 'probe' ? acceptedProbe(observation, contract) : null
    if (accepted === null) for (const { check } of bound) check(observation)
    else for (const { name, check } of bound) check(accepted.checks.includes(name) ? accepted.observation : observation)
  }
}
