import type { Report } from '../report/report.ts'
import { createOutbox, type Outbox } from './outbox.ts'
import { renderFamilies } from './prometheus.ts'
import { type Line, postTo } from './receiver.ts'
import { verdictFamilies } from './verdict-families.ts'

/** A Pushgateway keeps what it is given until somebody replaces or deletes it. */
export type PushGateway = {
  /** Puts what a run came to in the place of what the run of its scenario before it came to, and touches nothing else. */
  readonly finish: (report: Report, until: AbortSignal) => Promise<void>
  readonly tally: Outbox['tally']
}

const request = { method: 'PUT', headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' } } as const

export function createPushGateway(line: Line, scenario: string): PushGateway {
  const { receiver, clock, note } = line
  const base = receiver.address.replace(/\/+$/, '')
  const group = { ...receiver, address: `${base}/metrics/job/turnpike/scenario/${scenario}` }
  const outbox = createOutbox({ clock, note, post: postTo({ ...line, receiver: group }, request) })
  return {
    finish: async (report, until) => {
      const families = verdictFamilies(report)
      const samples = families.reduce((sum, family) => sum + family.samples().length, 0)
      outbox.put({ body: Buffer.from(await renderFamilies(families)), samples })
      await outbox.flush(until)
    },
    tally: outbox.tally,
  }
}
