import type { Clock } from '../lib/clock.ts'
import { renderFamilies } from '../metrics/prometheus.ts'
import type { Report } from '../report/report.ts'
import type { UndiciTransport } from '../transport/undici-transport.ts'
import { createOutbox, type Outbox } from './outbox.ts'
import { postTo, type Receiver } from './receiver.ts'
import { verdictFamilies } from './verdict-families.ts'

/** A Pushgateway keeps what it is given until somebody replaces or deletes it. */
export type PushGateway = {
  /** Puts what a run came to in the place of what the run of this scenario before it came to, and touches nothing else. */
  readonly putVerdict: (report: Report, until: AbortSignal) => Promise<void>
  readonly tally: Outbox['tally']
}

const contentType = 'text/plain; version=0.0.4; charset=utf-8'

export function createPushGateway(
  receiver: Receiver,
  {
    scenario,
    clock,
    send,
    note,
  }: {
    readonly scenario: string
    readonly clock: Clock
    readonly send: UndiciTransport['send']
    readonly note: (line: string) => void
  },
): PushGateway {
  const group = {
    ...receiver,
    address: `${receiver.address.replace(/\/+$/, '')}/metrics/job/turnpike/scenario/${scenario}`,
  }
  const post = postTo(group, { method: 'PUT', headers: { 'content-type': contentType } }, send, clock)
  const outbox = createOutbox({ clock, post, note })
  return {
    putVerdict: async (report, until) => {
      const families = verdictFamilies(report)
      const samples = families.reduce((sum, family) => sum + family.samples().length, 0)
      outbox.put({ body: Buffer.from(await renderFamilies(families)), samples })
      await outbox.flush(until)
    },
    tally: outbox.tally,
  }
}
