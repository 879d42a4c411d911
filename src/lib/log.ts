import { pino } from 'pino'

/** Takes what the program says about itself. Never a secret, never a report. */
export type Lines = { readonly write: (text: string) => unknown }

/** Each text as one JSON object on stderr, with level and time, for whoever collects logs rather than reads them. */
export function jsonLines(): Lines {
  const logger = pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  )
  return { write: text => logger.info(text.trimEnd()) }
}
