export type Interrupts = {
  /** Aborted by the first SIGINT or SIGTERM. */
  readonly stop: AbortSignal
  /** Aborted by the second. */
  readonly quit: AbortSignal
  readonly onFirst: (tell: () => void) => void
  readonly dispose: () => void
}

/** The first signal asks for an orderly end, the second for an end now. */
export function listenForInterrupts(): Interrupts {
  const stop = new AbortController()
  const quit = new AbortController()
  const onSignal = () => (stop.signal.aborted ? quit.abort() : stop.abort())
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return {
    stop: stop.signal,
    quit: quit.signal,
    onFirst: tell => stop.signal.addEventListener('abort', tell, { once: true }),
    dispose: () => {
      process.off('SIGINT', onSignal)
      process.off('SIGTERM', onSignal)
    },
  }
}
