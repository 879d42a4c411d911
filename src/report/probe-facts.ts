import type { CallFacts } from './document.ts'

/** How the requests of a call, or of several, ended. */
export type Ends = Pick<CallFacts, 'statuses' | 'failed' | 'dropped'>

/** No answer to a probe is good or bad by itself: what it was promised is for its clause to say. */
export const isProbe = ({ goodRatio }: CallFacts): boolean => goodRatio === null

/** There may be dozens of probes, each sent once or twice: how all of them ended says enough. */
export function totalOf(probes: readonly CallFacts[]): Ends & Pick<CallFacts, 'count'> {
  const sum = (of: (facts: CallFacts) => number) => probes.reduce((total, facts) => total + of(facts), 0)
  const statuses = [...new Set(probes.flatMap(facts => Object.keys(facts.statuses)))].toSorted()
  return {
    count: sum(facts => facts.count),
    statuses: Object.fromEntries(statuses.map(status => [status, sum(facts => facts.statuses[status] ?? 0)])),
    failed: sum(facts => facts.failed),
    dropped: sum(facts => facts.dropped),
  }
}
