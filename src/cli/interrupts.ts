export type Interrupts = {
  /** Aborted by the first SIGINT or SIGTERM. */
  readonly stop: AbortSignal
  /** Aborted by the second. */
  readonly quit: AbortSignal
  readonly onFirst: (notify: () => void) => void
  readonly dispose: () => void
}

/** The first signal requests an orderly stop, the second an immediate one. */
export function listenForInterrupts(): Interrupts {
  const stop = new AbortController()
  const quit = new AbortController()
  const onSignal = () => (stop.signal.aborted ? quit.abort() : stop.abort())
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return {
    stop: stop.signal,
    quit: quit.signal,
    onFirst: notify => stop.signal.addEventListener('abort', notify, { once: true }),
    dispose: () => {
      process.off('SIGINT', onSignal)
      process.off('SIGTERM', onSignal)
    },
  }
}
