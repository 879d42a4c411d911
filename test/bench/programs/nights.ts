import { defaultLatency, scaleLatency } from '../../../src/service/capacity.ts'
import { comparedRun } from '../../../src/storage/recorded-run.ts'
import { virtualRun } from '../../support/virtual-run.ts'
import { nightNoise } from './night-noise.ts'

/**
 * Nights of the nightly scenario in virtual time. Arguments: the first night, the number of nights, the slowdown ratio.
 * Sends the comparable runs by IPC.
 */
const [first = 0, count = 0, slowdown = 0] = process.argv.slice(2).map(Number)
const runs = []
for (let night = first; night < first + count; night++) {
  const { slowness, delayMs } = nightNoise(night)
  const { report, plan, slices } = await virtualRun({
    scenario: 'scenarios/nightly.yaml',
    serviceSeed: night,
    timing: scaleLatency(defaultLatency, slowdown),
    slowness,
    network: { delayMs },
  })
  const named = { ...report, run: { ...report.run, id: `night-${night}` } }
  runs.push(comparedRun(named, plan, slices))
}
process.send?.(runs)
process.once('disconnect', () => process.exit())
