import { runStreams, stampStreams } from '../../../src/calibration/calibrate.ts'
import { monotonicOriginMs, systemClock } from '../../../src/lib/clock.ts'
import { streamOf } from '../../../src/observation/observation.ts'
import { undiciTransport } from '../../../src/produce/transport/undici.ts'

/**
 * One load of streams in a process of its own, every judge on. Says what it used by IPC, or, with `stamps`, how much
 * later than they were written its chunks were stamped. Arguments: port, the load as JSON, `stamps`.
 */
const [port, load = '', wanted] = process.argv.slice(2)
const target = `http://127.0.0.1:${port}/api/v1`
const clock = systemClock()
const transport = undiciTransport({ baseUrl: target, clock, maxConnections: 4096 })
const stop = new AbortController().signal
const run = { load: JSON.parse(load), target, clock, send: transport.send, stop }
process.send?.(
  wanted === 'stamps' ? await stampStreams({ ...run, originMs: monotonicOriginMs(clock) }) : await carryOutCounted(),
)
await transport.close()
process.once('disconnect', () => process.exit())

async function carryOutCounted() {
  // A driver that waits in turns of the event loop uses CPU that no chunk needs.
  const patient = { ...clock, atPrecisely: clock.at }
  let chunks = 0
  let used = process.cpuUsage()
  const { verdict, reasons } = await runStreams({
    ...run,
    clock: patient,
    onStart: () => {
      used = process.cpuUsage()
    },
    observe: observation => {
      chunks += streamOf(observation)?.chunks ?? 0
    },
  })
  const { user, system } = process.cpuUsage(used)
  return { verdict, reasons, chunks, cpuUs: user + system }
}
