import { documentedContract } from '../../src/contract/documented.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { pico } from '../../src/lib/money.ts'
import { defaultLatency } from '../../src/service/capacity.ts'
import type { Lie } from '../../src/service/lies/lie.ts'
import { basePath, type ServiceRequest } from '../../src/service/message.ts'
import { startServer } from '../../src/service/server.ts'
import { createService, type Service } from '../../src/service/service.ts'

/** A request as the target got it. */
export type SeenRequest = {
  /** Unix milliseconds, when its last byte arrived. */
  readonly atMs: number
  /** The caller by its reference key, and the run that the key was made for, without its punctuation. */
  readonly caller: string
  readonly run: string
  /** Everything in it that tells it from another request of its caller. */
  readonly content: string
  /** Whether it is part of a load of RPC and chat calls; otherwise a list, such as the limits in a balance check. */
  readonly isPost: boolean
}

/** The reference service in this process, which notes every request. */
export type WatchedService = {
  readonly target: string
  readonly seen: () => readonly SeenRequest[]
  /** The RPC and chat calls of a run. */
  readonly load: (runId: string) => readonly SeenRequest[]
  /** From now on, requests that are so get no response before `release`. */
  readonly hold: (isHeld: (request: ServiceRequest) => boolean) => void
  readonly release: () => void
  /** What the accounts of a run have paid, in pico-USD, by their own balances. Settles what is still due first. */
  readonly spent: (runId: string) => bigint
  readonly close: () => Promise<void>
}

const openingUsd = '10'

/** As Turnpike writes a run into the reference keys that it makes for it. */
const accountNameOf = (runId: string): string => runId.replaceAll(/[^A-Za-z0-9]/g, '')

/** `group`: what the idempotency key says, without the run that it is for; null: there is no such key. */
export const contentOf = (method: string, path: string, group: string | null, body: string): string =>
  [method, path, group ?? '', body].join(' ')

export async function startWatchedService(lies: readonly Lie[] = []): Promise<WatchedService> {
  const clock = systemClock()
  let aheadMs = 0
  const service = createService({
    contract: documentedContract,
    clock: { ...clock, wallMs: () => clock.wallMs() + aheadMs },
    seed: 1,
    openingBalanceUsd: openingUsd,
    openingBalanceDiem: '0',
    timing: defaultLatency,
    lies,
  })
  const seen: SeenRequest[] = []
  const keys = new Set<string>()
  const held = new Set<() => void>()
  let isHeld: (request: ServiceRequest) => boolean = () => false
  const watched: Service = {
    ...service,
    respondLater: request => {
      const { method, path, headers, body } = request
      const authorization = headers.authorization ?? ''
      if (authorization !== '') keys.add(authorization)
      const [, run = '', caller = ''] = /_([^-_]+)-([^-_]+)$/.exec(authorization) ?? []
      const group = headers['idempotency-key']?.replace(/^.*-/, '') ?? null
      const content = contentOf(method, path, group, String(body))
      seen.push({ atMs: clock.wallMs(), caller, run, content, isPost: method === 'POST' })
      if (!isHeld(request)) return service.respondLater(request)
      return new Promise<void>(resolve => held.add(resolve)).then(() => service.respond(request))
    },
  }
  const { port, close } = await startServer({ service: watched, port: 0, host: '127.0.0.1' })
  const release = () => {
    isHeld = () => false
    for (const respond of held) respond()
    held.clear()
  }
  return {
    target: `http://127.0.0.1:${port}${basePath}`,
    seen: () => seen,
    load: runId => seen.filter(({ run, isPost }) => isPost && run === accountNameOf(runId)),
    hold: held => {
      isHeld = held
    },
    release,
    spent: runId => {
      // A completion is charged when it is complete, even if nobody reads it any more.
      aheadMs = 3_600_000
      const paying = [...keys].filter(key => key.includes(accountNameOf(runId)))
      const balances = paying.map(authorization => {
        const headers = { authorization }
        const reply = service.respond({ method: 'GET', path: documentedContract.paths.rateLimits, headers, body: '' })
        return pico(reply.headers[`${documentedContract.headerPrefix}balance-usd`] ?? '')
      })
      return balances.reduce((sum, left) => sum + (pico(openingUsd) - left), 0n)
    },
    close: async () => {
      release()
      await close()
    },
  }
}
