import { cpus } from 'node:os'
import { benchArtillery } from './artillery.ts'
import { benchCapacity } from './capacity.ts'
import { benchCompare } from './compare.ts'
import { type Bench, type Figure, showFigures } from './figure.ts'
import { benchLateness } from './lateness.ts'
import { benchMemory } from './memory.ts'
import { benchPacing } from './pacing.ts'
import { benchSaturate } from './saturate.ts'
import { benchStall } from './stall.ts'
import { benchStartup } from './startup.ts'
import { benchStreams } from './streams.ts'
import { benchThroughput } from './throughput.ts'
import { benchWorkers } from './workers.ts'

/**
 * The instrument, measured. Figures of one machine at one time: only the ratios travel. `npm run bench` runs everything,
 * `npm run bench -- lateness throughput` what it names, `--short` for a tenth of the time.
 */
const benches: Readonly<Record<string, Bench>> = {
  lateness: benchLateness,
  throughput: benchThroughput,
  workers: benchWorkers,
  pacing: benchPacing,
  streams: benchStreams,
  saturate: benchSaturate,
  stall: benchStall,
  capacity: benchCapacity,
  memory: benchMemory,
  startup: benchStartup,
  artillery: benchArtillery,
  compare: benchCompare,
}

const words = process.argv.slice(2)
const short = words.includes('--short')
const names = words.filter(word => !word.startsWith('--'))
const unknown = names.filter(name => !(name in benches))
if (unknown.length > 0) throw new Error(`no bench ${unknown.join(', ')}; there are ${Object.keys(benches).join(', ')}`)

console.log(`${new Date().toISOString()}  ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}  Node ${process.version}`)
const figures: Figure[] = []
for (const [name, bench] of Object.entries(benches)) {
  if (names.length > 0 && !names.includes(name)) continue
  try {
    figures.push(...(await bench({ short })))
  } catch (cause) {
    // One that could not be carried out must not cost the figures of the others.
    console.log(`\n${name} gave no figure: ${cause instanceof Error ? cause.message : String(cause)}`)
    process.exitCode = 1
  }
}
if (figures.length > 0) console.log(`\nAll figures${short ? ', of a short run' : ''}\n${showFigures(figures)}`)
