import { measureBare, measureTurnpike } from '../calibration/calibrate.ts'
import { certify, describeCertificate } from '../calibration/result.ts'
import { mostStreamTokens, type StreamLoad, startsPerSecond, streamMs } from '../calibration/stream-load.ts'
import { UsageError } from '../lib/usage-error.ts'
import { startOwnProcess } from './child-process.ts'
import { exitCodes, number, text, type Values, wholeNumber } from './flags.ts'
import { listenForInterrupts } from './interrupts.ts'

/** Measures how late this program stamps what a metronome in a process of its own has written. */
export async function certifyCommand(values: Values): Promise<number> {
  const load = loadOf(values)
  const mostMs = mostMsOf(values)
  const pace = ['--rate', String(load.perSecond), '--at-once', String(load.atOnce)]
  const metronome = await startOwnProcess('metronome', pace)
  const interrupts = listenForInterrupts()
  const { stop } = interrupts
  try {
    const seconds = Math.round((2 * streamMs(load)) / 1000 + load.seconds)
    process.stderr.write(`Reads ${load.streams} streams barely, then as in a run: twice ${seconds} s.\n`)
    const bare = await measureBare(load, metronome.port, stop)
    if (stop.aborted) return exitCodes.interrupted
    const turnpike = await measureTurnpike(load, metronome.port, stop)
    if (stop.aborted) return exitCodes.interrupted
    const certificate = certify({ load, bare, mostMs, ...turnpike })
    const isJson = text(values, 'format') === 'json'
    process.stdout.write(isJson ? `${JSON.stringify(certificate, null, 2)}\n` : describeCertificate(certificate))
    return exitCodes[certificate.verdict]
  } finally {
    interrupts.dispose()
    metronome.stop()
  }
}

function loadOf(values: Values): StreamLoad {
  const load: StreamLoad = {
    streams: wholeNumber(values, 'streams', { least: 1, most: 10_000 }),
    perSecond: wholeNumber(values, 'rate', { least: 1, most: 1_000 }),
    tokens: wholeNumber(values, 'tokens', { least: 2, most: mostStreamTokens }),
    seconds: wholeNumber(values, 'seconds', { least: 1, most: 3_600 }),
    atOnce: wholeNumber(values, 'at-once', { least: 1, most: 100 }),
  }
  const perSecond = startsPerSecond(load)
  if (perSecond <= 10_000) return load
  throw new UsageError({
    where: '--tokens',
    got: `${load.tokens}, for which ${Math.round(perSecond)} streams begin in a second`,
    expected: 'so many that at most 10000 do',
  })
}

function mostMsOf(values: Values): number | null {
  const mostMs = number(values, 'most')
  if (mostMs === null || mostMs > 0) return mostMs
  throw new UsageError({ where: '--most', got: String(mostMs), expected: 'milliseconds above 0' })
}
