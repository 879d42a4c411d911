import { setMaxListeners } from 'node:events'
import type { LogFooter } from '../observation/log.ts'

/** How a run comes to its end, and why. */
export type Ending = {
  readonly why: () => LogFooter['ended']
  /** Nothing more is to be sent; what is under way is waited for. The first reason stands, unless a worker is lost. */
  readonly halt: (why: Exclude<LogFooter['ended'], 'complete'>) => void
  /** Nothing more is to be sent and what is under way is to end now; that is no reason by itself. */
  readonly abandon: () => void
  /** Aborted when nothing more is to be sent; `why` tells why. */
  readonly halted: AbortSignal
  readonly abandoned: AbortSignal
}

/** `stop` asks for an orderly end, `quit` for one at once. */
export function createEnding(stop: AbortSignal, quit: AbortSignal): Ending {
  const halted = new AbortController()
  const abandoned = new AbortController()
  // Each user who thinks between two calls hangs on it; Node would take them for a leak.
  setMaxListeners(0, halted.signal, abandoned.signal)
  let reason: LogFooter['ended'] = 'complete'
  const halt: Ending['halt'] = why => {
    // What a worker did who was lost is not known, whatever else ended the run.
    if (reason === 'complete' || why === 'worker-lost') reason = why
    halted.abort()
  }
  const onAbort = (signal: AbortSignal, then: () => void) =>
    signal.aborted ? then() : signal.addEventListener('abort', then, { once: true })
  onAbort(stop, () => halt('interrupted'))
  onAbort(quit, () => {
    halt('interrupted')
    abandoned.abort()
  })
  return {
    why: () => reason,
    halt,
    abandon: () => {
      halted.abort()
      abandoned.abort()
    },
    halted: halted.signal,
    abandoned: abandoned.signal,
  }
}
