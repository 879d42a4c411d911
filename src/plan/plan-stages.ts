import type { Recorded, Scenario, Stage } from '../scenario/scenario.ts'
import { arrivalsPerSecond, burstArrivals, type LimitOf, tierPerMinute } from '../scenario/tier-rate.ts'
import type { Load, Mix, StagePlan } from './plan.ts'
import { samplesToProve } from './provable-percentile.ts'
import { type Recordings, recordedLoad } from './recorded-stage.ts'

/** The stages one after the other, with their rates in arrivals a second of all callers. */
export function planStages(scenario: Scenario, limitOf: LimitOf, recordings: Recordings): readonly StagePlan[] {
  const { stages, calls } = scenario
  let startMs = 0
  return stages.map(stage => {
    const { name, firstCaller, beyondFailures } = stage
    const planned = { name, startMs, ...lasting(stage), callers: stage.callers, firstCaller, beyondFailures }
    startMs += planned.durationMs
    return planned
  })

  function lasting(stage: Stage): Pick<StagePlan, 'durationMs' | 'load'> {
    if (stage.shape !== 'recorded') {
      const perMinute = 'mix' in stage ? tierPerMinute(stage.mix, calls, limitOf) : null
      return { durationMs: stage.durationMs, load: loadOf(stage, perMinute) }
    }
    const recording = recordings.get(stage.name)
    if (recording === undefined) throw new TypeError(`nobody has read what stage ${stage.name} repeats`)
    const load = recordedLoad(stage.name, stage, recording, scenario)
    return { durationMs: recording.durationMs / stage.speed, load }
  }
}

function loadOf(stage: Exclude<Stage, Recorded>, perMinuteOfCaller: number | null): Load {
  switch (stage.shape) {
    case 'constant':
    case 'poisson': {
      const perSecond = arrivalsPerSecond(stage.rate, perMinuteOfCaller, stage.callers)
      return { model: 'open', shape: { kind: stage.shape, perSecond }, mix: stage.mix }
    }
    case 'ramp': {
      const fromPerSecond = arrivalsPerSecond(stage.from, perMinuteOfCaller, stage.callers)
      const toPerSecond = arrivalsPerSecond(stage.to, perMinuteOfCaller, stage.callers)
      return { model: 'open', shape: { kind: 'ramp', fromPerSecond, toPerSecond }, mix: stage.mix }
    }
    case 'stairs': {
      const fromPerSecond = arrivalsPerSecond(stage.from, perMinuteOfCaller, stage.callers)
      const toPerSecond = arrivalsPerSecond(stage.to, perMinuteOfCaller, stage.callers)
      const { steps, rampMs } = stage
      return { model: 'open', shape: { kind: 'stairs', fromPerSecond, toPerSecond, steps, rampMs }, mix: stage.mix }
    }
    case 'spike': {
      const basePerSecond = arrivalsPerSecond(stage.base, perMinuteOfCaller, stage.callers)
      const peakPerSecond = arrivalsPerSecond(stage.peak, perMinuteOfCaller, stage.callers)
      const { atMs, forMs, rampUpMs, rampDownMs } = stage
      const shape = { kind: 'spike', basePerSecond, peakPerSecond, atMs, forMs, rampUpMs, rampDownMs } as const
      return { model: 'open', shape, mix: stage.mix }
    }
    case 'burst': {
      const share = stage.size.kind === 'of-tier' ? stage.size.share : null
      const size =
        stage.size.kind === 'absolute'
          ? stage.size.arrivals
          : burstArrivals(share ?? 0, perMinuteOfCaller ?? 0, stage.callers)
      // Without a period there is one burst: the next one would be due when the stage is over.
      return {
        model: 'open',
        shape: { kind: 'burst', size, everyMs: stage.everyMs ?? stage.durationMs },
        mix: stage.mix,
      }
    }
    case 'capacity': {
      const { good, precision, trialMs, confirmMs, spacing, coolDownMs, mix } = stage
      const search = {
        fromPerSecond: arrivalsPerSecond(stage.from, perMinuteOfCaller, stage.callers),
        toPerSecond: arrivalsPerSecond(stage.to, perMinuteOfCaller, stage.callers),
        good,
        precision,
        trialMs,
        confirmMs,
        confirmSamples: samplesToProve(good * 100),
        shares: sharesOf(mix),
      }
      return { model: 'capacity', search, spacing, coolDownMs, mix }
    }
    case 'pause':
      return { model: 'open', shape: { kind: 'pause' }, mix: [] }
    case 'closed':
      return { model: 'closed', users: stage.users, thinkMs: stage.thinkMs, mix: stage.mix }
    case 'saturate':
      return { model: 'saturate', connections: stage.connections, maxCalls: stage.maxCalls, mix: stage.mix }
    case 'sequence':
      return { model: 'sequence', calls: stage.calls }
  }
}

function sharesOf(mix: Mix): Readonly<Record<string, number>> {
  const total = mix.reduce((sum, [, weight]) => sum + weight, 0)
  return Object.fromEntries(mix.map(([call, weight]) => [call, weight / total]))
}
