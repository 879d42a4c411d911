import { Agent } from 'undici'
import { type StreamLoad, streamMs, streamStartsPerSecond } from '../../../src/calibration/stream-load.ts'
import { sleepUntil, systemClock } from '../../../src/lib/clock.ts'

/** The same load with a bare undici `dispatch` that only counts events. Arguments: port, the load as JSON. */
const [port, written = ''] = process.argv.slice(2)
const load: StreamLoad = JSON.parse(written)
const agent = new Agent({ connections: 4096, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
const clock = systemClock()
const emptyLine = Buffer.from('\n\n')
let events = 0

const stream = () =>
  new Promise<void>((resolve, reject) => {
    agent.dispatch(
      {
        origin: `http://127.0.0.1:${port}`,
        path: '/api/v1/chat/completions',
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ stream: true, max_completion_tokens: load.tokens }),
      },
      {
        // Without this method, undici treats the handler as a legacy handler.
        onRequestStart: () => {},
        onResponseData: (_, bytes) => {
          for (let at = bytes.indexOf(emptyLine); at !== -1; at = bytes.indexOf(emptyLine, at + 2)) events++
        },
        onResponseEnd: () => resolve(),
        onResponseError: (_, error) => reject(error),
      },
    )
  })

const used = process.cpuUsage()
const startMs = clock.nowMs()
const stepMs = 1000 / streamStartsPerSecond(load)
const inFlight: Promise<void>[] = []
for (let dueMs = 0; dueMs < streamMs(load) + load.seconds * 1000; dueMs += stepMs) {
  await sleepUntil(clock, startMs + dueMs)
  inFlight.push(stream())
}
await Promise.all(inFlight)
const { user, system } = process.cpuUsage(used)
await agent.close()
process.send?.({ chunks: events, cpuUs: user + system })
process.once('disconnect', () => process.exit())
