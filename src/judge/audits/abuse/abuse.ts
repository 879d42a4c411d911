import type { Observation } from '../../../observation/observation.ts'
import { applicableLimit, isOpenList, requestTraits } from '../../../observation/requests/request.ts'
import { isRpc } from '../../../observation/requests/rpc.ts'
import { errorMessageOf, is2xx, isAbuseBlock, isAtAssumedPath, saysToWait } from '../../../observation/response.ts'
import type { ClauseReporter } from '../../findings/findings.ts'
import type { Audit, AuditContext, BlockCounts } from '../audit.ts'
import { type CallerBlocks, createCallerBlocks } from './blocks.ts'
import { type AbuseAttempt, countedFailureOf, usesOwnKey } from './failure.ts'

/** Rejections by a component that may not know the caller. A 5xx is always treated like this. */
const callerUnknown: readonly number[] = [401, 408, 413]

const ofScope = [
  ...(['abuse.block', 'abuse.not-early', 'abuse.counts'] as const),
  ...(['abuse.all-requests', 'abuse.duration', 'abuse.ends'] as const),
]
const unknownScope = { text: 'the profile does not say what a block applies to: abuse.scope', clause: null }

/** Judges the block after too many failures, for each caller, and counts the responses of blocks. */
export function createAbuseAudit(
  { contract, shared }: AuditContext,
  reporter: ClauseReporter<'abuse'>,
): Audit & { readonly blocks: () => BlockCounts } {
  const { abuse } = contract
  const seconds = String(Math.round(abuse.blockMs / 1000))
  const callerBlocks = new Map<string, CallerBlocks>()
  const blocks = new Map<string, number>()
  /** The last failures of each caller, which led to its block. */
  const failed = new Map<string, readonly number[]>()

  return {
    add: (observation, watermarkMs) => {
      const { sentMs, headersMs, endMs, caller, stage, request, response, outcome } = observation
      if (sentMs === null || endMs === null) return
      // A list may be open to all, so only a failure is about its caller.
      const isRefusedList = isOpenList(request) && response !== null && !is2xx(response.status)
      if (!usesOwnKey(request) && !isRefusedList) return
      const attempt = attemptOf(observation, sentMs, headersMs ?? endMs)
      if (attempt.isBlocked) blocks.set(stage, (blocks.get(stage) ?? 0) + 1)
      if (attempt.isBlocked && response !== null && outcome.kind === 'answered') {
        if (attempt.hasBlockMessage) reporter.pass('abuse.message')
        else {
          const message = `the response of a block is "${errorMessageOf(response)}", expected a message to wait ${seconds} s and retry`
          reporter.fail('abuse.message', message, [...(failed.get(caller) ?? []), observation.id])
        }
      }
      if (attempt.failure !== null && !attempt.isBlocked)
        failed.set(caller, [...(failed.get(caller) ?? []), attempt.id].slice(-abuse.failures - 1))
      if (abuse.scope === null) {
        if (attempt.failure !== null || attempt.isBlocked)
          for (const clause of ofScope) reporter.unjudged(clause, unknownScope)
        return
      }
      const key = abuse.scope === 'account' ? caller : `${caller} ${attempt.service}`
      let watch = callerBlocks.get(key)
      if (watch === undefined) {
        watch = createCallerBlocks({ ...abuse, shared, firstSentMs: sentMs }, reporter)
        callerBlocks.set(key, watch)
      }
      watch.add(attempt, watermarkMs)
    },
    finish: isComplete => {
      for (const watch of callerBlocks.values()) watch.finish(isComplete)
    },
    blocks: () => Object.fromEntries(blocks),
  }

  function attemptOf(observation: Observation, sentMs: number, shownMs: number): AbuseAttempt {
    const { id, response, outcome } = observation
    const status = response?.status ?? null
    // The rest of a body that broke off may be the message.
    const hasBlockMessage =
      response !== null &&
      response.status >= 400 &&
      (outcome.kind !== 'answered' || saysToWait(errorMessageOf(response), abuse))
    return {
      id,
      sentMs,
      shownMs,
      status,
      failure: countedFailureOf(observation, contract),
      shouldFail: requestTraits(observation.request).isMeantToFail(observation.request, contract),
      isBlocked: response !== null && isAbuseBlock(response, contract),
      hasBlockMessage,
      isProcessed:
        response !== null &&
        !isOpenList(observation.request) &&
        response.status < 500 &&
        !callerUnknown.includes(response.status) &&
        !isAtAssumedPath(observation, contract),
      service:
        abuse.scope === 'model' ? (applicableLimit(observation, contract)?.name ?? 'control') : serviceOf(observation),
    }
  }

  /** The part of the service that handles a request. A block may spare one form of a request, or one list. */
  function serviceOf(observation: Observation): string {
    const { request } = observation
    const { name = 'control' } = applicableLimit(observation, contract) ?? {}
    if (isRpc(request))
      return request.replay !== null ? `${name} with a key` : request.batch ? `${name} in batches` : name
    if (request.kind === 'rate-limit-logs') return request.kind
    return name.startsWith('chat:') ? 'chat' : name
  }
}
