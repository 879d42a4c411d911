import { startCalibrationServer } from '../calibration/server.ts'
import { systemClock } from '../lib/clock.ts'
import { UsageError } from '../lib/usage-error.ts'
import { exitCodes, type Values, wholeNumber } from './flags.ts'
import { serveUntilTold } from './service.ts'

export async function calibrationServerCommand(values: Values): Promise<number> {
  const calibrationServer = await startCalibrationServer({
    clock: systemClock(),
    port: wholeNumber(values, 'port', { least: 0, most: 65_535 }),
    perSecond: wholeNumber(values, 'rate', { least: 1, most: 1_000 }),
    tokensPerWrite: wholeNumber(values, 'tokens-per-write', { least: 1, most: 100 }),
  }).catch(cause => {
    const got = String((cause as NodeJS.ErrnoException).code)
    throw new UsageError({ where: '--port', got, expected: 'a free port' })
  })
  await serveUntilTold(calibrationServer.port, [
    `The metronome is at http://127.0.0.1:${calibrationServer.port}/api/v1 (^C ends it).`,
    'Every POST is answered with a stream; the id of a token says when it was written.',
  ])
  calibrationServer.close()
  return exitCodes.pass
}
