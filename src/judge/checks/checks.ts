import type { CheckName } from '../../contract/clause.ts'
import type { Contract } from '../../contract/contract.ts'
import type { Observation, Sink } from '../../observation/observation.ts'
import { listKinds } from '../../observation/requests/lists.ts'
import { type RequestKind, type RequestOf, requestKinds } from '../../observation/requests/request.ts'
import { isAtAssumedPath } from '../../observation/response.ts'
import type { FindingLog } from '../findings/findings.ts'
import { checkChatJson } from './chat-json.ts'
import { checkChatOptions } from './chat-options.ts'
import { checkChatRequest } from './chat-request.ts'
import { checkChatResponse } from './chat-response.ts'
import { checkChatStream } from './chat-stream.ts'
import type { Check } from './check.ts'
import { checkErrors, checkProxyLimit } from './errors.ts'
import {
  checkCompletionHeaders,
  checkCompression,
  checkConditionalHeaders,
  checkHeaders,
  checkNoCompression,
} from './headers.ts'
import { checkLimitHeaders } from './limit-headers.ts'
import { checkLists } from './lists.ts'
import { checkPayments } from './payments.ts'
import { acceptedProbe, checkProbe } from './probe.ts'
import { assumedPath, checkResources } from './resources.ts'
import { checkRefusedCredits, checkRpcCredits } from './rpc-credits.ts'
import { checkRpcResponse } from './rpc-response.ts'
import { checkWalletOffers } from './wallet-offers.ts'

/** A check, and the kinds of requests that it judges. */
type Registered<Name extends CheckName> = { readonly kinds: readonly RequestKind[]; readonly check: Check<Name> }

const ofAll = <Name extends CheckName>(check: Check<Name>): Registered<Name> => ({ kinds: requestKinds, check })

const only = <Name extends CheckName, Kind extends RequestKind>(
  kinds: readonly Kind[],
  check: Check<Name, RequestOf<Kind>>,
): Registered<Name> => ({ kinds, check: check as Check<Name> })

/** All checks by name, as in the table of clauses. A name without a check does not compile. */
const checks: { readonly [Name in CheckName]: readonly Registered<Name>[] } = {
  headers: [ofAll(checkHeaders)],
  'conditional-headers': [ofAll(checkConditionalHeaders), only(['chat'], checkCompletionHeaders)],
  'limit-headers': [ofAll(checkLimitHeaders)],
  errors: [ofAll(checkErrors), only(['rpc'], checkProxyLimit)],
  'chat-request': [only(['chat'], checkChatRequest)],
  compression: [ofAll(checkNoCompression), only(['chat'], checkCompression)],
  'chat-response': [only(['chat'], checkChatResponse)],
  'chat-stream': [only(['chat'], checkChatStream)],
  'chat-options': [only(['chat'], checkChatOptions)],
  'chat-json': [only(['chat'], checkChatJson)],
  'rpc-response': [only(['rpc'], checkRpcResponse)],
  'rpc-credits': [only(['rpc'], checkRpcCredits), ofAll(checkRefusedCredits)],
  lists: [only(listKinds, checkLists)],
  resources: [only(['resource'], checkResources)],
  'wallet-offers': [ofAll(checkWalletOffers)],
  probe: [only(['probe'], checkProbe)],
  payments: [only(['top-up'], checkPayments)],
}

/** If headers were cut, these checks judge only the headers that are present. */
const knowCutHeaders: readonly CheckName[] = ['headers', 'conditional-headers', 'limit-headers', 'errors']

/** They judge what a body lacks, so they need all of it: one that broke off with its connection lacks nothing by itself. */
const needWholeBodies: readonly CheckName[] = [
  ...(['errors', 'chat-response', 'chat-json', 'rpc-response', 'rpc-credits'] as const),
  ...(['lists', 'resources', 'wallet-offers', 'payments'] as const),
]

type BoundCheck = { readonly name: CheckName; readonly kinds: readonly RequestKind[]; readonly judge: Sink }

/**
 * All checks as a single sink. A probe that succeeds is also checked like the request that it imitates.
 */
export function createChecks(contract: Contract, findingLog: FindingLog): Sink {
  const bind = <Name extends CheckName>(name: Name): readonly BoundCheck[] => {
    const reporter = findingLog.reporterFor(name)
    const registered: readonly Registered<Name>[] = checks[name]
    return registered.map(({ kinds, check }) => ({ name, kinds, judge: o => check(o, contract, reporter) }))
  }
  const bound = (Object.keys(checks) as CheckName[]).flatMap(bind)
  const byKind = new Map(requestKinds.map(kind => [kind, bound.filter(({ kinds }) => kinds.includes(kind))]))
  const checksOf = (observation: Observation) => byKind.get(observation.request.kind) ?? []

  const resources = findingLog.reporterFor('resources')

  return observation => {
    if (isAtAssumedPath(observation, contract)) return resources.unjudged('resource.offered', assumedPath)
    // Headers beyond the number that is kept may be the ones that a check misses.
    const isCut = observation.response?.headersCut === true
    const isWhole = observation.outcome.kind === 'answered'
    const accepted = isCut ? null : acceptedProbe(observation, contract)
    for (const { name, judge } of checksOf(observation)) {
      if (!isWhole && needWholeBodies.includes(name)) continue
      if (isCut ? knowCutHeaders.includes(name) : !accepted?.checks.includes(name)) judge(observation)
    }
    if (accepted === null) return
    for (const { name, judge } of checksOf(accepted.observation))
      if (accepted.checks.includes(name)) judge(accepted.observation)
  }
}
