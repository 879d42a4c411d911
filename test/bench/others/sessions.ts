import { type Observation, streamOf } from '../../../src/observation/observation.ts'
import { logFiles, observationsIn } from '../../../src/storage/run-directory.ts'
import { aiperfVariable, runAiperf } from '../support/aiperf.ts'
import { findProgram, noteUnpinned, onServer, targetCore } from '../support/child.ts'
import type { Bench, Figure } from '../support/figure.ts'
import { guidellmVariable, runGuidellm } from '../support/guidellm.ts'
import { sessionsScenario, tokens, tokensPerSecond, turns } from '../support/sessions.ts'
import { runShipped, streamProfile } from '../support/shipped.ts'

/** A client that reads fewer of the tokens that sessions without any pause would get cannot drive that many. */
const minShare = 0.95
const maxLatenessMs = 5
const step = 1.4

/** What a client made of some sessions. */
type Driven = { readonly share: number; readonly latenessMs: number | null }

/**
 * The most sessions of three turns that a client drives on one core, each stream at its own pace: the shipped command with
 * every judge, guidellm, and aiperf. Each gets more sessions until it reads fewer tokens than are written.
 */
export const benchSessions: Bench = async ({ short }) => {
  const seconds = short ? 4 : 12
  console.log(
    `\nSessions in flight on one core, ${turns} turns of ${tokens} tokens at ${tokensPerSecond}/s, runs of ${seconds} s`,
  )
  noteUnpinned()
  const ours = await mostSessions(short ? 20 : 200, short ? 1 : 20, sessions => driveOurs(sessions, seconds))
  const name = 'sessions in flight on one core'
  const onTime: Figure = {
    name: `${name}, p99 of lateness at most ${maxLatenessMs} ms`,
    value: ours.onTime,
    unit: '',
    aim: null,
  }
  const figures = [onTime]
  for (const { program: called, variable, drive } of others) {
    const program = findProgram(variable, called)
    if (program === null) {
      console.log(`  ${called} skipped: ${variable} names no program, and there is none on the PATH`)
      continue
    }
    console.log(`  ${called}:`)
    const theirs = await mostSessions(short ? 10 : 50, short ? 1 : 20, sessions => drive(program, sessions, seconds))
    const relative = (kind: string, sessions: number): Figure => ({
      name: `${name}, ${kind}, relative to those that ${called} reads`,
      value: sessions / theirs.read,
      unit: '',
      aim: { kind: 'at-least', bound: 5 },
    })
    figures.push(relative('read', ours.read), relative('on time', ours.onTime))
  }
  return figures
}

/** The most sessions whose tokens are read as they are written, and the most of which the turns are on time, too. */
type Most = { readonly read: number; readonly onTime: number }

async function mostSessions(
  first: number,
  maxTries: number,
  drive: (sessions: number) => Promise<Driven>,
): Promise<Most> {
  let most: Most = { read: 0, onTime: 0 }
  for (let tries = 0, sessions = first; tries < maxTries; tries++, sessions = Math.round(sessions * step)) {
    const { share, latenessMs } = await drive(sessions)
    const late = latenessMs === null ? '' : `, lateness p99 ${latenessMs.toFixed(1)} ms`
    console.log(`  ${String(sessions).padStart(6)} sessions: ${(100 * share).toFixed(0)} % of their tokens${late}`)
    if (share < minShare) break
    const isOnTime = latenessMs !== null && latenessMs <= maxLatenessMs
    most = { read: sessions, onTime: isOnTime ? sessions : most.onTime }
  }
  return most
}

const onPacedServer = (work: (port: string) => Promise<Driven>): Promise<Driven> =>
  onServer('./programs/calibration-server.js', [String(tokensPerSecond), '1'], { core: targetCore }, work)

const driveOurs = (sessions: number, seconds: number): Promise<Driven> =>
  onPacedServer(async port => {
    const scenario = sessionsScenario(sessions, rampSeconds + seconds)
    const run = { scenario, profile: streamProfile, port, verdicts: ['pass', 'inconclusive'] } as const
    const { read } = await runShipped(run, async directory => {
      const turnsOf: Observation[] = []
      for await (const observation of observationsIn(logFiles(directory, 1)))
        if (streamOf(observation) !== null) turnsOf.push(observation)
      const startMs = Math.min(...turnsOf.map(({ dueMs }) => dueMs)) + rampSeconds * 1_000
      const window = { startMs, endMs: startMs + seconds * 1_000 }
      const chunks = turnsOf.reduce((sum, observation) => sum + chunksIn(observation, window), 0)
      return { share: shareOf(chunks, sessions, seconds), latenessMs: latenessIn(turnsOf, window) }
    })
    return read
  })

/** Sessions of three turns arrive evenly, so as many as asked for are in flight from then on. */
const rampSeconds = turns + 1

type Window = { readonly startMs: number; readonly endMs: number }
const isIn = ({ startMs, endMs }: Window, atMs: number): boolean => atMs >= startMs && atMs < endMs

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

/** The p99 of the turns that were due in a window. */
function latenessIn(observations: readonly Observation[], window: Window): number {
  const due = observations.filter(({ dueMs }) => isIn(window, dueMs))
  const late = due.map(({ dueMs, sentMs }) => (sentMs ?? Number.POSITIVE_INFINITY) - dueMs).toSorted((a, b) => a - b)
  return late[Math.ceil(late.length * 0.99) - 1] ?? Number.NaN
}

const shareOf = (chunks: number, sessions: number, seconds: number): number =>
  chunks / (seconds * sessions * tokensPerSecond)

/** guidellm begins as many sessions at once, and the next turn or session as soon as one ends. */
const driveGuidellm = (program: string, sessions: number, seconds: number): Promise<Driven> =>
  onPacedServer(async port => {
    const prompts = Array.from({ length: turns }, (_, turn) => [`prompt_${turn}`, 'Tell me a story.'] as const)
    const rows = Array.from({ length: 20 * sessions }, () => Object.fromEntries(prompts))
    const run = await runGuidellm({ program, port, seconds, tokens, streams: sessions, rows })
    return { share: shareOf(run.chunks, sessions, run.seconds), latenessMs: null }
  })

/** aiperf begins as many sessions at once, and the next turn or session as soon as one ends. It counts complete answers only. */
async function driveAiperf(program: string, sessions: number, seconds: number): Promise<Driven> {
  const texts = Array.from({ length: turns }, () => 'Tell me a story.')
  return await onPacedServer(async port => {
    const whole = seconds + 2 * rampSeconds
    const rows = Array.from({ length: sessions }, () => texts)
    const run = { program, port, seconds: whole, tokens, concurrency: sessions, sessions: rows }
    const answers = await runAiperf(run)
    const startMs = answers.reduce((least, { sentMs }) => Math.min(least, sentMs), Number.POSITIVE_INFINITY)
    const window = { startMs: startMs + rampSeconds * 1_000, endMs: startMs + (rampSeconds + seconds) * 1_000 }
    const chunks = answers.reduce((sum, { chunksMs }) => sum + chunksMs.filter(atMs => isIn(window, atMs)).length, 0)
    return { share: shareOf(chunks, sessions, seconds), latenessMs: null }
  })
}

/** The programs that Turnpike is compared with, where they are installed. */
const others = [
  { program: 'guidellm', variable: guidellmVariable, drive: driveGuidellm },
  { program: 'aiperf', variable: aiperfVariable, drive: driveAiperf },
] as const
