import type { Contract, LimiterAlgorithm } from '../../../../../src/contract/contract.ts'
import { documentedContract } from '../../../../../src/contract/documented.ts'
import { createRateLimitAudit } from '../../../../../src/judge/audits/rate-limits/rate-limits.ts'
import { createSendOrder } from '../../../../../src/judge/audits/send-order.ts'
import { createFindingLog } from '../../../../../src/judge/findings/findings.ts'
import type { Observation } from '../../../../../src/observation/observation.ts'
import { startedAtMs } from '../../checks/observed.ts'
import type { Keeping } from './gate.ts'

type Judged = Keeping & {
  readonly algorithm?: LimiterAlgorithm | null
  readonly scope?: 'account' | null
  /** Whether the target publishes the limits of models without a known tier. */
  readonly published?: boolean
  /** The headers of a dialect. */
  readonly limits?: Partial<Contract['limits']>
}

/** The rate-limits audit over these observations. */
export function judge(observations: readonly Observation[], keeping: Judged = {}, shared = false, queueLimit?: number) {
  const { algorithm = 'fixed-window', scope = null, published = true, limits } = keeping
  const { windowMs = 60_000, stamp, limit = 20, tokenLimit = 750_000 } = keeping
  const requestsReset = stamp === 'milliseconds' ? ('unix-milliseconds' as const) : ('unix-seconds' as const)
  const tier = { requestsPerMinute: limit, tokensPerMinute: tokenLimit }
  const accounts = { ...documentedContract.accounts, default: { ...documentedContract.accounts.default, L: tier } }
  const models = observations.flatMap(({ request }) => (request.kind === 'chat' ? request.model : []))
  const publishedLimits = Object.fromEntries(
    models.flatMap(model => [
      [`chat:${model}`, limit],
      [`chat:${model} tokens`, tokenLimit],
    ]),
  )
  const contract: Contract = {
    ...documentedContract,
    accounts,
    limits: {
      ...documentedContract.limits,
      ...{ windowMs, requestsReset, algorithm, scope },
      ...limits,
      ...(published && observations.some(isTierless) && { published: publishedLimits, judgedBy: 'target' }),
    },
  }
  const findingLog = createFindingLog()
  const limiter = createRateLimitAudit({ contract, shared, startedAtMs }, findingLog.reporterFor('rate-limits'))
  const sendOrder = createSendOrder(limiter.add, queueLimit)
  for (const observation of observations) sendOrder.add(observation)
  sendOrder.flush()
  limiter.finish(true)
  const judged = Object.fromEntries(findingLog.tallies().map(tally => [tally.id, tally.judged]))
  const because = Object.fromEntries(findingLog.tallies().map(tally => [tally.id, tally.because]))
  return { findings: findingLog.findings(), judged, because, limits: limiter.limits() }
}

const isTierless = ({ request }: Observation) => request.kind === 'chat' && request.modelTier === null
