import { streamOf } from '../../../src/observation/observation.ts'
import { logFiles, observationsIn } from '../../../src/storage/run-directory.ts'
import {
  clientCore,
  findProgram,
  median,
  medianRatio,
  noteUnpinned,
  onServer,
  runChild,
  targetCore,
} from '../support/child.ts'
import type { Bench, Figure } from '../support/figure.ts'
import { guidellmVariable, runGuidellm } from '../support/guidellm.ts'
import { runShipped, streamProfile } from '../support/shipped.ts'

const streams = 100
const tokens = 500
/** So that the server is faster than its clients, and every word of its texts occurs as often. */
const chunksPerWrite = 20

/**
 * Stream chunks per second on one core, 100 streams at a time, as fast as the server writes: the shipped command with
 * every judge, and guidellm. A reader that drops all bytes shows how fast the server can write.
 */
export const benchGuidellm: Bench = async ({ short }) => {
  const rounds = short ? 1 : 3
  const seconds = short ? 3 : 10
  const program = findProgram(guidellmVariable, 'guidellm')
  console.log(`\nStream chunks per second on one core, ${streams} streams, ${rounds} rounds of ${seconds} s in turn`)
  noteUnpinned()
  const drained: number[] = []
  const ours: number[] = []
  const theirs: number[] = []
  const theirsInOne: number[] = []
  for (let round = 0; round < rounds; round++) {
    drained.push(await onStreamServer(port => drainedPerSecond(port, seconds)))
    ours.push(await onStreamServer(port => ourChunksPerSecond(port, seconds)))
    if (program === null) continue
    theirs.push(await onStreamServer(port => guidellmPerSecond(program, port, seconds)))
    theirsInOne.push(await onStreamServer(port => guidellmPerSecond(program, port, seconds, oneProcess)))
  }
  const show = (name: string, rates: readonly number[]) =>
    console.log(`  ${name.padEnd(38)}${median(rates).toFixed(0).padStart(8)}`)
  show('turnpike with every judge, recorded', ours)
  show('a reader that drops all', drained)
  const ofServer: Figure = {
    name: 'stream chunks per second relative to what the server can write',
    value: medianRatio(ours, drained),
    unit: '',
    aim: null,
  }
  if (program === null) {
    console.log('  guidellm skipped: pip install guidellm==0.8.1 in a virtual environment, then run')
    console.log(`  ${guidellmVariable}=<environment>/bin/guidellm npm run bench -- guidellm`)
    return [ofServer]
  }
  show('guidellm as it is', theirs)
  show('guidellm with one process', theirsInOne)
  const name = 'stream chunks per second on one core relative to guidellm'
  return [
    { name, value: medianRatio(ours, theirs), unit: '', aim: { kind: 'at-least', bound: 10 } },
    { name: `${name} with one process`, value: medianRatio(ours, theirsInOne), unit: '', aim: null },
    ofServer,
  ]
}

const onStreamServer = (work: (port: string) => Promise<number>): Promise<number> =>
  onServer('./programs/stream-server.js', [String(tokens), String(chunksPerWrite)], { core: targetCore }, work)

async function drainedPerSecond(port: string, seconds: number): Promise<number> {
  const args = [port, String(streams), String(seconds)]
  const { perSecond } = await runChild<{ perSecond: number }>('./programs/stream-drain.js', args, { core: clientCore })
  return perSecond * tokens
}

/**
 * The chunks that Turnpike stamped. It reads the streams that are open at the end of the stage to their end, so the time
 * is from its first request to the end of its last stream.
 */
async function ourChunksPerSecond(port: string, seconds: number): Promise<number> {
  const run = { scenario: scenarioOf(seconds), profile: streamProfile, port }
  const { read } = await runShipped(run, async directory => {
    let chunks = 0
    let firstMs = Number.POSITIVE_INFINITY
    let lastMs = 0
    for await (const observation of observationsIn(logFiles(directory, 1))) {
      const stream = streamOf(observation)
      if (stream === null) continue
      chunks += stream.gapsMs.length + 1
      firstMs = Math.min(firstMs, observation.sentMs ?? Number.POSITIVE_INFINITY)
      lastMs = Math.max(lastMs, observation.endMs ?? 0)
    }
    return (chunks * 1_000) / (lastMs - firstMs)
  })
  return read
}

const scenarioOf = (seconds: number): string => `
name: bench
callers: { count: 1 }
calls: { chat: { kind: chat, stream: true, model-tier: XS, prompt-tokens: 16, max-completion-tokens: ${tokens} } }
stages: [{ name: load, duration: ${seconds}s, shape: closed, users: ${streams}, mix: { chat: 1 } }]
bounds: { max-in-flight: 256 }
thresholds: [{ expect: violations == 0, why: The server keeps every promise. }]
`

/** By default guidellm starts up to ten processes, which share the core here. */
const oneProcess = { GUIDELLM__MAX_WORKER_PROCESSES: '1' }

/** The chunks that guidellm counted, also those of streams that it did not read to their end. */
async function guidellmPerSecond(
  program: string,
  port: string,
  seconds: number,
  settings: NodeJS.ProcessEnv = {},
): Promise<number> {
  const rows = Array.from({ length: 5_000 }, () => ({ prompt: 'Tell me a story.' }))
  const { chunks, seconds: taken } = await runGuidellm({ program, port, seconds, tokens, streams, rows, settings })
  return chunks / taken
}
