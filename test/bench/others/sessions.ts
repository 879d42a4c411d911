import { type Observation, streamOf } from '../../../src/observation/observation.ts'
import { logFiles, observationsIn } from '../../../src/storage/run-directory.ts'
import type { ServedStream } from '../programs/stamping-server.ts'
import { aiperfVariable, runAiperf } from '../support/aiperf.ts'
import { type Child, findProgram, noteUnpinned, onServer, reportOf, targetCore } from '../support/child.ts'
import type { Bench, Figure } from '../support/figure.ts'
import { guidellmVariable, runGuidellm } from '../support/guidellm.ts'
import { sessionsScenario, tokens, tokensPerSecond, turns } from '../support/sessions.ts'
import { runShipped, streamProfile } from '../support/shipped.ts'

/** A client that reads fewer of the tokens that sessions without any pause would get cannot drive that many. */
const minShare = 0.95
const maxLatenessMs = 5
const step = 1.4

/** What a client made of some sessions: the share of the tokens that it read, and how late its turns were. */
type Driven = { readonly share: number; readonly lateness: Lateness }

/** In milliseconds: the p99 by the clock of the target, and by that of the client; null: the client does not state it. */
type Lateness = { readonly atTargetMs: number; readonly statedMs: number | null }

/**
 * The most sessions of three turns that a client drives on one core, each stream at its own pace: the shipped command with
 * every judge, guidellm, and aiperf. Each gets more sessions until it reads fewer tokens than are written. The target
 * measures the lateness of all of them: from when it wrote the end of an answer until the next turn of the session arrived.
 */
export const benchSessions: Bench = async ({ short }) => {
  const seconds = short ? 4 : 12
  console.log(
    `\nSessions in flight on one core, ${turns} turns of ${tokens} tokens at ${tokensPerSecond}/s, runs of ${seconds} s`,
  )
  noteUnpinned()
  const most = (drive: Drive) => mostSessions(short ? 1 : 24, sessions => drive(sessions, seconds))
  console.log('  turnpike:')
  const ours = await most(driveOurs)
  const name = 'sessions in flight on one core'
  const onTime = `lateness p99 at most ${maxLatenessMs} ms by the clock of the target`
  const figures: Figure[] = [
    { name: `${name}, read`, value: ours.read, unit: '', aim: null },
    { name: `${name}, ${onTime}`, value: ours.onTime, unit: '', aim: null },
  ]
  for (const { program: called, variable, drive } of others) {
    const program = findProgram(variable, called)
    if (program === null) {
      console.log(`  ${called} skipped: ${variable} names no program, and there is none on the PATH`)
      continue
    }
    console.log(`  ${called}:`)
    const theirs = await most((sessions, each) => drive(program, sessions, each))
    const relative = (kind: string, sessions: number): Figure => ({
      name: `${name}, ${kind}, relative to ${called}`,
      value: sessions,
      unit: '',
      aim: { kind: 'at-least', bound: 5 },
    })
    figures.push(relative('read', ours.read / theirs.read), relative(onTime, ours.onTime / theirs.onTime))
  }
  return figures
}

/** The most sessions whose tokens are read as they are written, and the most whose turns are on time, too. */
type Most = { readonly read: number; readonly onTime: number }
type Drive = (sessions: number, seconds: number) => Promise<Driven>

const fewestSessions = 10

async function mostSessions(maxTries: number, drive: (sessions: number) => Promise<Driven>): Promise<Most> {
  let most: Most = { read: 0, onTime: 0 }
  for (let tries = 0, sessions = fewestSessions; tries < maxTries; tries++, sessions = Math.round(sessions * step)) {
    const { share, lateness } = await drive(sessions)
    const { atTargetMs, statedMs } = lateness
    const stated = statedMs === null ? '' : `, ${statedMs.toFixed(1)} ms by its own`
    const shown = `${(100 * share).toFixed(0)} % of their tokens, lateness p99 ${atTargetMs.toFixed(1)} ms`
    console.log(`  ${String(sessions).padStart(6)} sessions: ${shown}${stated}`)
    if (share < minShare) break
    most = { read: sessions, onTime: atTargetMs <= maxLatenessMs ? sessions : most.onTime }
  }
  return most
}

const onPacedServer = (work: (port: string, server: Child) => Promise<Driven>): Promise<Driven> =>
  onServer('./programs/stamping-server.js', [tokensPerSecond, 1, tokens].map(String), { core: targetCore }, work)

/** Sessions begin evenly during this time, so their turns end evenly, too. */
const rampSeconds = turns + 1

type Window = { readonly startMs: number; readonly endMs: number }
const windowFrom = (firstMs: number, seconds: number): Window => {
  const startMs = firstMs + rampSeconds * 1_000
  return { startMs, endMs: startMs + seconds * 1_000 }
}
const isIn = ({ startMs, endMs }: Window, atMs: number): boolean => atMs >= startMs && atMs < endMs

