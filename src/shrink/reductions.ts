import { isObject } from '../lib/json.ts'
import type { WrittenCall } from '../scenario/calls/calls.ts'
import { parseDuration } from '../scenario/units.ts'
import type { Candidate, Step } from './candidate.ts'

/** One way to make a candidate smaller. `cut`: what it leaves out, for progress. */
type Reduction = { readonly cut: string; readonly candidate: Candidate }

type Reducer = (candidate: Candidate) => Generator<Reduction>

/** All ways, the boldest first. A candidate that none of them makes smaller is minimal. */
export const reducers: readonly Reducer[] = [
  fewerWaits,
  fewerSteps,
  fewerRepetitions,
  fewerCallers,
  oneAfterAnother,
  fewerPermissions,
  simplerContents,
]

function* fewerWaits(candidate: Candidate): Generator<Reduction> {
  const { steps } = candidate
  if (steps.filter(({ pauseMs }) => pauseMs > 0).length > 1)
    yield {
      cut: 'all waits',
      candidate: withSteps(
        candidate,
        steps.map(step => ({ ...step, pauseMs: 0 })),
      ),
    }
  for (const [at, { pauseMs }] of steps.entries())
    for (const shorter of pauseMs > minHalvedMs ? [0, Math.round(pauseMs / 2)] : pauseMs > 0 ? [0] : [])
      yield { cut: `${pauseMs - shorter} ms of a wait`, candidate: withStep(candidate, at, { pauseMs: shorter }) }
}

/** Without a half of the steps, a quarter and so on (Zeller and Hildebrandt, "Simplifying failure-inducing input", 2002). */
function* fewerSteps(candidate: Candidate): Generator<Reduction> {
  const { steps } = candidate
  for (
    let size = Math.ceil(steps.length / 2);
    size < steps.length && size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let at = 0; at < steps.length; at += size) {
      const left = steps.filter((_, index) => index < at || index >= at + size)
      yield { cut: `steps ${at + 1} to ${Math.min(at + size, steps.length)}`, candidate: withSteps(candidate, left) }
    }
  }
}

function* fewerRepetitions(candidate: Candidate): Generator<Reduction> {
  for (const [at, { times, call }] of candidate.steps.entries())
    for (const fewer of fewerThan(times))
      yield { cut: `${times - fewer} of ${times} × ${call}`, candidate: withStep(candidate, at, { times: fewer }) }
}

function* fewerCallers(candidate: Candidate): Generator<Reduction> {
  const { steps } = candidate
  const [first, ...others] = new Set(steps.map(step => step.caller))
  if (first === undefined) return
  for (const caller of others) {
    const changed = steps.map(step => (step.caller === caller ? { ...step, caller: first } : step))
    yield { cut: `caller ${caller}`, candidate: withSteps(candidate, changed) }
  }
}

function* oneAfterAnother(candidate: Candidate): Generator<Reduction> {
  for (const [at, { isAtOnce }] of candidate.steps.entries())
    if (isAtOnce) yield { cut: 'sending at once', candidate: withStep(candidate, at, { isAtOnce: false }) }
}

function* fewerPermissions(candidate: Candidate): Generator<Reduction> {
  for (const exceeded of candidate.exceeds)
    yield { cut: exceeded, candidate: { ...candidate, exceeds: candidate.exceeds.filter(each => each !== exceeded) } }
}

function* simplerContents(candidate: Candidate): Generator<Reduction> {
  for (const [name, call] of Object.entries(candidate.calls))
    for (const { cut, call: simpler } of simplerCalls(call))
      yield {
        cut: `${cut} of ${name}`,
        candidate: withoutIdleCalls({ ...candidate, calls: { ...candidate.calls, [name]: simpler } }),
      }
}

const withSteps = (candidate: Candidate, steps: readonly Step[]): Candidate =>
  withoutIdleCalls({ ...candidate, steps: joined(steps) })

