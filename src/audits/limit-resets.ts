import type { Say } from '../checks/findings.ts'
import type { Member } from './limit-window.ts'
import type { Offset } from './server-clock.ts'

/** Stamps of whole seconds, rounded either way, and a reset that is reckoned anew for each answer. */
export const grainMs = 1_000

/** A window as answers named it by its reset, in Unix milliseconds. */
export type NamedWindow = {
  readonly resetMs: number
  /** When, and by whose answer, it was first named. */
  namedMs: number
  namedBy: number
  isCutShort: boolean
  /** Those with which the requests came that named it. */
  readonly keys: Set<number>
  /** Whether an answer said that it was the window's first: then whatever else was used is ours. */
  hasFirst: boolean
}

export type ResetRules = {
  /** What reports call the limit. */
  readonly scope: string
  readonly windowMs: number
  readonly startedAtMs: number
  readonly offset: () => Offset
}

/** Judges reset times, as far as the target's clock is known. */
export function judgeResets(
  { scope, windowMs, startedAtMs, offset }: ResetRules,
  say: Say<'limiter'>,
): {
  /** Whether the reset that an answer named can be right. */
  readonly judge: (member: Member, resetMs: number) => boolean
  /** Whether one of the windows, which are in order, was found to be cut short by a later one. */
  readonly judgeOrder: (windows: readonly NamedWindow[]) => boolean
} {
  return {
    judge: ({ seq, sentMs, shownMs }, resetMs) => {
      const { least, most } = offset()
      const earliestMs = startedAtMs + sentMs + least
      const latestMs = startedAtMs + shownMs + most
      const isRight = resetMs + grainMs >= earliestMs && resetMs - latestMs <= windowMs + grainMs
      if (isRight) say.kept('limit.requests.reset')
      else {
        const seconds = Math.round((resetMs - earliestMs) / 1000)
        const away = seconds < 0 ? `${-seconds} s ago` : `${seconds} s ahead`
        const because = `the reset of ${scope} is ${away}, expected 0 to ${windowMs / 1000} s ahead`
        say.broken('limit.requests.reset', because, [seq])
      }
      return isRight
    },

    judgeOrder: windows => {
      if (windows.length < 2) return false
      const nowMs = startedAtMs + offset().most
      let found = false
      for (const [index, window] of windows.entries()) {
        const early = windows.slice(index + 1).find(later => nowMs + later.namedMs + grainMs < window.resetMs)
        if (early === undefined || window.isCutShort) continue
        window.isCutShort = true
        found = true
        const seconds = Math.round((window.resetMs - nowMs - early.namedMs) / 1000)
        const isByKey = early.hasFirst && [...window.keys].every(key => !early.keys.has(key))
        const because = `a new window of ${scope} was named ${seconds} s before the reset of the one before, expected it not to begin earlier`
        say.broken(isByKey ? 'auth.keys-share-limits' : 'limit.requests.window', because, [
          window.namedBy,
          early.namedBy,
        ])
      }
      return found
    },
  }
}
