import type { LimitsSpec, TimeoutsSpec } from '../scenario/scenario.ts'
import type { Bounds, Timeouts } from './plan.ts'

const defaults: Bounds = {
  maxInFlight: 512,
  maxBodyBytes: 4 * 1024 * 1024,
  drainMs: 30_000,
  timeouts: {
    // A long prompt is read before the first token, and a long completion is minutes of tokens.
    chat: { connectMs: 10_000, headersMs: 120_000, idleMs: 60_000, totalMs: 600_000 },
    // The service gives an upstream node 30 s and then answers itself; 5 s more see that answer.
    rpc: { connectMs: 10_000, headersMs: 35_000, idleMs: 35_000, totalMs: 35_000 },
    control: { connectMs: 10_000, headersMs: 30_000, idleMs: 30_000, totalMs: 30_000 },
  },
}

/** The bounds of the harness: those of the scenario, and the defaults for what it leaves open. */
export function planBounds({ maxInFlight, maxBodyBytes, drainMs, timeouts }: LimitsSpec): Bounds {
  return {
    maxInFlight: maxInFlight ?? defaults.maxInFlight,
    maxBodyBytes: maxBodyBytes ?? defaults.maxBodyBytes,
    drainMs: drainMs ?? defaults.drainMs,
    timeouts: {
      chat: withDefaults(timeouts.chat, defaults.timeouts.chat),
      rpc: withDefaults(timeouts.rpc, defaults.timeouts.rpc),
      control: withDefaults(timeouts.control, defaults.timeouts.control),
    },
  }
}

function withDefaults({ connectMs, headersMs, idleMs, totalMs }: TimeoutsSpec, otherwise: Timeouts): Timeouts {
  return {
    connectMs: connectMs ?? otherwise.connectMs,
    headersMs: headersMs ?? otherwise.headersMs,
    idleMs: idleMs ?? otherwise.idleMs,
    totalMs: totalMs ?? otherwise.totalMs,
  }
}
