import { measureRaw, measureTurnpike } from '../../calibration/calibrate.ts'
import { calibrate, formatCalibration } from '../../calibration/result.ts'
import { startCalibrationServer } from '../../calibration/server.ts'
import { maxStreamTokens, type StreamLoad, streamMs, streamStartsPerSecond } from '../../calibration/stream-load.ts'
import { systemClock } from '../../lib/clock.ts'
import { UsageError } from '../../lib/usage-error.ts'
import { startChildServer } from '../../library/child-process.ts'
import { listenMistake } from '../../outputs/http-server.ts'
import { exitCodes, integerFlag, number, type Values } from '../flags.ts'
import { listenForInterrupts } from '../interrupts.ts'
import { printJson, wantsJson } from '../print.ts'
import { serveUntilSignal } from './service.ts'

/** Measures how late this program reads what a calibration server in another process writes. */
export async function calibrateCommand(values: Values): Promise<number> {
  const load = loadOf(values)
  const maxP99Ms = maxP99Of(values)
  const pace = ['--rate', String(load.perSecond), '--tokens-per-write', String(load.tokensPerWrite)]
  const calibrationServer = await startChildServer('calibration-server', pace)
  const interrupts = listenForInterrupts()
  const { stop } = interrupts
  try {
    const seconds = Math.round((2 * streamMs(load)) / 1000 + load.seconds)
    process.stderr.write(
      `Measuring ${load.streams.toLocaleString('en')} streams for ${seconds} s with a raw reader, then for ${seconds} s with Turnpike.\n`,
    )
    const raw = await measureRaw(load, calibrationServer.port, stop)
    if (stop.aborted) return exitCodes.interrupted
    const turnpike = await measureTurnpike(load, calibrationServer.port, stop)
    if (stop.aborted) return exitCodes.interrupted
    const calibration = calibrate({ load, raw, maxP99Ms, ...turnpike })
    if (wantsJson(values)) printJson(calibration)
    else process.stdout.write(formatCalibration(calibration))
    return exitCodes[calibration.verdict]
  } finally {
    interrupts.dispose()
    await calibrationServer.stop()
  }
}

function loadOf(values: Values): StreamLoad {
  const load: StreamLoad = {
    streams: integerFlag(values, 'streams', { min: 1, max: 10_000 }),
    perSecond: integerFlag(values, 'rate', { min: 1, max: 1_000 }),
    tokens: integerFlag(values, 'tokens', { min: 2, max: maxStreamTokens }),
    seconds: integerFlag(values, 'seconds', { min: 1, max: 3_600 }),
    tokensPerWrite: integerFlag(values, 'tokens-per-write', { min: 1, max: 100 }),
  }
  const perSecond = streamStartsPerSecond(load)
  if (perSecond <= 10_000) return load
  throw new UsageError({
    where: '--tokens',
    got: `${load.tokens}, with which ${Math.round(perSecond)} streams start per second`,
    expected: 'a number with which at most 10000 streams start per second',
  })
}

function maxP99Of(values: Values): number | null {
  const maxP99Ms = number(values, 'max-p99')
  if (maxP99Ms === null || maxP99Ms > 0) return maxP99Ms
  throw new UsageError({ where: '--max-p99', got: String(maxP99Ms), expected: 'milliseconds above 0' })
}

/** Serves streams until a signal. */
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
