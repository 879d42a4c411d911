import type { Contract } from '../contract/contract.ts'
import type { Clock } from '../lib/clock.ts'
import { is2xx } from '../lib/numbers.ts'
import type { Plan } from '../plan/plan.ts'
import { loadKeys, type Variables } from '../produce/callers/api-keys.ts'
import type { Caller } from '../produce/callers/caller.ts'
import { paymentPackages } from '../produce/callers/payment-maker.ts'
import { loadWalletKeys, loadWallets } from '../produce/callers/wallet-keys.ts'
import { isEventStream, leavesAt } from '../produce/transport/exchange.ts'
import type { Exchange, Saturate, Transport } from '../produce/transport/transport.ts'
import { type InlineIo, startInline, unrecordedJob } from '../run/inline.ts'
import type { StartWorker } from '../run/messages.ts'
import type { RunIo, RunJob } from '../run/run.ts'
import type { StreamChunk } from '../service/message.ts'
import type { Service } from '../service/service.ts'
import { evmSignatures } from '../service/wallets/evm-signatures.ts'
import { facilitators } from '../service/wallets/facilitator.ts'
import type { ManualClock } from './manual-clock.ts'

export type MemoryNetwork = {
  /** The network delay of each request and each response, in milliseconds. */
  readonly delayMs: () => number
  /** Whether the connection of the next request is reset before the request reaches the service; by default never. */
  readonly isReset?: () => boolean
}

export const steadyNetwork: MemoryNetwork = { delayMs: () => 0.5 }

/** The reference service without sockets, on a clock that moves on request. It has no timeouts. */
export function memoryTransport(service: Service, clock: Clock, network: MemoryNetwork = steadyNetwork): Transport {
  return request =>
    new Promise<Exchange>(done => {
      const sentMs = clock.nowMs()
      const { leave, readingMs } = request
      /** What has arrived so far, and how the service learns that the client has left. */
      let arrived = { ...unanswered, sentMs }
      let tell: () => void = () => {}
      let isOver = false
      const resolve = (exchange: Exchange) => {
        if (!isOver) done(exchange)
        isOver = true
      }
      let isSilent = false
      const hangUp = () => {
        if (isOver || isSilent) return
        if (leave?.silentMs === undefined) return close()
        isSilent = true
        after(clock, leave.silentMs, close)
      }
      const close = () => {
        if (isOver) return
        resolve({ ...arrived, endMs: clock.nowMs(), failure: { reason: 'left', detail: leave?.text ?? '' } })
        after(clock, network.delayMs(), () => tell())
      }
      if (typeof leave?.at === 'object' && 'ms' in leave.at) after(clock, leave.at.ms, hangUp)
      if (network.isReset?.() === true)
        return after(clock, network.delayMs(), () => resolve(resetAt(sentMs, clock.nowMs())))
      after(clock, network.delayMs(), async () => {
        const headers = Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value]),
        )
        const asked = { method: request.method, path: request.path, headers, body: request.body ?? '' }
        // Only wallets make the service wait for something else than its clock.
        const reply =
          'authorization' in headers
            ? service.respond(asked)
            : await (service.respondLater(asked) ?? service.respond(asked))
        const startMs = clock.nowMs()
        tell = () => reply.onLeave?.(clock.nowMs() - startMs)
        const backMs = network.delayMs()
        after(clock, reply.afterMs + backMs, () => {
          if (isOver || isSilent) return
          const headersMs = clock.nowMs()
          const response = { sentMs, headersMs, status: reply.status, headers: reply.headers, failure: null }
          arrived = { ...arrived, ...response }
          if (leave?.at === 'headers' && is2xx(reply.status)) return hangUp()
          if (reply.body.kind === 'whole' || reply.body.kind === 'bytes') {
            const body = reply.body.kind === 'whole' ? Buffer.from(reply.body.text) : reply.body.bytes
            resolve({ ...response, endMs: headersMs, body, bytes: body.length })
            return
          }
          if (reply.body.kind === 'live') throw new Error('a live stream has no place in virtual time')
          let bytes = 0
          const onStreamBytes = isEventStream(response) ? request.onStreamBytes : null
          const parts: Buffer[] = []
          const { chunks, whileFull } = reply.body
          const dueMs = (chunk: StreamChunk) => Math.max(headersMs, startMs + chunk.afterMs + backMs)
          const read = (chunk: StreamChunk, index: number) => {
            if (isOver || isSilent) return
            const part = Buffer.from(chunk.text)
            bytes += part.length
            if (onStreamBytes === null) parts.push(part)
            else onStreamBytes(part, clock.nowMs())
            arrived = { ...arrived, bytes }
            if (leave !== undefined && leavesAt(leave, reply.status)) return hangUp()
            if (index === chunks.length - 1)
              resolve({ ...response, endMs: clock.nowMs(), body: Buffer.concat(parts), bytes })
          }
          const unread: (() => number)[] = []
          let unreadBytes = 0
          let isReading = false
          const readNext = () => {
            const next = unread.shift()
            isReading = next !== undefined
            if (next !== undefined) after(clock, next(), readNext)
          }
          /** A client that reads slowly takes a chunk when it has read those before. */
          const wait = (chunk: StreamChunk, index: number, readingMs: (bytes: number) => number) => {
            const fate = unreadBytes > bufferBytes ? whileFull?.(chunk.text) : 'waits'
            if (fate === 'breaks-off') resolve({ ...arrived, ...lost(clock.nowMs()) })
            if (isOver || fate === 'is-lost') return
            const length = Buffer.byteLength(chunk.text)
            unreadBytes += length
            unread.push(() => {
              unreadBytes -= length
              read(chunk, index)
              return readingMs(length)
            })
            if (!isReading) readNext()
          }
          chunks.forEach((chunk, index) => {
            const take = readingMs === undefined ? read : wait
            clock.at(dueMs(chunk), () => take(chunk, index, readingMs ?? (() => 0)))
          })
        })
      })
    })
}

