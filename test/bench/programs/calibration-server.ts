import { startCalibrationServer } from '../../../src/calibration/server.ts'
import { systemClock } from '../../../src/lib/clock.ts'

/** The calibration server in its own process. Arguments: tokens per second, tokens per write. Sends its port by IPC. */
const [perSecond, tokensPerWrite] = process.argv.slice(2)
const { port } = await startCalibrationServer({
  clock: systemClock(),
  port: 0,
  perSecond: Number(perSecond),
  tokensPerWrite: Number(tokensPerWrite),
})
process.send?.({ port })
process.once('disconnect', () => process.exit())
