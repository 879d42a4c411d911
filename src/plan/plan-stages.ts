import type { Contract } from '../contract/contract.ts'
import type { Scenario, Stage } from '../scenario/scenario.ts'
import { arrivalsPerSecond, burstArrivals, tierPerMinute } from '../scenario/tier-rate.ts'
import type { Load, StagePlan } from './plan.ts'

/** The stages one after the other, with their rates in arrivals a second of all callers. */
export function planStages({ stages, calls, callers }: Scenario, contract: Contract): readonly StagePlan[] {
  let startMs = 0
  return stages.map(stage => {
    const perMinute = 'mix' in stage ? tierPerMinute(stage.mix, calls, callers.accountTier, contract) : null
    const { name, durationMs } = stage
    const planned = {
      name,
      startMs,
      durationMs,
      callers: stage.callers,
      firstCaller: stage.firstCaller,
      beyondFailures: stage.beyondFailures,
      load: loadOf(stage, perMinute),
    }
    startMs += durationMs
    return planned
  })
}

function loadOf(stage: Stage, perMinuteOfCaller: number | null): Load {
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
    case 'pause':
      return { model: 'open', shape: { kind: 'pause' }, mix: [] }
    case 'closed':
      return { model: 'closed', users: stage.users, thinkMs: stage.thinkMs, mix: stage.mix }
    case 'sequence':
      return { model: 'sequence', calls: stage.calls }
  }
}
