import type { Say } from '../checks/docket.ts'
import type { ReplayRole } from '../observation/observation.ts'
import { isReplayed } from '../observation/scope.ts'
import type { Audit, AuditScope } from './audit.ts'

/** What matters of one request with an idempotency key. */
type Use = {
  readonly seq: number
  readonly caller: string
  readonly role: ReplayRole['role']
  readonly sentMs: number
  readonly endMs: number
  /** null: no complete answer. */
  readonly status: number | null
  readonly replayed: boolean
  readonly digest: string | null
}

/** Groups stay open for this many further groups, so that the last request of each has come. */
const openGroups = 2_000

/** Judges the requests that share an idempotency key, as one set. */
export function createIdempotency({ contract }: AuditScope, say: Say<'idempotency'>): Audit {
  const groups = new Map<number, Use[]>()
  const judge = (group: number) => {
    judgeGroup(groups.get(group) ?? [], contract.idempotency.concurrent === 'one-charge', say)
    groups.delete(group)
  }
  return {
    add: ({ asked, answer, outcome, seq, caller, sentMs, endMs }) => {
      if (asked.kind !== 'rpc' || asked.replay === null || sentMs === null || endMs === null) return
      const { group, role } = asked.replay
      const digest = answer?.body.kind === 'json' || answer?.body.kind === 'text' ? answer.body.digest : null
      const status = outcome.kind === 'answered' ? outcome.status : null
      const use = { seq, caller, role, sentMs, endMs, status, replayed: isReplayed(answer), digest }
      const uses = groups.get(group)
      if (uses === undefined) groups.set(group, [use])
      else uses.push(use)
      const oldest = groups.size > openGroups ? groups.keys().next().value : undefined
      if (oldest !== undefined) judge(oldest)
    },
    conclude: () => {
      for (const group of [...groups.keys()]) judge(group)
    },
  }
}

function judgeGroup(uses: readonly Use[], onlyOneFresh: boolean, say: Say<'idempotency'>): void {
  const same = uses.filter(use => use.status === 200 && (use.role === 'original' || use.role === 'duplicate'))
  // What is sent in the instant in which an answer has arrived whole was sent after it.
  const isBefore = (a: Use, b: Use) => a.endMs <= b.sentMs
  /** Whether another request of the caller with this key and body was under way, or had ended without an answer. */
  const maybeUsedBefore = (use: Use) =>
    uses.some(
      other => other !== use && other.caller === use.caller && other.role !== 'conflict' && !isBefore(use, other),
    )

  for (const use of same) {
    const earlier = same.find(other => isBefore(other, use))
    if (earlier !== undefined) {
      if (use.replayed) say.kept('rpc.replay.header')
      else
        say.broken(
          'rpc.replay.header',
          'the same key and body were sent again and the answer does not say that it is a replay',
          [earlier.seq, use.seq],
        )
    } else if (use.replayed && !maybeUsedBefore(use)) {
      say.broken('rpc.replay.header', 'the first use of a key is said to be a replay', [use.seq])
    } else if (!use.replayed) say.kept('rpc.replay.header')
  }

  const fresh = same.filter(use => !use.replayed)
  const [first] = fresh
  const racing = fresh.filter(use =>
    fresh.some(other => other !== use && !isBefore(use, other) && !isBefore(other, use)),
  )
  if (onlyOneFresh && racing.length > 1) {
    const seqs = racing.map(use => use.seq)
    say.broken(
      'rpc.replay.charge',
      `${racing.length} racing requests with one key were each answered as the first`,
      seqs,
    )
  }
  const allReplays = same.length > 1 && fresh.length === 0 && uses.every(use => use.status !== null)
  if (allReplays) {
    const seqs = same.map(use => use.seq)
    say.broken('rpc.replay.header', 'all requests with a key are said to be replays, none to be the first', seqs)
  }

  for (const replay of same.filter(use => use.replayed)) {
    if (first === undefined || first.digest === null || replay.digest === null) continue
    if (replay.digest === first.digest) say.kept('rpc.replay.body')
    else
      say.broken('rpc.replay.body', 'a replay has another body than the answer that it repeats', [
        first.seq,
        replay.seq,
      ])
  }

  for (const conflict of uses.filter(use => use.role === 'conflict')) {
    if (!same.some(use => isBefore(use, conflict)) || conflict.status === null || excuses.includes(conflict.status))
      continue
    if (conflict.status === 400) say.kept('rpc.replay.conflict')
    else
      say.broken(
        'rpc.replay.conflict',
        `a used key with another body was answered with ${conflict.status}, expected 400`,
        [conflict.seq],
      )
  }

  for (const foreign of uses.filter(use => use.role === 'foreign')) {
    if (foreign.status === null || excuses.includes(foreign.status)) continue
    if (foreign.status === 200 && !foreign.replayed) say.kept('rpc.replay.per-user')
    else
      say.broken(
        'rpc.replay.per-user',
        `another user's key ${foreign.replayed ? 'was answered with a replay' : `was answered with ${foreign.status}`}`,
        [foreign.seq],
      )
  }
}

/** Answers that come before idempotency is looked at: no key, no money, too often, nobody there. */
const excuses: readonly number[] = [401, 402, 429, 500, 502, 503, 504]