const unanswered = {
  headersMs: null as number | null,
  status: null as number | null,
  headers: {} as Exchange['headers'],
  body: Buffer.alloc(0),
  bytes: 0,
}

/** What a client has not read and a network holds for it; then the buffers to it are full. */
const bufferBytes = 4_096

const lost = (endMs: number) => ({ endMs, failure: { reason: 'connection-lost', detail: 'read ECONNRESET' } }) as const

const resetAt = (sentMs: number, endMs: number): Exchange => ({ ...unanswered, sentMs, ...lost(endMs) })

function after(clock: Clock, delayMs: number, then: () => void): void {
  clock.at(clock.nowMs() + delayMs, then)
}

/** Saturated connections over any transport. */
const busyOver =
  (transport: Transport): Saturate =>
  async (next, connections, signal) => {
    const connection = async () => {
      for (let pending = next(); pending !== null; pending = next())
        pending.onEnd(await transport({ ...pending.request, onStreamBytes: null }, signal))
    }
    await Promise.all(Array.from({ length: connections }, connection))
  }

/** Where a service in memory takes itself to be, which sign-ins name. Nothing is sent there. */
const target = 'http://localhost'
const runId = 'virtual'

/** The callers of a plan at a service in memory. Without keys in `variables`, they have accounts of the reference service. */
export async function memoryCallers(plan: Plan, profile: Contract, variables: Variables = {}) {
  // What wallets need is loaded now, because loading takes no virtual time.
  if (plan.callers.wallets !== null)
    await Promise.all([evmSignatures.load(), facilitators.load(), paymentPackages.load()])
  const { callers, specialKeys } = loadKeys({ ...plan, target }, profile, runId, variables)
  const wallets = await loadWallets(plan, loadWalletKeys(plan, profile.wallets, runId, variables))
  return { callers: [...callers, ...wallets] as readonly Caller[], specialKeys }
}

type MemoryCallers = Awaited<ReturnType<typeof memoryCallers>>

/** The job of a run in virtual time. */
export const memoryJob = (
  plan: Plan,
  contract: Contract,
  { callers, specialKeys }: MemoryCallers,
  clock: ManualClock,
): RunJob => ({
  ...unrecordedJob(plan, contract, { runId, target, startedAtMs: clock.wallMs() }, callers),
  specialKeys,
})

/** Effects of a run in virtual time, without a directory and outputs. A judge works as soon as it can. */
export function memoryIo(
  clock: ManualClock,
  transport: Transport,
  startWorker: StartWorker = startInline(memoryWorkerIo(clock, transport)),
): RunIo {
  const never = new AbortController().signal
  return {
    ...{ clock, startWorker, stop: never, quit: never },
    ...{ directory: null, outputs: [], log: () => {}, unwritten: () => {} },
  }
}

export const memoryWorkerIo = (clock: ManualClock, transport: Transport, timesOnly = false): InlineIo => ({
  ...{ clock, transport, saturate: busyOver(transport), log: null, timesOnly },
  defer: work => work(() => true),
  eventLoopDelayMs: () => null,
})
