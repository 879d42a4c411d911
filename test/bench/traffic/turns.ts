import type { StampDelaySnapshot } from '../../../src/calibration/result.ts'
import { type Observation, streamOf } from '../../../src/observation/observation.ts'
import { requestTraits } from '../../../src/observation/requests/request.ts'
import { logFiles, observationsIn } from '../../../src/storage/run-directory.ts'
import type { ServedStream } from '../programs/stamping-server.ts'
import { noteUnpinned, onServer, reportOf, runCommand, targetCore } from '../support/child.ts'
import type { Bench, Figure } from '../support/figure.ts'
import { sessionsScenario, tokens, tokensPerSecond, turns } from '../support/sessions.ts'
import { runShipped, streamProfile } from '../support/shipped.ts'

/** V8 compiles during these. */
const warmUpMs = 6_000

/** What Turnpike says of the first token of a turn, less what the target says of it. */
type TurnError = { readonly fromDueMs: number; readonly fromSentMs: number }

/**
 * The TTFT of each turn of conversations, beside that of the target: from when the request arrived until its first token was
 * written. Both are differences of times of one clock, so the origins of the clocks do not matter. From when a turn was due, as
 * reports state it, the difference has the lateness of the turn, too, which reports state by itself. A reader that only looks for
 * the times of writing shows what is the part of the machine.
 */
export const benchTurns: Bench = async ({ short }) => {
  const [sessions, seconds] = short ? [20, 4] : [100, 30]
  console.log(`\nTTFT by turn beside the clock of the target, ${sessions} sessions in flight, ${seconds} s`)
  noteUnpinned()
  const errors = await errorsByTurn(sessions, seconds)
  const raw = await rawReader(sessions, seconds)
  console.log('  turn   count   from due: p50 ms   p99 ms   from sent: p50 ms   p99 ms')
  const figures = errors.flatMap((ofTurn, turn): readonly Figure[] => {
    const fromDue = ofTurn.map(({ fromDueMs }) => fromDueMs)
    const fromSent = ofTurn.map(({ fromSentMs }) => fromSentMs)
    const [p50, p99] = [quantile(fromSent, 0.5), quantile(fromSent, 0.99)]
    const [a, b, c, d] = [quantile(fromDue, 0.5), quantile(fromDue, 0.99), p50, p99].map(ms => ms.toFixed(2))
    console.log(
      `  ${String(turn + 1).padStart(4)}${String(ofTurn.length).padStart(8)}${a?.padStart(19)}${b?.padStart(9)}${c?.padStart(20)}${d?.padStart(9)}`,
    )
    const name = `error of the TTFT of turn ${turn + 1}`
    const aim = { kind: 'at-most', bound: 1 } as const
    return [
      { name: `${name}, p50`, value: p50, unit: 'ms', aim },
      { name: `${name}, p99`, value: p99, unit: 'ms', aim },
    ]
  })
  const rawMs = [raw.p50, raw.p99].map(ms => ms ?? Number.NaN)
  console.log(`  a reader that does nothing else: p50 ${rawMs[0]?.toFixed(2)} ms, p99 ${rawMs[1]?.toFixed(2)} ms`)
  const name = 'delay of a first token for a reader that does nothing else'
  return [
    ...figures,
    ...rawMs.map((value, at) => ({ name: `${name}, ${at === 0 ? 'p50' : 'p99'}`, value, unit: 'ms', aim: null })),
  ]
}

/** From writing a first token until a raw reader has it, with as many streams of the same pace. */
async function rawReader(streams: number, seconds: number): Promise<StampDelaySnapshot['firstTokenMs']> {
  const load = { streams, rate: tokensPerSecond, tokens, seconds }
  const flags = Object.entries(load).flatMap(([name, value]) => [`--${name}`, String(value)])
  const command = [process.execPath, 'dist/main.js', 'calibrate', ...flags, '--format', 'json']
  // What it says on stderr comes before its result.
  const output = await runCommand(command, { goodCodes: [0, 3] })
  const { raw }: { raw: StampDelaySnapshot } = JSON.parse(output.slice(output.indexOf('{')))
  return raw.firstTokenMs
}

/** Of the absolute values. */
function quantile(errorsMs: readonly number[], share: number): number {
  const sorted = errorsMs.map(Math.abs).toSorted((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
}

function errorsByTurn(sessions: number, seconds: number): Promise<readonly (readonly TurnError[])[]> {
  const args = [tokensPerSecond, 1, tokens].map(String)
  return onServer('./programs/stamping-server.js', args, { core: targetCore }, async (port, server) => {
    const scenario = sessionsScenario(sessions, warmUpMs / 1_000 + seconds)
    const run = { scenario, profile: streamProfile, port, verdicts: ['pass', 'inconclusive'] } as const
    const { read } = await runShipped(run, async directory => {
      const recorded: Observation[] = []
      for await (const observation of observationsIn(logFiles(directory, 1)))
        if (streamOf(observation) !== null) recorded.push(observation)
      return recorded
    })
    const served = await reportOf<ReadonlyMap<string, ServedStream>>(server)
    const startMs = Math.min(...read.map(({ dueMs }) => dueMs)) + warmUpMs
    const measured = read.filter(({ dueMs }) => dueMs >= startMs)
    return Array.from({ length: turns }, (_, turn) =>
      measured.filter(({ request }) => turnOf(request) === turn).map(observation => errorOf(observation, served)),
    )
  })
}

const turnOf = (request: Observation['request']): number | undefined => requestTraits(request).turn(request)?.number

function errorOf(observation: Observation, served: ReadonlyMap<string, ServedStream>): TurnError {
  const { dueMs, sentMs, response, id } = observation
  const ofTarget = served.get(response?.headers['cf-ray'] ?? '')
  const writtenMs = ofTarget?.writtenMs[0]
  const firstTokenMs = streamOf(observation)?.firstTokenMs ?? null
  if (ofTarget === undefined || writtenMs === undefined || firstTokenMs === null || sentMs === null)
    throw new Error(`the server knows no first token of request ${id}`)
  const ttftMs = writtenMs - ofTarget.arrivedMs
  return { fromDueMs: firstTokenMs - dueMs - ttftMs, fromSentMs: firstTokenMs - sentMs - ttftMs }
}
