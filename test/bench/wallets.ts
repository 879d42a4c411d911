import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { median, medianRatio, onFreshTarget, targetCore } from './support/child.ts'
import type { Bench } from './support/figure.ts'
import { rpcProfile, runShipped } from './support/shipped.ts'

const callers = 200
/** The largest number of requests per minute of the documented tiers. */
const perMinute = 500
const rate = Math.round((callers * perMinute) / 60)

/** The target knows a wallet by the beginning of its sign-ins, so all of them have one form. */
const profile = `${rpcProfile}wallets: { signIn: { legacyHeader: null, layouts: [message] } }\n`

const kinds = ['keys', 'wallets'] as const
type Kind = (typeof kinds)[number]
type Measured = { readonly p50: number; readonly p99: number; readonly cpuUs: number }

/**
 * What signing costs the load: 200 wallets and 200 API keys, at the same rate, in turn, through the shipped command. The
 * target checks no signature. The command has all cores, so that the thread that signs is not on that of the load.
 */
export const benchWallets: Bench = async ({ short }) => {
  const rounds = short ? 1 : 3
  const seconds = short ? 4 : 15
  console.log(
    `\n${callers} wallets and ${callers} keys at ${rate} calls per second, ${rounds} rounds of ${seconds} s in turn`,
  )
  if (!existsSync('/proc/self/stat')) {
    console.log('  skipped: this system has no /proc')
    return []
  }
  if (availableParallelism() < 3) console.log('  with two cores, the thread that signs shares one with the target')
  console.log('  callers   late p50 ms   p99 ms   CPU per call µs')
  const measured: Record<Kind, Measured[]> = { keys: [], wallets: [] }
  for (let round = 0; round < rounds; round++)
    for (const kind of kinds) {
      const each = await measure(kind, seconds)
      measured[kind].push(each)
      const cells = [
        each.p50.toFixed(2).padStart(13),
        each.p99.toFixed(2).padStart(9),
        each.cpuUs.toFixed(0).padStart(18),
      ]
      console.log(`  ${kind.padEnd(8)}${cells.join('')}`)
    }
  const ratio = (of: (each: Measured) => number) => medianRatio(measured.wallets.map(of), measured.keys.map(of))
  const added = median(measured.wallets.map(({ p99 }, round) => p99 - (measured.keys[round]?.p99 ?? Number.NaN)))
  const name = `of ${callers} wallets ÷ of ${callers} keys`
  return [
    { name: `lateness p50 ${name}`, value: ratio(({ p50 }) => p50), unit: '', aim: null },
    { name: `lateness p99 ${name}`, value: ratio(({ p99 }) => p99), unit: '', aim: { kind: 'at-most', bound: 1.5 } },
    { name: `lateness p99 that ${callers} wallets add`, value: added, unit: 'ms', aim: { kind: 'at-most', bound: 1 } },
    { name: `CPU per call ${name}, with signing`, value: ratio(({ cpuUs }) => cpuUs), unit: '', aim: null },
  ]
}

const scenarioOf = (kind: Kind, seconds: number): string => `
name: bench
callers: { ${kind === 'keys' ? `count: ${callers}` : `count: 0, wallets: ${callers}, chain: base`} }
calls: { rpc: { kind: rpc, network: ethereum-mainnet, methods: { eth_blockNumber: 1 } } }
stages: [{ name: load, duration: ${seconds}s, shape: constant, rate: ${rate}/s, exceed-tier: true, mix: { rpc: 1 } }]
bounds: { max-in-flight: 4096 }
thresholds: [{ expect: violations == 0, why: The target meets every clause. }]
`

async function measure(kind: Kind, seconds: number): Promise<Measured> {
  const scenario = scenarioOf(kind, seconds)
  const run = (port: string) => runShipped({ scenario, profile, port, core: null })
  const { report, cpuUs } = await onFreshTarget(run, ['{"kind":"stamp"}'], { core: targetCore })
  const { p50, p99 } = report.load.latenessMs
  return { p50: p50 ?? Number.NaN, p99: p99 ?? Number.NaN, cpuUs }
}