const withStep = (candidate: Candidate, at: number, changes: Partial<Step>): Candidate =>
  withSteps(
    candidate,
    candidate.steps.map((step, index) => (index === at ? { ...step, ...changes } : step)),
  )

/** Shorter waits are left out or stay. */
const minHalvedMs = 1_000

/** Ways to a smaller number: 1, half of the way, one less. */
function fewerThan(value: number): readonly number[] {
  return [...new Set([1, Math.floor((value + 1) / 2), value - 1])].filter(each => each >= 1 && each < value)
}

/** Neighbors that differ in nothing are one step. */
function joined(steps: readonly Step[]): readonly Step[] {
  const done: Step[] = []
  for (const step of steps) {
    const last = done.at(-1)
    const isSame = last?.call === step.call && last.caller === step.caller && step.pauseMs === 0
    if (isSame && !last.isAtOnce && !step.isAtOnce) done[done.length - 1] = { ...last, times: last.times + step.times }
    else done.push(step)
  }
  return done
}

/** Without calls that no step sends, and that no other call names. */
function withoutIdleCalls(candidate: Candidate): Candidate {
  const sent = new Set(candidate.steps.map(({ call }) => call))
  const named = new Set(
    [...sent].flatMap(name => Object.values(candidate.calls[name] ?? {}).filter(value => typeof value === 'string')),
  )
  const isUsed = (name: string) => sent.has(name) || named.has(name)
  return { ...candidate, calls: Object.fromEntries(Object.entries(candidate.calls).filter(([name]) => isUsed(name))) }
}

type Simpler = { readonly cut: string; readonly call: WrittenCall }

/**
 * Without one field, with a smaller number, with the lower end of a range, or with fewer or simpler members of a mapping. A
 * number stays: without it there may be no bound. The reader of the scenario refuses what makes no sense.
 */
function* simplerCalls(call: WrittenCall): Generator<Simpler> {
  for (const [key, value] of Object.entries(call)) {
    if (value === true) yield { cut: key, call: { ...call, [key]: false } }
    if (typeof value === 'number')
      for (const fewer of smallerThan(value))
        yield { cut: `${value - fewer} of ${key}`, call: { ...call, [key]: fewer } }
    // What happens each time does not depend on the seed.
    if (key === 'ratio' && typeof value === 'number' && value > 0 && value < 1)
      yield { cut: 'chance', call: { ...call, ratio: 1 } }
    const least = typeof value === 'string' ? leastOf(value) : null
    if (least !== null) yield { cut: `the range of ${key}`, call: { ...call, [key]: least } }
    const { [key]: _, ...rest } = call
    if (typeof value === 'string' && (parseDuration(value) ?? 0) > 0) {
      yield { cut: key, call: rest }
      yield { cut: `a half of ${key}`, call: { ...call, [key]: `${Math.round((parseDuration(value) ?? 0) / 2)}ms` } }
    }
    if (!isObject(value)) continue
    yield { cut: key, call: rest }
    const members = Object.entries(value)
    // Weights of methods mean nothing alone.
    if (key !== 'methods')
      for (const { cut, call: simpler } of simplerCalls(value))
        yield { cut: `${cut} of ${key}`, call: { ...call, [key]: simpler } }
    if (members.length < 2) continue
    // One of many is often enough.
    for (const [member, each] of members)
      yield { cut: `all of ${key} but ${member}`, call: { ...call, [key]: { [member]: each } } }
    for (const [member] of members) {
      const { [member]: __, ...others } = value
      yield { cut: `${member} of ${key}`, call: { ...call, [key]: others } }
    }
  }
}

/** None, or for a whole number also one, a half, and one less. */
const smallerThan = (value: number): readonly number[] =>
  value === 0 ? [] : Number.isInteger(value) ? [...new Set([0, ...fewerThan(value)])] : [0]

/** The lower end of a range such as `3 to 5`; null: it is none. */
function leastOf(text: string): number | string | null {
  const [, least] = /^(\w+) to \w+$/.exec(text) ?? []
  if (least === undefined) return null
  return /^\d+$/.test(least) ? Number(least) : least
}
