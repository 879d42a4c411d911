import type { Say } from '../checks/findings.ts'
import { grainMs, type ResetRules } from './limit-resets.ts'
import type { Member } from './limit-window.ts'

/** Whoever was refused was told when to come again. This follows who did, as far as the target's clock is known. */
export function judgeRetries(
  { scope, startedAtMs, offset }: Omit<ResetRules, 'windowMs'>,
  say: Say<'limiter'>,
): {
  /** Whether it was refused once more, by the same window, when that should have been over. Says so. */
  readonly isLate: (member: Member, resetMs: number) => boolean
  /** The request as its window is to see it, with whether it follows a promise. */
  readonly mark: (member: Member, resetMs: number) => Member
} {
  let promised: { readonly resetMs: number; readonly seq: number } | null = null
  const isAfter = ({ sentMs }: Member, resetMs: number) => startedAtMs + sentMs + offset().least > resetMs + grainMs

  return {
    isLate: (member, resetMs) => {
      if (promised === null || member.sort !== 'rejected') return false
      if (Math.abs(resetMs - promised.resetMs) > grainMs || !isAfter(member, promised.resetMs)) return false
      const because = `a 429 of ${scope} came after the reset that it names, and that an earlier one had named, expected the request to be admitted`
      say.broken('retry.after-reset', because, [promised.seq, member.seq])
      return true
    },
    mark: (member, resetMs) => {
      const isRetry = promised !== null && resetMs > promised.resetMs + grainMs && isAfter(member, promised.resetMs)
      if (member.sort === 'rejected' && !isRetry) promised = { resetMs, seq: member.seq }
      return isRetry ? { ...member, isRetry } : member
    },
  }
}
