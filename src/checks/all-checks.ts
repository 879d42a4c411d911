import type { CheckName } from '../contract/clause.ts'
import type { Contract } from '../contract/contract.ts'
import type { Sink } from '../observation/observation.ts'
import { checkCatalogue } from './catalogue.ts'
import { checkChatAnswer } from './chat-answer.ts'
import { checkChatRequest } from './chat-request.ts'
import { checkChatStream } from './chat-stream.ts'
import type { Check } from './check.ts'
import { checkCompression } from './compression.ts'
import type { Docket } from './docket.ts'
import { checkErrorAnswer } from './error-answer.ts'
import { checkHeaders } from './headers.ts'
import { checkLimitHeaders } from './limit-headers.ts'
import { checkOccasionalHeaders } from './occasional-headers.ts'
import { checkParameters } from './parameters.ts'
import { checkProbe } from './probe.ts'
import { checkResourceAnswer } from './resource-answer.ts'
import { checkRpcAnswer } from './rpc-answer.ts'
import { checkRpcCredits } from './rpc-credits.ts'

/** Every check by its name in the table of clauses; a name without a check does not compile. */
const checks: { readonly [Name in CheckName]: Check<Name> } = {
  headers: checkHeaders,
  'occasional-headers': checkOccasionalHeaders,
  'limit-headers': checkLimitHeaders,
  'error-answer': checkErrorAnswer,
  'chat-request': checkChatRequest,
  compression: checkCompression,
  'chat-answer': checkChatAnswer,
  'chat-stream': checkChatStream,
  parameters: checkParameters,
  'rpc-answer': checkRpcAnswer,
  'rpc-credits': checkRpcCredits,
  catalogue: checkCatalogue,
  'resource-answer': checkResourceAnswer,
  probe: checkProbe,
}

/** All checks as one sink. */
export function createChecks(contract: Contract, docket: Docket): Sink {
  const bind = <Name extends CheckName>(name: Name): Sink => {
    const say = docket.voice(name)
    const check: Check<Name> = checks[name]
    return observation => check(observation, contract, say)
  }
  const bound = (Object.keys(checks) as CheckName[]).map(name => bind(name))
  return observation => {
    for (const check of bound) check(observation)
  }
}
