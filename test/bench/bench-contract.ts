import type { Contract } from '../../src/contract/contract.ts'
import { documented } from '../../src/contract/documented.ts'

/** The documented contract without limits that a benchmark would reach. */
export const benchContract: Contract = {
  ...documented,
  name: 'bench',
  rpc: { ...documented.rpc, requestsPerMinute: 1_000_000_000 },
  limits: { ...documented.limits, windowMs: 3_600_000 },
}
