import { cpus } from 'node:os'
import { benchCapacity } from './capacity.ts'
import { benchCompare } from './compare.ts'
import { benchLateness } from './lateness.ts'
import { benchMask } from './mask.ts'
import { benchMemory } from './memory.ts'
import { benchOpenModel } from './open-model.ts'
import { benchArtillery } from './others/artillery.ts'
import { benchGuidellm } from './others/guidellm.ts'
import { benchK6 } from './others/k6.ts'
import { benchSessions } from './others/sessions.ts'
import { benchPacing } from './pacing.ts'
import { benchResident } from './resident.ts'
import { benchSaturate } from './saturate.ts'
import { benchShards } from './shards.ts'
import { benchStall } from './stall.ts'
import { benchStartup } from './startup.ts'
import { benchStreams } from './streams.ts'
import { type Bench, type Figure, showFigures } from './support/figure.ts'
import { benchThroughput } from './throughput.ts'
import { benchImport } from './traffic/import.ts'
import { benchTurns } from './traffic/turns.ts'
import { benchUi } from './ui.ts'
import { benchWallets } from './wallets.ts'
import { benchWorkers } from './workers.ts'

/**
 * Benchmarks of Turnpike itself. Only ratios are comparable between machines. `npm run bench` runs all benches, `npm
 * run bench -- lateness throughput` the named ones, `--short` takes a tenth of the time.
 */
const benches: Readonly<Record<string, Bench>> = {
  lateness: benchLateness,
  'open-model': benchOpenModel,
  throughput: benchThroughput,
  workers: benchWorkers,
  shards: benchShards,
  wallets: benchWallets,
  pacing: benchPacing,
  streams: benchStreams,
  turns: benchTurns,
  import: benchImport,
  saturate: benchSaturate,
  stall: benchStall,
  ui: benchUi,
  capacity: benchCapacity,
  mask: benchMask,
  memory: benchMemory,
  resident: benchResident,
  startup: benchStartup,
  k6: benchK6,
  guidellm: benchGuidellm,
  sessions: benchSessions,
  artillery: benchArtillery,
  compare: benchCompare,
}

const words = process.argv.slice(2)
const short = words.includes('--short')
const names = words.filter(word => !word.startsWith('--'))
const unknown = names.filter(name => !(name in benches))
if (unknown.length > 0)
  throw new Error(`unknown bench ${unknown.join(', ')}; expected one of ${Object.keys(benches).join(', ')}`)

console.log(`${new Date().toISOString()}  ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}  Node ${process.version}`)
const figures: Figure[] = []
for (const [name, bench] of Object.entries(benches)) {
  if (names.length > 0 && !names.includes(name)) continue
  try {
    figures.push(...(await bench({ short })))
  } catch (cause) {
    // A failed bench must not discard the figures of the others.
    console.log(`\n${name} failed: ${cause instanceof Error ? cause.message : String(cause)}`)
    process.exitCode = 1
  }
}
if (figures.length > 0) console.log(`\nAll figures${short ? ', of a short run' : ''}\n${showFigures(figures)}`)
