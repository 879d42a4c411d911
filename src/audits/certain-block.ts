import type { Attempt } from './attempt.ts'

/** A stretch in which a caller is blocked for sure. */
export type CertainBlock = {
  readonly fromMs: number
  readonly untilMs: number
  /** What a missing block breaks: plain refusals alone are what nobody can count otherwise. */
  readonly clause: 'abuse.block' | 'abuse.counts'
  /** The failures that caused it, in words and by their `seq`. */
  readonly statuses: string
  readonly seqs: readonly number[]
  /** The parts of the service that the failures were of. */
  readonly services: ReadonlySet<string>
  /** The parts of the service that were seen blocked, with an answer of each, and those that were seen not to be. */
  readonly blocked: Map<string, number>
  readonly spared: Set<string>
}

const plainRefusal = 400

/** The block that these failures, in the order of sending, cause for sure; null where it is not sure. */
export function certainBlock(
  failed: readonly Attempt[],
  { limit, windowMs, blockMs }: { readonly limit: number; readonly windowMs: number; readonly blockMs: number },
): CertainBlock | null {
  const [first] = failed
  const last = failed.at(-1)
  if (failed.length <= limit || first === undefined || last === undefined) return null
  const fromMs = Math.max(...failed.map(({ shownMs }) => shownMs))
  if (fromMs - first.sentMs > windowMs) return null
  const byStatus = new Map<number | null, number>()
  for (const { status } of failed) byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
  return {
    fromMs,
    // The last of them was looked at, so that the block began after it was sent.
    untilMs: last.sentMs + blockMs,
    clause: byStatus.size === 1 && byStatus.has(plainRefusal) ? 'abuse.block' : 'abuse.counts',
    statuses: [...byStatus].map(([status, count]) => `${count} of ${status}`).join(', '),
    seqs: failed.map(({ seq }) => seq),
    services: new Set(failed.map(({ service }) => service)),
    blocked: new Map(),
    spared: new Set(),
  }
}
