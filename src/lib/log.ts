import { pino } from 'pino'

/** What the program says about itself while it works; one line each, on stderr. Never a secret, never a report. */
export type Log = {
  readonly info: (message: string) => void
  readonly warn: (message: string) => void
  readonly debug: (message: string) => void
}

export const silentLog: Log = { info: () => {}, warn: () => {}, debug: () => {} }

/** JSON lines on stderr, for a program that runs unattended; `level` is a pino level. */
export function jsonLog(level: string): Log {
  const logger = pino({ level, base: null }, pino.destination({ dest: 2, sync: true }))
  return {
    info: message => logger.info(message),
    warn: message => logger.warn(message),
    debug: message => logger.debug(message),
  }
}
