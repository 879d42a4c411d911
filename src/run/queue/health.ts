import { availableParallelism, totalmem } from 'node:os'
import type { WorkerHealth } from '../../judge/judge-run.ts'
import type { Clock } from '../../lib/clock.ts'

/** Measures this process. Each call has the CPU use since the one before, at first since the meter was created. */
export function createHealthMeter({ name, version }: Pick<WorkerHealth, 'name' | 'version'>, clock: Clock) {
  let sinceMs = clock.nowMs()
  let since = process.cpuUsage()
  let usedCores = 0
  return (): WorkerHealth => {
    const elapsedMs = clock.nowMs() - sinceMs
    if (elapsedMs > 0) {
      const { user, system } = process.cpuUsage(since)
      usedCores = (user + system) / 1_000 / elapsedMs
      sinceMs = clock.nowMs()
      since = process.cpuUsage()
    }
    const size = { cores: availableParallelism(), memoryBytes: memoryBytes(), rssBytes: process.memoryUsage.rss() }
    return { name, version, node: process.versions.node, ...size, usedCores }
  }
}

/** The memory of the machine, or less if a container limits it. */
function memoryBytes(): number {
  const limit = process.constrainedMemory() ?? 0
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem()
}
