import { cpus } from 'node:os'
import { benchLateness } from './lateness.ts'
import { benchThroughput } from './throughput.ts'

/** The instrument, measured. Figures of one machine at one time: only the ratios travel. `--short` takes half a minute. */
const short = process.argv.includes('--short')
console.log(`${new Date().toISOString()}  ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}  Node ${process.version}`)
await benchLateness(short ? [500, 1000] : [500, 1000, 2000], short ? 3 : 10)
await benchThroughput(short ? 1 : 5, short ? 3 : 5)
