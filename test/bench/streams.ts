import type { CalibrationData } from '../../src/calibration/result.ts'
import type { StreamLoad } from '../../src/calibration/stream-load.ts'
import { median, runChild, startChild } from './child.ts'
import type { Bench, Figure } from './figure.ts'

type Used = { readonly chunks: number; readonly cpuUs: number }
type Ours = Used & { readonly verdict: string; readonly reasons: readonly string[] }
type Stamped = Pick<CalibrationData, 'turnpike' | 'tokenCountMismatches' | 'run'>

/**
 * The CPU cost of a stream chunk with every judge, compared with bare undici that only counts events, in turn on the
 * same calibration server. Also the delay from writing a chunk to its timestamp.
 */
export const benchStreams: Bench = async ({ short }) => {
  const full: StreamLoad = { streams: 1000, perSecond: 50, tokens: 200, tokensPerWrite: 1, seconds: short ? 2 : 20 }
  return [
    await costOf(full, short ? 1 : 3, 1.5),
    // Chunks in one read share the cost of the read, so this shows the cost per chunk.
    await costOf({ ...full, tokensPerWrite: 10 }, short ? 1 : 3, null),
    ...(await delayOf(full)),
  ]
}

async function costOf(load: StreamLoad, rounds: number, maxRatio: number | null): Promise<Figure> {
  const raw: number[] = []
  const ours: number[] = []
  for (let round = 0; round < rounds; round++) {
    const theirs = await onCalibrationServer<Used>('./programs/raw-streams.js', load)
    const run = await onCalibrationServer<Ours>('./programs/stream-client.js', load)
    if (run.verdict !== 'pass') throw new Error(`the run did not pass: ${run.reasons.join(' ')}`)
    raw.push(theirs.cpuUs / theirs.chunks)
    ours.push(run.cpuUs / run.chunks)
  }
  const ratio = median(ours.map((value, index) => value / (raw[index] ?? Number.NaN)))
  console.log(
    `\nCPU per chunk, ${load.streams} streams of ${load.perSecond}/s, ${load.tokensPerWrite} per read, medians of ${rounds} rounds`,
  )
  console.log(`  turnpike with every judge  ${median(ours).toFixed(2)} µs`)
  console.log(`  undici, counting events    ${median(raw).toFixed(2)} µs`)
  return {
    name: `CPU per chunk relative to bare undici, ${load.tokensPerWrite} per read`,
    value: ratio,
    unit: '',
    aim: maxRatio === null ? null : { kind: 'at-most', bound: maxRatio },
  }
}

async function delayOf(load: StreamLoad): Promise<readonly Figure[]> {
  const { turnpike, tokenCountMismatches, run } = await onCalibrationServer<Stamped>(
    './programs/stream-client.js',
    load,
    'stamps',
  )
  if (tokenCountMismatches > 0 || run.verdict !== 'pass')
    throw new Error(`${tokenCountMismatches} token count mismatches; ${run.reasons.join(' ')}`)
  const { p50, p90, p99, p999, max, count } = turnpike.chunkMs
  const cells = [p50, p90, p99, p999, max].map(ms => (ms ?? Number.NaN).toFixed(2).padStart(9))
  console.log(`\nDelay from write to timestamp, ${load.streams} streams of ${load.perSecond}/s, ${count} chunks`)
  console.log(`   p50 ms   p90 ms   p99 ms p99.9 ms   max ms\n${cells.join('')}`)
  console.log(`  the calibration server was ${turnpike.serverLatenessMs.p99?.toFixed(2)} ms late (p99)`)
  const name = `delay from write to timestamp, ${load.streams} streams of ${load.perSecond}/s`
  return [
    { name: `${name}, p50`, value: p50 ?? Number.NaN, unit: 'ms', aim: { kind: 'at-most', bound: 1 } },
    { name: `${name}, p99`, value: p99 ?? Number.NaN, unit: 'ms', aim: null },
  ]
}

async function onCalibrationServer<T>(client: string, load: StreamLoad, ...flags: readonly string[]): Promise<T> {
  const calibrationServer = startChild('./programs/calibration-server.js', [
    String(load.perSecond),
    String(load.tokensPerWrite),
  ])
  const { port } = (await calibrationServer.firstMessage) as { readonly port: number }
  try {
    return await runChild<T>(client, [String(port), JSON.stringify(load), ...flags])
  } finally {
    calibrationServer.stop()
  }
}
