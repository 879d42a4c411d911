import type { Say } from '../checks/docket.ts'
import type { Scope } from '../observation/scope.ts'
import type { AuditScope } from './audit.ts'
import { judgeWindow, type Member } from './limit-window.ts'
import type { LimitUse } from './results.ts'
import type { Offset } from './server-clock.ts'

/** One limit of one caller: its windows by reset time, judged when no request can join them any more. */
export type Limit = {
  /** `resetMs`: the reset time that the answer named, Unix milliseconds; null where it named none. */
  readonly add: (member: Member, resetMs: number | null, watermarkMs: number) => void
  readonly conclude: () => void
  readonly use: () => LimitUse
}

type LimitScope = AuditScope & { readonly caller: string; readonly drawn: Scope; readonly offset: () => Offset }

/** A window is open for so long after its reset time, for clocks that differ. */
const lingerMs = 5_000
/** More open windows than this are a fault of the target; the oldest is judged early. */
const mostWindows = 32

export function createLimit(scope: LimitScope, say: Say<'limiter'>): Limit {
  const { contract, drawn, startedAtMs, shared, offset } = scope
  const windowMs = contract.limits.windowMs
  const grainMs = contract.limits.requestsReset === 'unix-seconds' ? 1000 : 1
  const open = new Map<number, Member[]>()
  /** Requests that no answer placed in a window. */
  let unplaced: Member[] = []
  let firstSentMs: number | null = null
  /** Once a window was cut off, what the following ones count is open. */
  let disputed = false
  const sums = { windows: 0, accepted: 0, rejected: 0, unexpected429: 0, missing429: 0 }

  function close(resetMs: number) {
    const members = open.get(resetMs) ?? []
    open.delete(resetMs)
    const { least, most } = offset()
    const beganMs = resetMs - windowMs
    for (const member of members) judgeReset(member, resetMs, least, most)
    sums.windows++
    if (!judgeSuccession(resetMs, members, most)) disputed = true
    if (disputed) return

    const ghosts = unplaced.filter(
      ({ sentMs, endMs }) =>
        startedAtMs + endMs + most >= beganMs - grainMs && startedAtMs + sentMs + least <= resetMs + grainMs,
    )
    const beganUnderOurEyes = firstSentMs !== null && beganMs + 1000 >= startedAtMs + firstSentMs + least
    const verdict = judgeWindow(
      {
        limit: drawn.requestsPerMinute ?? Number.POSITIVE_INFINITY,
        members: [...members, ...ghosts],
        whole: beganUnderOurEyes && !shared,
        tokenLimit: drawn.tokensPerMinute,
      },
      drawn.name,
      say,
    )
    sums.unexpected429 += verdict.unexpected429
    sums.missing429 += verdict.missing429
  }

  function judgeReset({ seq, sentMs, endMs }: Member, resetMs: number, least: number, most: number) {
    const earliest = startedAtMs + sentMs + least
    const latest = startedAtMs + endMs + most
    const aheadMs = resetMs - latest
    if (resetMs + grainMs >= earliest && aheadMs <= windowMs + grainMs) return say.kept('limit.requests.reset')
    const seconds = Math.round((resetMs - earliest) / 1000)
    say.broken(
      'limit.requests.reset',
      `the reset of ${drawn.name} is ${seconds} s ahead, expected 0 to ${windowMs / 1000} s`,
      [seq],
    )
  }

  /** Whether the window kept its word: no later one was named before its reset time. */
  function judgeSuccession(resetMs: number, members: readonly Member[], most: number): boolean {
    for (const [laterMs, successors] of open) {
      if (laterMs <= resetMs) continue
      const early = successors.find(({ endMs }) => startedAtMs + endMs + most + grainMs < resetMs)
      if (early === undefined) continue
      const byMs = resetMs - (startedAtMs + early.endMs)
      say.broken(
        'limit.requests.window',
        `a new window of ${drawn.name} was named ${Math.round(byMs / 1000)} s before the reset of the one before`,
        [members[0]?.seq ?? early.seq, early.seq],
      )
      return false
    }
    if (members.length > 1) say.kept('limit.requests.window')
    return true
  }

  const closeWhile = (isOver: (resetMs: number) => boolean) => {
    for (const resetMs of [...open.keys()].sort((a, b) => a - b)) {
      if (isOver(resetMs)) close(resetMs)
    }
  }

  return {
    add: (member, resetMs, watermarkMs) => {
      firstSentMs ??= member.sentMs
      if (member.sort === 'accepted') sums.accepted++
      if (member.sort === 'rejected') sums.rejected++
      if (resetMs === null) unplaced.push(member)
      else {
        const members = open.get(resetMs)
        if (members === undefined) open.set(resetMs, [member])
        else members.push(member)
      }
      const nowMs = startedAtMs + watermarkMs + offset().least
      // Long streams were admitted long ago; what is still unknown about a window is at most as old as the watermark.
      closeWhile(reset => reset + lingerMs < nowMs)
      if (open.size > mostWindows) close(Math.min(...open.keys()))
      if (unplaced.length > 0) unplaced = unplaced.filter(({ endMs }) => endMs > watermarkMs - 2 * windowMs)
    },
    conclude: () => closeWhile(() => true),
    use: () => ({
      caller: scope.caller,
      scope: drawn.name,
      tier: drawn.tier,
      windowMs,
      limit: drawn.requestsPerMinute,
      ...sums,
    }),
  }
}
