import { startCalibrationServer } from '../../calibration/server.ts'
import { systemClock } from '../../lib/clock.ts'
import { listenMistake } from '../../outputs/http-server.ts'
import { exitCodes, integerFlag, type Values } from '../flags.ts'
import { serveUntilSignal } from './service.ts'

export async function calibrationServerCommand(values: Values): Promise<number> {
  const port = integerFlag(values, 'port', { min: 0, max: 65_535 })
  const calibrationServer = await startCalibrationServer({
    clock: systemClock(),
    port,
    perSecond: integerFlag(values, 'rate', { min: 1, max: 1_000 }),
    tokensPerWrite: integerFlag(values, 'tokens-per-write', { min: 1, max: 100 }),
  }).catch(cause => {
    throw listenMistake(cause, { host: '127.0.0.1', port, hostFlag: '--port', portFlag: '--port' })
  })
  await serveUntilSignal(calibrationServer.port, [
    `The calibration server is at http://127.0.0.1:${calibrationServer.port}/api/v1 (^C stops it).`,
    'Every POST gets a stream. The id of each token states when it was written.',
  ])
  calibrationServer.close()
  return exitCodes.pass
}