/** The p99 of how long after the end of an answer the next turn arrived, over the turns of a window. */
async function latenessAt(server: Child, seconds: number): Promise<number> {
  const served = [...(await reportOf<ReadonlyMap<string, ServedStream>>(server)).values()]
  const firstMs = served.reduce((least, { arrivedMs }) => Math.min(least, arrivedMs), Number.POSITIVE_INFINITY)
  const window = windowFrom(firstMs, seconds)
  return p99Of(
    served.flatMap(({ arrivedMs, previousEndMs }) =>
      previousEndMs !== null && isIn(window, previousEndMs) ? [arrivedMs - previousEndMs] : [],
    ),
  )
}

function p99Of(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN
}

const driveOurs: Drive = (sessions, seconds) =>
  onPacedServer(async (port, server) => {
    const scenario = sessionsScenario(sessions, rampSeconds + seconds)
    const run = { scenario, profile: streamProfile, port, verdicts: ['pass', 'inconclusive'] } as const
    const { read } = await runShipped(run, async directory => {
      const turnsOf: Observation[] = []
      for await (const observation of observationsIn(logFiles(directory, 1)))
        if (streamOf(observation) !== null) turnsOf.push(observation)
      const firstMs = turnsOf.reduce((least, { dueMs }) => Math.min(least, dueMs), Number.POSITIVE_INFINITY)
      const window = windowFrom(firstMs, seconds)
      const chunks = turnsOf.reduce((sum, observation) => sum + chunksIn(observation, window), 0)
      const due = turnsOf.filter(({ dueMs }) => isIn(window, dueMs))
      const statedMs = p99Of(due.map(({ dueMs, sentMs }) => (sentMs ?? Number.POSITIVE_INFINITY) - dueMs))
      return { share: shareOf(chunks, sessions, seconds), statedMs }
    })
    return { share: read.share, lateness: { atTargetMs: await latenessAt(server, seconds), statedMs: read.statedMs } }
  })

/** The chunks of a stream that were read in a window. */
function chunksIn(observation: Observation, window: Window): number {
  const stream = streamOf(observation)
  let atMs = stream?.firstTokenMs ?? Number.POSITIVE_INFINITY
  let chunks = isIn(window, atMs) ? 1 : 0
  for (const gapMs of stream?.gapsMs ?? []) {
    atMs += gapMs
    if (isIn(window, atMs)) chunks++
  }
  return chunks
}

const shareOf = (chunks: number, sessions: number, seconds: number): number =>
  chunks / (seconds * sessions * tokensPerSecond)

/** What the users of a session say. No two sessions begin alike. */
const textsOf = (session: number): readonly string[] =>
  Array.from({ length: turns }, (_, turn) => `Tell me a story of ${session}.${turn}`)

/** More sessions than a client can begin. */
const manySessions = (sessions: number): readonly (readonly string[])[] =>
  Array.from({ length: 20 * sessions }, (_, session) => textsOf(session))

/** guidellm begins the next turn or session as soon as one ends. */
const driveGuidellm = (program: string, sessions: number, seconds: number): Promise<Driven> =>
  onPacedServer(async (port, server) => {
    const rows = manySessions(sessions).map(texts =>
      Object.fromEntries(texts.map((text, turn) => [`prompt_${turn}`, text])),
    )
    const whole = rampSeconds + seconds
    const run = { program, port, seconds: whole, rampSeconds, tokens, streams: sessions, rows }
    const { chunks, seconds: took } = await runGuidellm(run)
    // During the ramp, half of the sessions are in flight on average.
    const share = shareOf(chunks, sessions, took - rampSeconds / 2)
    return { share, lateness: { atTargetMs: await latenessAt(server, seconds), statedMs: null } }
  })

/** aiperf begins the next turn or session as soon as one ends. It counts complete answers only. */
const driveAiperf = (program: string, sessions: number, seconds: number): Promise<Driven> =>
  onPacedServer(async (port, server) => {
    const whole = seconds + 2 * rampSeconds
    const rows = manySessions(sessions)
    const run = { program, port, seconds: whole, rampSeconds, tokens, concurrency: sessions, sessions: rows }
    const answers = await runAiperf(run)
    const firstMs = answers.reduce((least, { sentMs }) => Math.min(least, sentMs), Number.POSITIVE_INFINITY)
    const window = windowFrom(firstMs, seconds)
    const chunks = answers.reduce((sum, { chunksMs }) => sum + chunksMs.filter(atMs => isIn(window, atMs)).length, 0)
    const share = shareOf(chunks, sessions, seconds)
    return { share, lateness: { atTargetMs: await latenessAt(server, seconds), statedMs: null } }
  })

/** The programs that Turnpike is compared with, where they are installed. */
const others = [
  { program: 'guidellm', variable: guidellmVariable, drive: driveGuidellm },
  { program: 'aiperf', variable: aiperfVariable, drive: driveAiperf },
] as const
