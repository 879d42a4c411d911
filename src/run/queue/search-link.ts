import type { Clock } from '../../lib/clock.ts'
import type { Plan } from '../../plan/plan.ts'
import { leadSearches, type SearchOrder, type SearchReport } from '../search.ts'
import { quiet, type RedisClient } from './queue.ts'
import { runKeyOf } from './run-state.ts'
import { pack, unpack } from './shared-job.ts'

/** Carries the reports and orders of capacity searches between the shards of a run. The first shard leads. */
export type SearchLink = {
  readonly report: (report: SearchReport) => void
  readonly end: () => void
}

export type SearchLinkOptions = {
  readonly runId: string
  readonly plan: Plan
  readonly shard: number
  readonly shards: number
  /** The clock of the run. */
  readonly clock: Clock
  readonly obey: (order: SearchOrder) => void
}

const hasSearch = ({ stages }: Plan): boolean => stages.some(({ load }) => load.model === 'capacity')

/**
 * Resolves when every later report and order will arrive. A lost message blocks the search until its stage ends, so that
 * it finds nothing.
 */
export async function linkSearches(
  redis: RedisClient,
  { runId, plan, shard, shards, clock, obey }: SearchLinkOptions,
): Promise<SearchLink> {
  if (!hasSearch(plan)) return { report: () => {}, end: () => {} }
  const run = runKeyOf(runId)
  const channels = { reports: `${run}:reports`, orders: `${run}:orders` }
  const listener = quiet(redis.duplicate())
  const send = (channel: string, message: unknown) => void redis.publish(channel, pack(message)).catch(() => {})
  const lead = leadSearches(plan, shards, clock, order => send(channels.orders, order))
  listener.on('messageBuffer', (channel: Buffer, message: Buffer) => {
    if (channel.toString() === channels.orders) return obey(unpack<SearchOrder>(message))
    const [from, report] = unpack<readonly [number, SearchReport]>(message)
    lead(from, report)
  })
  await listener.subscribe(channels.orders, ...(shard === 0 ? [channels.reports] : []))
  return { report: report => send(channels.reports, [shard, report]), end: () => listener.disconnect() }
}
