import { runStreams } from '../../../src/calibration/calibrate.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { streamOf } from '../../../src/observation/observation.ts'
import { undiciTransport } from '../../../src/produce/transport/undici.ts'

/**
 * One load of streams in its own process, with every judge. Sends its CPU time by IPC. Arguments: port, the load as
 * JSON.
 */
const [port, load = ''] = process.argv.slice(2)
const target = `http://127.0.0.1:${port}/api/v1`
const clock = systemClock()
const transport = undiciTransport({ baseUrl: target, clock, maxConnections: 4096 })
const stop = new AbortController().signal
const run = { load: JSON.parse(load), target, clock, send: transport.send, stop }
process.send?.(await measureCpu())
await transport.close()
process.once('disconnect', () => process.exit())

async function measureCpu() {
  // A driver that spins for precise sleep would add CPU time that no chunk needs.
  const coarseClock = { ...clock, atPrecisely: clock.at }
  let chunks = 0
  let used = process.cpuUsage()
  const { verdict, reasons } = await runStreams({
    ...run,
    clock: coarseClock,
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
