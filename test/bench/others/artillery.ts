import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { canPin, median, requestStamps, runChild, startChild } from './child.ts'
import type { Bench } from './figure.ts'

/** The path of Artillery's `bin/run`. Artillery is not a dependency; install it to compare. */
const variable = 'TURNPIKE_BENCH_ARTILLERY'
const connections = 64
/** Calls per Artillery user; about five seconds. */
const callsOfUser = 250
const targetCore = 0
const clientCore = 1

/**
 * The same closed-loop RPC call over the same number of connections: Turnpike with every judge, and Artillery with one
 * `expect`. The target counts requests on its own core. Each client runs on the other core.
 */
export const benchArtillery: Bench = async ({ short }) => {
  const program = process.env[variable]
  console.log('\nTurnpike and Artillery with one expect, one core each')
  if (program === undefined || !existsSync(program)) {
    console.log('  skipped: npm install --prefix /tmp/artillery artillery@2.0.34, then run')
    console.log(`  ${variable}=/tmp/artillery/node_modules/artillery/bin/run npm run bench -- artillery`)
    return []
  }
  if (!canPin) console.log('  without taskset, cores are shared')
  const rounds = short ? 1 : 5
  const ours: number[] = []
  const theirs: number[] = []
  for (let round = 0; round < rounds; round++) {
    const closed = ['closed', String(connections), short ? '3' : '5']
    ours.push(await rateOf(port => runChild('./programs/turnpike-client.js', [port, ...closed], { core: clientCore })))
    theirs.push(await rateOf(port => runArtillery(program, port)))
  }
  console.log(`  turnpike    ${median(ours).toFixed(0)} calls per second`)
  console.log(`  artillery   ${median(theirs).toFixed(0)} calls per second`)
  const ratio = median(ours.map((rate, round) => rate / (theirs[round] ?? Number.NaN)))
  const aim = { kind: 'at-least', bound: 8 } as const
  return [{ name: 'RPC calls per second relative to Artillery with one expect', value: ratio, unit: '', aim }]
}

/** Calls per second that arrive at the target, without the first fifth. */
async function rateOf(work: (port: string) => Promise<unknown>): Promise<number> {
  const target = startChild('./programs/rpc-target.js', ['{"kind":"stamp"}'], { core: targetCore })
  const { port } = (await target.firstMessage) as { readonly port: number }
  try {
    await work(String(port))
    const stamps = (await requestStamps(target)).flat()
    const warm = stamps.slice(Math.floor(stamps.length / 5))
    const spanMs = (warm.at(-1) ?? Number.NaN) - (warm[0] ?? Number.NaN)
    return ((warm.length - 1) * 1_000) / spanMs
  } finally {
    target.stop()
  }
}

async function runArtillery(program: string, port: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-artillery-'))
  const script = join(directory, 'script.json')
  const call = {
    url: '/api/v1/crypto/rpc/ethereum-mainnet',
    headers: { authorization: 'Bearer ref_default_bench' },
    json: { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] },
    expect: [{ statusCode: 200 }],
  }
  writeFileSync(
    script,
    JSON.stringify({
      config: {
        target: `http://127.0.0.1:${port}`,
        phases: [{ duration: 1, arrivalCount: connections }],
        plugins: { expect: { reportFailuresAsErrors: true } },
      },
      scenarios: [{ flow: [{ loop: [{ post: call }], count: callsOfUser }] }],
    }),
  )
  try {
    await run(program, script)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

function run(program: string, script: string): Promise<void> {
  const command = [process.execPath, program, 'run', '--quiet', script]
  const [file = '', ...args] = canPin ? ['taskset', '-c', String(clientCore), ...command] : command
  const child = spawn(file, args, {
    stdio: 'ignore',
    env: { ...process.env, ARTILLERY_DISABLE_TELEMETRY: 'true' },
  })
  return new Promise((resolve, reject) => {
    child.once('close', code => (code === 0 ? resolve() : reject(new Error(`Artillery ended with ${code}`))))
  })
}
