import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  clientCore,
  median,
  medianRatio,
  noteUnpinned,
  onCore,
  onServer,
  reportOf,
  runChild,
  runCommand,
  targetCore,
} from '../child.ts'
import type { Bench, Figure } from '../figure.ts'
import { runShipped, streamProfile } from '../shipped.ts'

/** The path of guidellm. It is not a dependency; install it to compare. */
const variable = 'TURNPIKE_BENCH_GUIDELLM'
const streams = 100
const tokens = 500

/**
 * Stream chunks per second on one core, 100 streams at a time, as fast as the server writes: the shipped command with
 * every judge, and guidellm. The server counts, and a reader that drops all bytes shows how fast it can write.
 */
export const benchGuidellm: Bench = async ({ short }) => {
  const rounds = short ? 1 : 3
  const seconds = short ? 3 : 10
  const program = process.env[variable]
  const isThere = program !== undefined && existsSync(program)
  console.log(`\nStream chunks per second on one core, ${streams} streams, ${rounds} rounds of ${seconds} s in turn`)
  noteUnpinned()
  const drained: number[] = []
  const ours: number[] = []
  const theirs: number[] = []
  for (let round = 0; round < rounds; round++) {
    drained.push(await chunkRate(port => drain(port, seconds)))
    ours.push(await chunkRate(port => runShipped({ scenario: scenarioOf(seconds), profile: streamProfile, port })))
    if (isThere) theirs.push(await chunkRate(port => runGuidellm(program, port, seconds)))
  }
  const show = (name: string, rates: readonly number[]) =>
    console.log(`  ${name.padEnd(28)}${median(rates).toFixed(0).padStart(8)}`)
  show('turnpike with every judge', ours)
  show('a reader that drops all', drained)
  const ofServer: Figure = {
    name: 'stream chunks per second relative to what the server can write',
    value: medianRatio(ours, drained),
    unit: '',
    aim: null,
  }
  if (!isThere) {
    console.log('  guidellm skipped: pip install guidellm==0.8.1 in a virtual environment, then run')
    console.log(`  ${variable}=<environment>/bin/guidellm npm run bench -- guidellm`)
    return [ofServer]
  }
  show('guidellm', theirs)
  const name = 'stream chunks per second on one core relative to guidellm'
  return [{ name, value: medianRatio(ours, theirs), unit: '', aim: { kind: 'at-least', bound: 8 } }, ofServer]
}

/** Chunks per second that the server wrote during `work`, without the first fifth and the last tenth of the time. */
const chunkRate = (work: (port: string) => Promise<unknown>): Promise<number> =>
  onServer('./programs/stream-server.js', [String(tokens), '1'], { core: targetCore }, async (port, server) => {
    await work(port)
    const ticks = await reportOf<readonly number[]>(server)
    const steady = ticks.slice(Math.floor(ticks.length * 0.2), Math.floor(ticks.length * 0.9))
    return (steady.reduce((sum, chunks) => sum + chunks, 0) * 10) / steady.length
  })

const drain = (port: string, seconds: number): Promise<unknown> =>
  runChild('./programs/stream-drain.js', [port, String(streams), String(seconds)], { core: clientCore })

const scenarioOf = (seconds: number): string => `
name: bench
callers: { count: 1 }
calls: { chat: { kind: chat, stream: true, model-tier: XS, prompt-tokens: 16, max-completion-tokens: ${tokens} } }
stages: [{ name: load, duration: ${seconds}s, shape: closed, users: ${streams}, mix: { chat: 1 } }]
bounds: { max-in-flight: 256 }
thresholds: [{ expect: violations == 0, why: The server keeps every promise. }]
`

/** Rejects if guidellm fails, or if one of its requests does. The prompts come from a file, so it needs no tokenizer. */
async function runGuidellm(program: string, port: string, seconds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-guidellm-'))
  const data = join(folder, 'prompts.jsonl')
  const report = join(folder, 'report.json')
  writeFileSync(data, `${JSON.stringify({ prompt: 'Tell me a story.' })}\n`.repeat(5_000))
  const options = {
    backend: `kind=openai_http,target=http://127.0.0.1:${port}/api,model=bench,max_tokens=${tokens},validate_backend=false`,
    profile: `kind=concurrent,streams=${streams}`,
    constraint: `kind=max_duration,seconds=${seconds}`,
    tokenizer: 'kind=hf_auto,model=none',
    data: `kind=json_file,path=${data}`,
    output: `kind=json,path=${report}`,
  }
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  try {
    await runCommand(onCore(clientCore, [program, 'run', '--disable-console', ...flags]), { HF_HUB_OFFLINE: '1' })
    const { successful, errored } = JSON.parse(readFileSync(report, 'utf8')).benchmarks[0].metrics.request_totals
    if (errored > 0 || successful === 0) throw new Error(`guidellm: ${successful} requests, and ${errored} failed`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
