import { wholeRun } from '../arrivals/share.ts'
import { inSpareTime } from '../lib/spare-time.ts'
import { monitorEventLoop } from '../metrics/event-loop.ts'
import { createMeters } from '../metrics/meters.ts'
import { openLog } from '../observation/log.ts'
import type { Report } from '../report/report.ts'
import { undiciTransport } from '../transport/undici-transport.ts'
import { carryOut } from './carry-out.ts'
import type { ThreadOptions } from './carry-out-in-threads.ts'
import { saturateFor } from './saturate-for.ts'

/** Carries out a plan in this thread, with connections and a record of its own: there is one log. */
export async function carryOutAlone(options: ThreadOptions): Promise<Report> {
  const { plan, head, clock, contract, logs, maxConnections, isMetered } = options
  const record = await openLog(logs[0] ?? '', { ...head, ...wholeRun }, clock)
  const eventLoop = monitorEventLoop()
  const meters = createMeters(contract)
  const transport = undiciTransport({ baseUrl: head.target, clock, maxConnections })
  try {
    return await carryOut({
      ...options,
      workers: 1,
      record,
      transport: transport.send,
      saturate: await saturateFor(plan, head.target, clock),
      eventLoopDelayMs: eventLoop.delayMs,
      judgeLater: inSpareTime,
      // Nobody looks at the meters but whoever scrapes.
      watch: isMetered ? meters.add : () => {},
      onStart: live => options.onStart({ ...live, meters: meters.readings }),
    })
  } finally {
    eventLoop.stop()
    await transport.close()
  }
}
