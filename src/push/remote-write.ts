import type { Report } from '../report/report.ts'
import type { ExpositionSource } from './exposition.ts'
import { createOutbox, type Outbox } from './outbox.ts'
import { type PictureSender, startPictureSender } from './picture-sender.ts'
import { watchProcess } from './prometheus.ts'
import { createReadings, ofFamily } from './readings.ts'
import { type Line, postTo } from './receiver.ts'
import { verdictFamilies } from './verdict-families.ts'

/** Tells a receiver of a run while it goes, and what it came to. */
export type RemoteWrite = {
  readonly start: (source: ExpositionSource) => void
  readonly finish: (report: Report, until: AbortSignal) => Promise<void>
  readonly tally: Outbox['tally']
  readonly stop: () => void
}

/** Version 1 of the protocol, which every receiver takes. */
const request = {
  method: 'POST',
  headers: {
    'content-type': 'application/x-protobuf',
    'content-encoding': 'snappy',
    'x-prometheus-remote-write-version': '0.1.0',
    'user-agent': 'turnpike',
  },
} as const

export function createRemoteWrite(line: Line, runId: string): RemoteWrite {
  const { clock, note } = line
  const outbox = createOutbox({ clock, note, post: postTo(line, request) })
  // No other run has the same, for two of them could otherwise not be told apart, and one would be refused.
  const identity = { job: 'turnpike', instance: runId }
  let sender: PictureSender | null = null
  return {
    start: source => {
      const readings = createReadings(source)
      sender = startPictureSender({ clock, outbox, readings, readProcess: watchProcess(), identity, note })
    },
    finish: async (report, until) => sender?.finish(verdictFamilies(report).map(ofFamily), until),
    tally: outbox.tally,
    stop: () => sender?.stop(),
  }
}
