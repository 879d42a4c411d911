import { peakPerSecond } from './arrivals-between.ts'
import type { Mix, Shape, StagePlan } from './plan.ts'

/** What a stage sends, in words: `poisson 12.8/s (64/min a caller): chat 25%, rpc 75%`. */
export function describeLoad(stage: StagePlan): string {
  const { load } = stage
  switch (load.model) {
    case 'sequence':
      return `in sequence: ${inTurns(load.calls)}`
    case 'closed':
      return `${load.users} users, thinking ${seconds(load.thinkMs)}: ${describeMix(load.mix)}`
    case 'saturate':
      return `${load.connections} connections kept busy, at most ${load.maxCalls} calls: ${describeMix(load.mix)}`
    case 'capacity': {
      const { fromPerSecond, toPerSecond, good, precision, confirmMs, confirmSamples } = load.search
      const each = digits((toPerSecond * 60) / stage.callers)
      const range = `from ${digits(fromPerSecond)} to ${digits(toPerSecond)}/s at most (${each}/min a caller)`
      const proof = `confirmed over ${seconds(confirmMs)} and ${confirmSamples} answers a call`
      const goal = `for what stays ${exactPercent(good)} good, to ${exactPercent(precision)}`
      return `search ${range} ${goal}, ${proof}: ${describeMix(load.mix)}`
    }
    case 'open': {
      const peak = peakPerSecond(stage)
      const each = peak === null || peak === 0 ? '' : ` (${digits((peak * 60) / stage.callers)}/min a caller)`
      const mix = load.mix.length === 0 ? '' : `: ${describeMix(load.mix)}`
      return `${describeShape(load.shape, stage.durationMs)}${each}${mix}`
    }
  }
}

function describeShape(shape: Shape, durationMs: number): string {
  switch (shape.kind) {
    case 'constant':
    case 'poisson':
      return `${shape.kind} ${digits(shape.perSecond)}/s`
    case 'ramp':
      return `ramp ${digits(shape.fromPerSecond)} to ${digits(shape.toPerSecond)}/s`
    case 'stairs': {
      const { fromPerSecond, toPerSecond, steps, rampMs } = shape
      const ramps = rampMs === 0 ? '' : `, ${seconds(rampMs)} from each to the next`
      return `stairs ${digits(fromPerSecond)} to ${digits(toPerSecond)}/s in ${steps} levels${ramps}`
    }
    case 'spike': {
      const { basePerSecond, peakPerSecond, atMs, forMs, rampUpMs, rampDownMs } = shape
      const ramps = rampUpMs + rampDownMs === 0 ? '' : `, ramps of ${seconds(rampUpMs)} and ${seconds(rampDownMs)}`
      const peak = `${digits(peakPerSecond)}/s at ${seconds(atMs)} for ${seconds(forMs)}`
      return `spike from ${digits(basePerSecond)} to ${peak}${ramps}`
    }
    case 'burst':
      return `burst of ${shape.size}${shape.everyMs < durationMs ? ` every ${seconds(shape.everyMs)}` : ''}`
    case 'recorded': {
      const stage = shape.stage === null ? '' : `, its stage ${shape.stage}`
      const speed = shape.speed === 1 ? '' : `, ${digits(shape.speed)} times as fast`
      return `recorded in ${shape.run}${stage}${speed}`
    }
    case 'pause':
      return 'pause'
  }
}

function describeMix(mix: Mix): string {
  const total = mix.reduce((sum, [, weight]) => sum + weight, 0)
  return mix.map(([call, weight]) => `${call} ${percent(weight / total)}`).join(', ')
}

/** A share that someone wrote, and not one that was reckoned. */
const exactPercent = (share: number): string => `${Number((share * 100).toPrecision(6))}%`

const percent = (share: number): string => `${Number((share * 100).toPrecision(2))}%`

export const seconds = (ms: number): string => (ms > 0 && ms < 1_000 ? `${digits(ms)} ms` : `${digits(ms / 1_000)} s`)

/** Three digits are enough to read. */
const digits = (value: number): string => String(Number(value.toPrecision(3)))

/** Each call once, with how often it comes in a row. */
function inTurns(calls: readonly string[]): string {
  const turns: { readonly call: string; times: number }[] = []
  for (const call of calls) {
    const last = turns.at(-1)
    if (last?.call === call) last.times++
    else turns.push({ call, times: 1 })
  }
  return turns.map(({ call, times }) => (times === 1 ? call : `${times} x ${call}`)).join(', ')
}
