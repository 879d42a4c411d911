import { pino } from 'pino'

/** Takes messages of the program about itself: never a secret, never a report. */
export type LineWriter = { readonly write: (text: string) => unknown }

/** Writes each text as one JSON object to stderr, with level and time, for programs that collect logs. */
export function createJsonLog(): LineWriter {
  const logger = pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  )
  return { write: text => logger.info(text.trimEnd()) }
}
