import type { Clock } from '../../lib/clock.ts'
import type { Plan } from '../../plan/plan.ts'
import { leadSearches, type SearchOrder, type SearchReport } from '../search.ts'
import { quiet, type RedisClient } from './queue.ts'
import { runKeyOf } from './run-state.ts'
import { type PayloadKind, pack, unpackOrNull } from './shared-job.ts'

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
  const send = (channel: string, kind: PayloadKind, message: unknown) =>
    void redis.publish(channel, pack(kind, message)).catch(() => {})
  const lead = leadSearches(plan, shards, clock, order => send(channels.orders, 'search order', order))
  // Messages of other programs are skipped.
  listener.on('messageBuffer', (channel: Buffer, message: Buffer) => {
    if (channel.toString() === channels.orders) {
      const order = unpackOrNull<SearchOrder>('search order', message)
      if (order !== null) obey(order)
      return
    }
    const sent = unpackOrNull<readonly [from: number, report: SearchReport]>('search report', message)
    if (sent !== null) lead(...sent)
  })
  await listener.subscribe(channels.orders, ...(shard === 0 ? [channels.reports] : []))
  return {
    report: report => send(channels.reports, 'search report', [shard, report]),
    end: () => listener.disconnect(),
  }
}
