import { startCalibrationServer } from '../../../src/calibration/server.ts'
import { systemClock } from '../../../src/lib/clock.ts'

/** The metronome in a process of its own. Arguments: tokens a second, tokens at once. Tells its port by IPC. */
const [perSecond, tokensPerWrite] = process.argv.slice(2)
const { port } = await startCalibrationServer({
  clock: systemClock(),
  port: 0,
  perSecond: Number(perSecond),
  tokensPerWrite: Number(tokensPerWrite),
})
process.send?.({ port })
process.once('disconnect', () => process.exit())
