import type { TlsOptions } from 'node:tls'
import { parentPort, workerData } from 'node:worker_threads'
import type { Contract } from '../contract/contract.ts'
import { systemClock } from '../lib/clock.ts'
import { type RunningServer, startServer } from '../service/server.ts'
import { createService } from '../service/service.ts'

/**
 * TLS with a key that both ends have in memory. A certificate would need a private key, in the package or made at run
 * time, and an encoder for it.
 */
export type SharedKeyTls = { readonly key: Uint8Array; readonly ciphers: string; readonly maxVersion: 'TLSv1.2' }

/** The service that answers the calls of a warm-up: plain data. */
export type WarmUpService = {
  readonly warmUpService: true
  readonly contract: Contract
  readonly seed: number
  /** null: plain HTTP. */
  readonly tls: SharedKeyTls | null
  /** One number in shared memory: the requests so far. */
  readonly served: Int32Array
}

const balance = '1000000'
/** No time is announced, so the client closes idle connections itself, as in most loads. */
const keepAliveMs = 0
/** V8 gives up expecting a certain order of headers after four of them. So the target's own order does not matter. */
const headerOrders = 7
const noLatency = { ttftMs: 0, ttftSigma: 0, itlMs: 0, itlSigma: 0, rpcMs: 0, rpcSigma: 0 }

/** Starts a reference service on loopback that responds without delay. */
export function startWarmUpService({ contract, seed, tls, served }: WarmUpService): Promise<RunningServer> {
  const service = createService({
    contract,
    clock: systemClock(),
    seed,
    openingBalanceUsd: balance,
    openingBalanceDiem: balance,
    timing: noLatency,
    lies: [],
  })
  const respond: typeof service.respond = request => {
    const index = Atomics.add(served, 0, 1)
    const reply = service.respond(request)
    return { ...reply, headers: rotated(reply.headers, index % headerOrders) }
  }
  return startServer({ service: { ...service, respond }, port: 0, host: '127.0.0.1', tls: serverTls(tls), keepAliveMs })
}

function serverTls(tls: SharedKeyTls | null): TlsOptions | null {
  if (tls === null) return null
  const { key, ...settings } = tls
  return { ...settings, pskCallback: () => key }
}

function rotated(headers: Readonly<Record<string, string>>, by: number): Record<string, string> {
  const entries = Object.entries(headers)
  return Object.fromEntries([...entries.slice(by), ...entries.slice(0, by)])
}

const isOurs = (data: unknown): data is WarmUpService =>
  typeof data === 'object' && data !== null && 'warmUpService' in data

/** Runs in its own thread, so that it uses no time and memory of the load thread. */
if (parentPort !== null && isOurs(workerData)) {
  const { port } = await startWarmUpService(workerData)
  parentPort.postMessage(port)
}
