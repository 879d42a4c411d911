import type { Contract } from '../contract/contract.ts'
import { documented } from '../contract/documented.ts'

const unlimited = { requestsPerMinute: 1_000_000_000, tokensPerMinute: 1_000_000_000_000 }
const tiers = { XS: unlimited, S: unlimited, M: unlimited, L: unlimited }

/** The documented contract with limits that no load of one machine comes near; what the metronome keeps. */
export const metronomeContract: Contract = {
  ...documented,
  name: 'metronome',
  accounts: { default: tiers, partner: tiers },
  limits: { ...documented.limits, windowMs: 3_600_000, tokensReset: 'unix-milliseconds' },
}
