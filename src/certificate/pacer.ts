import { type Clock, monotonicOriginMs } from '../lib/clock.ts'
import type { StreamTexts } from './metronome-answer.ts'

export type Pace = {
  readonly clock: Clock
  /** Tokens of each stream. */
  readonly perSecond: number
  /** Tokens that are written at once, each a chunk of its own. */
  readonly atOnce: number
}

/** Takes a text and says whether it can take more. */
export type Outlet = (text: string) => boolean

export type Pacer = {
  /** Begins a stream, whose first token is due in one step. */
  readonly begin: (outlet: Outlet, texts: StreamTexts, tokens: number) => void
  readonly stop: () => void
}

/** A stream that is under way. */
type Voice = { readonly outlet: Outlet; readonly texts: StreamTexts; tokensLeft: number; dueMs: number }

/**
 * Writes the tokens of all streams when they are due. Who comes late catches up, so that each stream keeps its pace, and
 * says in the beat how late it was.
 */
export function createPacer({ clock, perSecond, atOnce }: Pace): Pacer {
  const stepMs = (1000 * atOnce) / perSecond
  const originMs = monotonicOriginMs(clock)
  /** In the order in which they are due. */
  let voices: Voice[] = []
  let cancel: (() => void) | null = null

  const arm = (): void => {
    const [first] = voices
    cancel = first === undefined ? null : clock.at(first.dueMs, beat)
  }

  const beat = (): void => {
    const nowMs = clock.nowMs()
    const next = voices.findIndex(({ dueMs }) => dueMs > nowMs)
    const count = next === -1 ? voices.length : next
    const goingOn = voices.slice(0, count).filter(write)
    // Two runs that are nearly in order, which a sort goes through about once.
    voices = [...voices.slice(count), ...goingOn].sort((a, b) => a.dueMs - b.dueMs)
    arm()
  }

  /** Whether the voice goes on. */
  const write = (voice: Voice): boolean => {
    const { outlet, texts, dueMs } = voice
    const nowMs = clock.nowMs()
    const count = Math.min(atOnce, voice.tokensLeft)
    voice.tokensLeft -= count
    voice.dueMs += stepMs
    const text = texts.tokens(count, { writtenMs: originMs + nowMs, lateMs: nowMs - dueMs })
    return outlet(voice.tokensLeft > 0 ? text : text + texts.closing) && voice.tokensLeft > 0
  }

  return {
    begin: (outlet, texts, tokens) => {
      voices.push({ outlet, texts, tokensLeft: tokens, dueMs: clock.nowMs() + stepMs })
      if (cancel === null) arm()
    },
    stop: () => {
      voices = []
      cancel?.()
    },
  }
}
