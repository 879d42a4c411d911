import type { CalibrationData } from '../../src/calibration/result.ts'
import type { StreamLoad } from '../../src/calibration/stream-load.ts'
import { median, runChild, startChild } from './child.ts'
import type { Bench, Figure } from './figure.ts'

type Used = { readonly chunks: number; readonly cpuUs: number }
type Ours = Used & { readonly verdict: string; readonly reasons: readonly string[] }
type Stamped = Pick<CalibrationData, 'turnpike' | 'tokenCountMismatches' | 'run'>

/**
 * What a chunk of a stream costs with every judge on, beside a bare undici that only counts events, in turn on the same
 * metronome; and how much later than it was written a chunk is stamped.
 */
export const benchStreams: Bench = async ({ short }) => {
  const full: StreamLoad = { streams: 1000, perSecond: 50, tokens: 200, tokensPerWrite: 1, seconds: short ? 2 : 20 }
  return [
    await costOf(full, short ? 1 : 3, 1.5),
    // Several chunks in a read share what the read costs, so that their own cost shows.
    await costOf({ ...full, tokensPerWrite: 10 }, short ? 1 : 3, null),
    ...(await delayOf(full)),
  ]
}

async function costOf(load: StreamLoad, rounds: number, most: number | null): Promise<Figure> {
  const raw: number[] = []
  const ours: number[] = []
  for (let round = 0; round < rounds; round++) {
    const theirs = await onMetronome<Used>('./programs/raw-streams.js', load)
    const run = await onMetronome<Ours>('./programs/stream-client.js', load)
    if (run.verdict !== 'pass') throw new Error(`the run was no pass: ${run.reasons.join(' ')}`)
    raw.push(theirs.cpuUs / theirs.chunks)
    ours.push(run.cpuUs / run.chunks)
  }
  const ratio = median(ours.map((value, index) => value / (raw[index] ?? Number.NaN)))
  console.log(
    `\nCPU of a chunk, ${load.streams} streams of ${load.perSecond}/s, ${load.tokensPerWrite} in a read, medians of ${rounds}`,
  )
  console.log(`  turnpike, every judge on   ${median(ours).toFixed(2)} µs`)
  console.log(`  undici, counting events    ${median(raw).toFixed(2)} µs`)
  return {
    name: `CPU of a chunk beside bare undici, ${load.tokensPerWrite} in a read`,
    value: ratio,
    unit: '',
    aim: most === null ? null : { kind: 'at-most', bound: most },
  }
}

async function delayOf(load: StreamLoad): Promise<readonly Figure[]> {
  const { turnpike, tokenCountMismatches, run } = await onMetronome<Stamped>(
    './programs/stream-client.js',
    load,
    'stamps',
  )
  if (tokenCountMismatches > 0 || run.verdict !== 'pass')
    throw new Error(`${tokenCountMismatches} misread; ${run.reasons.join(' ')}`)
  const { p50, p90, p99, p999, max, count } = turnpike.chunkMs
  const cells = [p50, p90, p99, p999, max].map(ms => (ms ?? Number.NaN).toFixed(2).padStart(9))
  console.log(`\nWritten to stamped, ${load.streams} streams of ${load.perSecond}/s, ${count} chunks`)
  console.log(`   p50 ms   p90 ms   p99 ms p99.9 ms   max ms\n${cells.join('')}`)
  console.log(`  the metronome itself was ${turnpike.serverLatenessMs.p99?.toFixed(2)} ms late (p99)`)
  const name = `written to stamped, ${load.streams} streams of ${load.perSecond}/s`
  return [
    { name: `${name}, p50`, value: p50 ?? Number.NaN, unit: 'ms', aim: { kind: 'at-most', bound: 1 } },
    { name: `${name}, p99`, value: p99 ?? Number.NaN, unit: 'ms', aim: null },
  ]
}

async function onMetronome<T>(client: string, load: StreamLoad, ...flags: readonly string[]): Promise<T> {
  const calibrationServer = startChild('./programs/calibration-server.js', [String(load.perSecond), String(load.tokensPerWrite)])
  const { port } = (await calibrationServer.said) as { readonly port: number }
  try {
    return await runChild<T>(client, [String(port), JSON.stringify(load), ...flags])
  } finally {
    calibrationServer.stop()
  }
}
