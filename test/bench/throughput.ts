import { statSync } from 'node:fs'
import { join } from 'node:path'
import { clientCore, median, medianRatio, noteUnpinned, onFreshTarget, runChild, targetCore } from './support/child.ts'
import type { Bench } from './support/figure.ts'
import { rpcProfile, rpcScenario, runShipped } from './support/shipped.ts'

const connections = 64
const clients = ['turnpike', 'unrecorded', 'undici', 'autocannon'] as const
type Client = (typeof clients)[number]

/**
 * Single RPC calls per second of the shipped command with every judge, compared with bare undici, in turn on fresh
 * targets, on one core each. Bare undici is the base of Turnpike's transport and so its upper bound.
 */
export const benchThroughput: Bench = async ({ short }) => {
  const rounds = short ? 1 : 3
  const seconds = short ? 2 : 8
  const rates: Record<Client, number[]> = { turnpike: [], unrecorded: [], undici: [], autocannon: [] }
  const closed = rpcScenario(`shape: closed, users: ${connections}`, seconds)
  let judgements = 0
  const cpuUs: number[] = []
  const recordBytes: number[] = []
  const ratesOf: Readonly<Record<Client, (port: string) => Promise<number>>> = {
    turnpike: async port => {
      const sizeOf = (out: string) => statSync(join(out, 'observations.ndjson.gz')).size
      const run = await runShipped({ scenario: closed, profile: rpcProfile, port }, sizeOf)
      judgements = run.judgements / run.load.count
      cpuUs.push(run.cpuUs)
      recordBytes.push(run.read / (run.load.count - run.report.load.notRecorded))
      return run.load.achievedPerSecond ?? Number.NaN
    },
    unrecorded: async port => {
      const { load } = await runShipped({ scenario: `${closed}record: none\n`, profile: rpcProfile, port })
      return load.achievedPerSecond ?? Number.NaN
    },
    undici: port => bareRate('./programs/undici-client.js', port, seconds),
    autocannon: port => bareRate('./programs/autocannon-client.js', port, seconds),
  }
  console.log(`\nCalls per second on one core, ${connections} connections, ${rounds} rounds of ${seconds} s in turn`)
  noteUnpinned()
  for (let round = 0; round < rounds; round++)
    for (const client of clients) rates[client].push(await onFreshTarget(ratesOf[client], [], { core: targetCore }))
  const show = (name: string, client: Client) => {
    const each = rates[client].map(rate => rate.toFixed(0)).join(' ')
    console.log(`  ${name.padEnd(52)}${median(rates[client]).toFixed(0).padStart(7)}   of ${each}`)
  }
  show(`turnpike with every judge (${judgements.toFixed(0)} checks per call), recorded`, 'turnpike')
  show('the same, nothing recorded', 'unrecorded')
  show('undici without checks', 'undici')
  show('autocannon without checks', 'autocannon')
  const relative = (client: Client, base: Client) => medianRatio(rates[client], rates[base])
  const perSecond = 'RPC calls per second on one core'
  return [
    {
      name: `${perSecond} relative to bare undici`,
      value: relative('turnpike', 'undici'),
      unit: '',
      aim: { kind: 'at-least', bound: 0.6 },
    },
    {
      name: `${perSecond} relative to bare undici, nothing recorded`,
      value: relative('unrecorded', 'undici'),
      unit: '',
      aim: null,
    },
    {
      name: `${perSecond} relative to bare autocannon`,
      value: relative('turnpike', 'autocannon'),
      unit: '',
      aim: null,
    },
    { name: 'CPU time per call, recorded', value: median(cpuUs), unit: 'µs', aim: { kind: 'at-most', bound: 33 } },
    { name: 'bytes of a record', value: median(recordBytes), unit: '', aim: { kind: 'at-most', bound: 30 } },
  ]
}

async function bareRate(file: string, port: string, seconds: number): Promise<number> {
  const args = [port, String(connections), String(seconds)]
  const { perSecond, failed } = await runChild<{ perSecond: number; failed: number }>(file, args, { core: clientCore })
  if (failed > 0) throw new Error(`${failed} calls of ${file} failed`)
  return perSecond
}
