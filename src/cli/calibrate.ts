import { measureRaw, measureTurnpike } from '../calibration/calibrate.ts'
import { calibrate, formatCalibration } from '../calibration/result.ts'
import { maxStreamTokens, type StreamLoad, streamMs, streamStartsPerSecond } from '../calibration/stream-load.ts'
import { UsageError } from '../lib/usage-error.ts'
import { startOwnProcess } from './child-process.ts'
import { exitCodes, number, text, type Values, wholeNumber } from './flags.ts'
import { listenForInterrupts } from './interrupts.ts'

/** Measures how late this program stamps what a metronome in a process of its own has written. */
export async function calibrateCommand(values: Values): Promise<number> {
  const load = loadOf(values)
  const maxP99Ms = mostMsOf(values)
  const pace = ['--rate', String(load.perSecond), '--tokens-per-write', String(load.tokensPerWrite)]
  const calibrationServer = await startOwnProcess('calibration-server', pace)
  const interrupts = listenForInterrupts()
  const { stop } = interrupts
  try {
    const seconds = Math.round((2 * streamMs(load)) / 1000 + load.seconds)
    process.stderr.write(`Reads ${load.streams} streams barely, then as in a run: twice ${seconds} s.\n`)
    const raw = await measureRaw(load, calibrationServer.port, stop)
    if (stop.aborted) return exitCodes.interrupted
    const turnpike = await measureTurnpike(load, calibrationServer.port, stop)
    if (stop.aborted) return exitCodes.interrupted
    const calibration = calibrate({ load, raw, maxP99Ms, ...turnpike })
    const isJson = text(values, 'format') === 'json'
    process.stdout.write(isJson ? `${JSON.stringify(calibration, null, 2)}\n` : formatCalibration(calibration))
    return exitCodes[calibration.verdict]
  } finally {
    interrupts.dispose()
    calibrationServer.stop()
  }
}

function loadOf(values: Values): StreamLoad {
  const load: StreamLoad = {
    streams: wholeNumber(values, 'streams', { least: 1, most: 10_000 }),
    perSecond: wholeNumber(values, 'rate', { least: 1, most: 1_000 }),
    tokens: wholeNumber(values, 'tokens', { least: 2, most: maxStreamTokens }),
    seconds: wholeNumber(values, 'seconds', { least: 1, most: 3_600 }),
    tokensPerWrite: wholeNumber(values, 'tokens-per-write', { least: 1, most: 100 }),
  }
  const perSecond = streamStartsPerSecond(load)
  if (perSecond <= 10_000) return load
  throw new UsageError({
    where: '--tokens',
    got: `${load.tokens}, for which ${Math.round(perSecond)} streams begin in a second`,
    expected: 'so many that at most 10000 do',
  })
}

function mostMsOf(values: Values): number | null {
  const maxP99Ms = number(values, 'max-p99')
  if (maxP99Ms === null || maxP99Ms > 0) return maxP99Ms
  throw new UsageError({ where: '--max-p99', got: String(maxP99Ms), expected: 'milliseconds above 0' })
}
