import { collectStampDelays, stampsOf } from '../../src/calibration/result.ts'
import { measuredWindow, type StreamLoad, streamMs, streamStartsPerSecond } from '../../src/calibration/stream-load.ts'
import { type Observation, streamOf } from '../../src/observation/observation.ts'
import { logFiles, observationsIn } from '../../src/storage/run-directory.ts'
import type { ServedStream } from './programs/stamping-server.ts'
import { median, medianRatio, onServer, reportOf, runChild } from './support/child.ts'
import type { Bench, Figure } from './support/figure.ts'
import { runShipped, streamProfile } from './support/shipped.ts'

type Used = { readonly chunks: number; readonly cpuUs: number }
type Ours = Used & { readonly verdict: string; readonly reasons: readonly string[] }

/**
 * The CPU cost of a stream chunk with every judge, compared with bare undici that only counts events, in turn on the
 * same calibration server. Also the delay from writing a chunk to its timestamp, through the shipped command.
 */
export const benchStreams: Bench = async ({ short }) => {
  const full: StreamLoad = { streams: 1000, perSecond: 50, tokens: 200, tokensPerWrite: 1, seconds: 20 }
  const load = short ? { ...full, streams: 200, tokens: 50, seconds: 1 } : full
  return [
    await costOf(load, short ? 1 : 3, 1.3),
    // Chunks in one read share the cost of the read, so this shows the cost per chunk.
    await costOf({ ...load, tokensPerWrite: 10 }, short ? 1 : 3, null),
    ...(await delaysOf(load)),
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
  console.log(
    `\nCPU per chunk, ${load.streams} streams of ${load.perSecond}/s, ${load.tokensPerWrite} per read, medians of ${rounds} rounds`,
  )
  console.log(`  turnpike with every judge  ${median(ours).toFixed(2)} µs`)
  console.log(`  undici, counting events    ${median(raw).toFixed(2)} µs`)
  return {
    name: `CPU per chunk relative to bare undici, ${load.tokensPerWrite} per read`,
    value: medianRatio(ours, raw),
    unit: '',
    aim: maxRatio === null ? null : { kind: 'at-most', bound: maxRatio },
  }
}

const workerCounts = [1, 2]
/** With fewer chunks in time, the server was the slow part. */
const minWrittenShare = 0.95

async function delaysOf(load: StreamLoad): Promise<readonly Figure[]> {
  const name = `${load.streams} streams of ${load.perSecond}/s`
  console.log(`\nDelay from write to timestamp, ${name}, recorded`)
  console.log('  workers   p50 ms   p90 ms   p99 ms p99.9 ms   max ms   chunks   server late p99')
  const figures: Figure[] = []
  for (const workers of workerCounts) {
    const { chunkMs, serverLatenessMs, clockErrorMs } = await delayOf(load, workers)
    const { p50, p90, p99, p999, max, count } = chunkMs
    const cells = [p50, p90, p99, p999, max].map(ms => (ms ?? Number.NaN).toFixed(2).padStart(9))
    const late = (serverLatenessMs.p99 ?? Number.NaN).toFixed(2).padStart(15)
    console.log(`  ${String(workers).padStart(7)}${cells.join('')}${String(count).padStart(9)}${late} ms`)
    console.log(`  ${' '.repeat(7)} all to ${clockErrorMs.toFixed(2)} ms, by which the two clocks may differ`)
    const aim = workers === 2 ? ({ kind: 'at-most', bound: 1 } as const) : null
    const of = `delay from write to timestamp, ${name}, ${workers} worker${workers === 1 ? '' : 's'}`
    figures.push(
      { name: `${of}, p50`, value: p50 ?? Number.NaN, unit: 'ms', aim },
      { name: `${of}, p99`, value: p99 ?? Number.NaN, unit: 'ms', aim: null },
    )
  }
  return figures
}

/** One account for all callers, since each worker needs a caller. */
const scenarioOf = (load: StreamLoad): string => `
name: bench
callers: { count: ${Math.max(...workerCounts)}, shared: true }
calls: { chat: { kind: chat, stream: true, model-tier: XS, prompt-tokens: 16, max-completion-tokens: ${load.tokens} } }
stages:
  - { name: load, duration: ${streamMs(load) + load.seconds * 1_000}ms, shape: constant, rate: ${streamStartsPerSecond(load)}/s, mix: { chat: 1 } }
bounds: { max-in-flight: ${2 * load.streams + 64} }
thresholds: [{ expect: violations == 0, why: The server keeps every promise. }]
`

async function delayOf(load: StreamLoad, workers: number) {
  const args = [load.perSecond, load.tokensPerWrite, load.tokens].map(String)
  return onServer('./programs/stamping-server.js', args, {}, async (port, server) => {
    const run = { scenario: scenarioOf(load), profile: streamProfile, port, core: null }
    const flags = workers === 1 ? [] : ['--workers', String(workers)]
    const { read } = await runShipped({ ...run, flags }, directory => recordedStreams(directory, workers))
    return delaysOfStreams(load, read, await reportOf<ReadonlyMap<string, ServedStream>>(server))
  })
}

async function recordedStreams(directory: string, workers: number): Promise<readonly Observation[]> {
  const streams: Observation[] = []
  for await (const observation of observationsIn(logFiles(directory, workers)))
    if (streamOf(observation) !== null) streams.push(observation)
  return streams
}

/**
 * Compares the times in a record with those of the server. A request arrives after it was sent, and headers arrive after
 * the server has written them: over thousands of streams, this bounds the origin of the clock of the run from both sides.
 */
function delaysOfStreams(
  load: StreamLoad,
  recorded: readonly Observation[],
  servedById: ReadonlyMap<string, ServedStream>,
) {
  const pairs = recorded.map(observation => {
    const served = servedById.get(observation.response?.headers['cf-ray'] ?? '')
    const stream = streamOf(observation)
    const { sentMs, headersMs } = observation
    if (served === undefined || stream === null || sentMs === null || headersMs === null)
      throw new Error(`the server knows no stream of request ${observation.id}`)
    return { served, stream, latestMs: served.arrivedMs - sentMs, earliestMs: served.openedMs - headersMs }
  })
  const latestMs = pairs.reduce((least, pair) => Math.min(least, pair.latestMs), Number.POSITIVE_INFINITY)
  const earliestMs = pairs.reduce((most, pair) => Math.max(most, pair.earliestMs), Number.NEGATIVE_INFINITY)
  const originMs = (earliestMs + latestMs) / 2
  const startMs = pairs.reduce((least, { served }) => Math.min(least, served.arrivedMs), Number.POSITIVE_INFINITY)
  const delays = collectStampDelays(() => measuredWindow(load, startMs))
  for (const { served, stream } of pairs) {
    const readMs = stampsOf(stream, originMs)
    if (readMs.length !== served.writtenMs.length)
      throw new Error(`Turnpike read ${readMs.length} tokens of a stream of ${served.writtenMs.length}`)
    delays.add(served, readMs)
  }
  const planned = load.streams * load.perSecond * load.seconds
  const snapshot = delays.snapshot()
  if (snapshot.chunkMs.count < minWrittenShare * planned)
    throw new Error(`the server was too slow: it wrote ${snapshot.chunkMs.count} of ${planned} chunks in time`)
  return { ...snapshot, clockErrorMs: (latestMs - earliestMs) / 2 }
}

const onCalibrationServer = <T>(client: string, load: StreamLoad): Promise<T> =>
  onServer('./programs/calibration-server.js', [String(load.perSecond), String(load.tokensPerWrite)], {}, port =>
    runChild<T>(client, [port, JSON.stringify(load)]),
  )
