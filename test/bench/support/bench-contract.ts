import type { Contract } from '../../../src/contract/contract.ts'
import { documentedContract } from '../../../src/contract/documented.ts'

/** The documented contract without limits that a benchmark would reach. */
export const benchContract: Contract = {
  ...documentedContract,
  name: 'bench',
  rpc: { ...documentedContract.rpc, requestsPerMinute: 1_000_000_000 },
  limits: { ...documentedContract.limits, windowMs: 3_600_000 },
}
