import { createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { runCommand } from '../support/child.ts'
import type { Bench } from '../support/figure.ts'

const linesPerChunk = 1_000
/** As many as 8,000 tokens have in blocks of 512. */
const blocks = 16

/** Prints the largest resident set of the process as its last words, in kilobytes. */
const tellsPeak = 'process.on("exit",()=>console.log("peak "+process.resourceUsage().maxRSS))'

/** How long the shipped command imports a trace in the Mooncake format, and how much memory it takes. */
export const benchImport: Bench = async ({ short }) => {
  const lines = short ? 100_000 : 1_000_000
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'))
  try {
    const trace = join(folder, 'trace.jsonl')
    await pipeline(Readable.from(chunksOf(lines)), createWriteStream(trace))
    const sent = [
      '--import',
      `data:text/javascript,${encodeURIComponent(tellsPeak)}`,
      'dist/main.js',
      'import',
      trace,
      '--out',
      join(folder, 'out.yaml'),
    ]
    const startedMs = performance.now()
    const output = await runCommand([process.execPath, ...sent])
    const seconds = (performance.now() - startedMs) / 1_000
    const megabytes = Number(/^peak (\d+)$/m.exec(output)?.[1]) / 1_024
    const size = (statSync(trace).size / 1e6).toFixed(0)
    console.log(`\nImport of a Mooncake trace, ${lines.toLocaleString('en')} lines of together ${size} MB`)
    console.log(`  ${seconds.toFixed(1)} s, at most ${megabytes.toFixed(0)} MB resident`)
    const name = `import of ${lines.toLocaleString('en')} lines`
    return [
      { name, value: seconds, unit: 's', aim: { kind: 'at-most', bound: 20 } },
      { name: `${name}, resident set`, value: megabytes, unit: 'MB', aim: { kind: 'at-most', bound: 200 } },
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A thousand conversations share their first blocks, and all else is new. */
function* chunksOf(lines: number): Generator<string> {
  for (let from = 0; from < lines; from += linesPerChunk) {
    let chunk = ''
    for (let line = from; line < from + linesPerChunk; line++) chunk += lineOf(line)
    yield chunk
  }
}

function lineOf(line: number): string {
  const shared = Array.from({ length: blocks / 2 }, (_, block) => (line % 1_000) * blocks + block)
  const own = Array.from({ length: blocks / 2 }, (_, block) => 1_000_000 + line * blocks + block)
  return `${JSON.stringify({ timestamp: line, input_length: 512 * blocks, output_length: 100, hash_ids: [...shared, ...own] })}\n`
}
