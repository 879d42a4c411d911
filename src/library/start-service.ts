import { systemClock } from '../lib/clock.ts'
import { defaultLatency } from '../service/capacity.ts'
import { knownLie } from '../service/lies/lies.ts'
import { startServer } from '../service/server.ts'
import { createService } from '../service/service.ts'
import { contractIn } from './draft.ts'
import { withOptionNames } from './options.ts'
import { createSecrets } from './secrets.ts'
import { profileFile } from './shipped-files.ts'

export type LocalServiceOptions = {
  /** Lies to tell, by name: seeded violations, as `turnpike service --list-lies` lists them. Default: none. */
  readonly lies?: readonly string[] | undefined
  /** A profile: the path of a file, or the name of a shipped one. Default: the documented one. */
  readonly profile?: string | undefined
  /** Random seed. Default: 1. */
  readonly seed?: number | undefined
  /** Default: any free port. */
  readonly port?: number | undefined
}

export type StartedService = {
  /** The base URL, for `target`. */
  readonly url: string
  /** Ends the service and all of its connections. */
  readonly close: () => Promise<void>
}

/**
 * Starts the reference service in this process, on loopback. Each key such as `ref_default_anna` has an account. Throws a
 * UsageError for a mistake.
 */
export function startReferenceService(options: LocalServiceOptions = {}): Promise<StartedService> {
  return withOptionNames(async () => {
    const { lies = [], profile = null, seed = 1, port = 0 } = options
    const file = profile === null ? null : profileFile(profile, null)
    const service = createService({
      contract: contractIn(file, createSecrets()),
      clock: systemClock(),
      seed,
      openingBalanceUsd: '10',
      openingBalanceDiem: '0',
      timing: defaultLatency,
      lies: lies.map(knownLie),
    })
    const server = await startServer({ service, host: '127.0.0.1', port })
    return { url: `http://127.0.0.1:${server.port}/api/v1`, close: server.close }
  })
}
