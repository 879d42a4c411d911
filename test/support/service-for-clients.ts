import type { Contract } from '../../src/contract/contract.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { ServiceLatency } from '../../src/service/capacity.ts'
import { type RunningServer, startServer } from '../../src/service/server.ts'
import { createService } from '../../src/service/service.ts'

const noDelays: ServiceLatency = { ttftMs: 0, ttftSigma: 0, itlMs: 0, itlSigma: 0, rpcMs: 0, rpcSigma: 0 }

type Options = Partial<Omit<Parameters<typeof createService>[0], 'contract' | 'timing'>> & {
  readonly timing?: Partial<ServiceLatency>
}

/** A reference service, without delays unless the options name some. `base` is its base URL. */
export async function serviceForClients(
  contract: Contract = documentedContract,
  { timing, ...options }: Options = {},
): Promise<{ readonly base: string; readonly server: RunningServer }> {
  const service = createService({
    contract,
    clock: systemClock(),
    seed: 3,
    openingBalanceUsd: '10',
    openingBalanceDiem: '0',
    lies: [],
    ...options,
    timing: { ...noDelays, ...timing },
  })
  const server = await startServer({ service, port: 0, host: '127.0.0.1' })
  return { base: `http://127.0.0.1:${server.port}/api/v1`, server }
}
