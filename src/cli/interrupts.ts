export type Interrupts = {
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP. */
  readonly stop: AbortSignal
  /** Aborted by the second. */
  readonly quit: AbortSignal
  readonly onFirst: (notify: () => void) => void
  /** Does what ^C does. */
  readonly interrupt: () => void
  readonly dispose: () => void
}

/** SIGHUP: the terminal is gone. */
export const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The first signal requests an orderly stop, the second an immediate one. */
export function listenForInterrupts(): Interrupts {
  const stop = new AbortController()
  const quit = new AbortController()
  const onSignal = () => (stop.signal.aborted ? quit.abort() : stop.abort())
  for (const signal of endingSignals) process.on(signal, onSignal)
  return {
    stop: stop.signal,
    quit: quit.signal,
    onFirst: notify => stop.signal.addEventListener('abort', notify, { once: true }),
    interrupt: onSignal,
    dispose: () => {
      for (const signal of endingSignals) process.off(signal, onSignal)
    },
  }
}
