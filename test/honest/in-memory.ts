import { type Clock, sleepUntil } from '../../src/lib/clock.ts'
import { is2xx } from '../../src/lib/numbers.ts'
import { randomStream } from '../../src/lib/random.ts'
import { leavesAt } from '../../src/produce/transport/exchange.ts'
import { areCut, headerRecord } from '../../src/produce/transport/headers.ts'
import type { Transport } from '../../src/produce/transport/transport.ts'
import type { Settings } from './service/accounts.ts'
import type { Lie } from './service/lies.ts'
import { base, createHonestService } from './service/service.ts'
import type { Variant } from './service/variant.ts'

/** Milliseconds of a way through the network: at least, and at most. */
const oneWayMs = { min: 0.2, max: 3 } as const

/** The service without sockets, on the clock of the test. */
export function honestTransport(
  variant: Variant,
  settings: Partial<Settings>,
  lies: readonly Lie[],
  clock: Clock,
): Transport {
  const network = randomStream(1, 'network')
  const service = createHonestService(variant, settings, lies, {
    nowMs: clock.wallMs,
    pause: ms => sleepUntil(clock, clock.nowMs() + ms),
    chance: randomStream(1, 'service').next,
  })
  const pause = (ms: number) => sleepUntil(clock, clock.nowMs() + ms)
  const oneWay = () => pause(oneWayMs.min + network.next() * (oneWayMs.max - oneWayMs.min))
  return async ({ method, path, headers: named, body, onStreamBytes, leave }) => {
    const sentMs = clock.nowMs()
    await oneWay()
    const headers = Object.fromEntries(Object.entries(named).map(([name, value]) => [name.toLowerCase(), value]))
    const wire = await service({ method, path: `${base}${path}`, headers, body: body ?? '' })
    await oneWay()
    const headersMs = clock.nowMs()
    const record = headerRecord(wire.headers)
    const { status } = wire
    const isStream = /^text\/event-stream/.test(record['content-type'] ?? '') && onStreamBytes !== null
    const kept: Buffer[] = []
    let bytes = 0
    /** A client that leaves is noticed at the next part. */
    const hasLeft = () =>
      leave !== undefined &&
      ((leave.at === 'headers' && is2xx(status)) ||
        (typeof leave.at === 'object' && 'ms' in leave.at && clock.nowMs() - sentMs >= leave.at.ms) ||
        (bytes > 0 && leavesAt(leave, status)))
    let isLeft = hasLeft()
    for (const part of wire.parts) {
      if (isLeft) break
      bytes += part.bytes.length
      if (isStream) onStreamBytes(part.bytes, clock.nowMs())
      else kept.push(part.bytes)
      if (part.pauseMs > 0) await pause(part.pauseMs)
      isLeft = hasLeft()
    }
    const headersCut = areCut(record, wire.headers)
    return {
      sentMs,
      headersMs,
      endMs: clock.nowMs(),
      status,
      headers: record,
      headersCut,
      body: Buffer.concat(kept),
      bytes,
      failure: isLeft ? { reason: 'left', detail: leave?.text ?? '' } : null,
    }
  }
}
