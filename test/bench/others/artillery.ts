import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Child,
  clientCore,
  median,
  medianRatio,
  noteUnpinned,
  onCore,
  onFreshTarget,
  requestStamps,
  runCommand,
  targetCore,
} from '../support/child.ts'
import type { Bench } from '../support/figure.ts'
import { rpcProfile, rpcScenario, runShipped, type Shipped } from '../support/shipped.ts'

/** The path of Artillery's `bin/run`. Artillery is not a dependency; install it to compare. */
const variable = 'TURNPIKE_BENCH_ARTILLERY'
const connections = 64
/** Calls per Artillery user; about five seconds. */
const callsOfUser = 250

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
  noteUnpinned()
  const rounds = short ? 1 : 5
  const scenario = rpcScenario(`shape: closed, users: ${connections}`, short ? 2 : 5)
  const ours: number[] = []
  const theirs: number[] = []
  for (let round = 0; round < rounds; round++) {
    ours.push(await onStampingTarget(async port => rateOf(await runShipped({ scenario, profile: rpcProfile, port }))))
    theirs.push(
      await onStampingTarget(async (port, target) => {
        await runArtillery(program, port)
        return steadyRate((await requestStamps(target)).flat())
      }),
    )
  }
  console.log(`  turnpike    ${median(ours).toFixed(0)} calls per second`)
  console.log(`  artillery   ${median(theirs).toFixed(0)} calls per second`)
  const name = 'RPC calls per second relative to Artillery with one expect'
  return [{ name, value: medianRatio(ours, theirs), unit: '', aim: { kind: 'at-least', bound: 8 } }]
}

const onStampingTarget = (work: (port: string, target: Child) => Promise<number>): Promise<number> =>
  onFreshTarget(work, ['{"kind":"stamp"}'], { core: targetCore })

const rateOf = ({ load }: Shipped): number => load.achievedPerSecond ?? Number.NaN

/** Calls per second that arrive at the target, without the first fifth. */
function steadyRate(stamps: readonly number[]): number {
  const warm = stamps.slice(Math.floor(stamps.length / 5))
  const spanMs = (warm.at(-1) ?? Number.NaN) - (warm[0] ?? Number.NaN)
  return ((warm.length - 1) * 1_000) / spanMs
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
    await runCommand(onCore(clientCore, [process.execPath, program, 'run', '--quiet', script]), {
      env: { ARTILLERY_DISABLE_TELEMETRY: 'true' },
    })
  } finally {
    rmSync(directory, { recursive: true })
  }
}
