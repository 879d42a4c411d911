import { createSocket } from 'node:dgram'
import { describe, expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { RunInfo } from '../../../src/observation/log-lines.ts'
import type { LiveRun } from '../../../src/outputs/output.ts'
import { type ExpositionSource, sourceOf } from '../../../src/outputs/prometheus/samples.ts'
import type { WatchedRun } from '../../../src/outputs/requested-output.ts'
import { createStatsd, statsdOutput } from '../../../src/outputs/statsd.ts'
import { makePlan } from '../../../src/plan/make-plan.ts'
import { loadScenario } from '../../../src/scenario/load-scenario.ts'
import { virtualRun } from '../../support/virtual-run.ts'

const overrides = { seed: null, target: null, budgetUsd: null }
const plan = makePlan(loadScenario('scenarios/smoke.yaml', documentedContract), documentedContract, overrides)
const info: RunInfo = {
  ...{ turnpike: 2, runId: 'virtual', version: '0.0.0', target: 'https://api.example.com/v1', startedAtMs: 0 },
}

type Line = {
  readonly name: string
  readonly value: number
  readonly type: string
  readonly tags: Readonly<Record<string, string>>
}

/** Fails for a line that is not as DogStatsD writes it. */
function readLine(line: string): Line {
  const match = /^([a-z_]+):(-?[\d.]+(?:e-?\d+)?)\|(c|g)\|#([^|#\s]+)$/.exec(line)
  if (match === null) throw new Error(`no line of StatsD: ${line}`)
  const [, name = '', value, type = '', tags = ''] = match
  return { name, value: Number(value), type, tags: Object.fromEntries(tags.split(',').map(tag => tag.split(/:(.*)/))) }
}

/** A run that sends its metrics to a server in memory. */
async function sent(change: (source: ExpositionSource) => ExpositionSource = source => source) {
  const datagrams: string[] = []
  const lives: LiveRun[] = []
  const ran = await virtualRun({
    scenario: 'scenarios/smoke.yaml',
    change: ({ clock }) => {
      const socket = {
        send: async (datagram: Buffer) => void datagrams.push(datagram.toString()),
        close: () => {},
      }
      const read = (live: LiveRun) => {
        lives.push(live)
        return change(sourceOf(live, plan, info, clock, () => null))
      }
      return { outputs: [createStatsd({ socket, runId: 'virtual', clock, sourceOf: read })] }
    },
  })
  return { ...ran, datagrams, live: lives[0], lines: datagrams.flatMap(each => each.split('\n').map(readLine)) }
}

const honest = await sent()
const of = (name: string) => honest.lines.filter(each => each.name === name)
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

describe('the metrics that a StatsD server gets', () => {
  test('are counters that add up to the counts of the report', () => {
    expect(sum(of('turnpike_requests_total').map(({ value }) => value))).toBe(honest.report.load.sent)
    expect(of('turnpike_requests_total').length).toBeGreaterThan(2)
    expect(honest.lines.filter(({ type, value }) => type === 'c' && value <= 0)).toEqual([])
  })

  test('are gauges of the names of Prometheus, with the results of the run at the end', () => {
    expect(of('turnpike_in_flight_requests').every(({ type }) => type === 'g')).toBe(true)
    const verdicts = of('turnpike_last_run_verdict').filter(({ value }) => value === 1)
    expect(verdicts.map(({ tags }) => tags)).toEqual([
      { scenario: 'smoke', verdict: honest.report.verdict, instance: 'virtual' },
    ])
  })

  test('are a count, a sum and quantiles for each histogram', () => {
    const [count, quantile] = ['turnpike_request_duration_seconds_count', 'turnpike_request_duration_seconds'].map(of)
    expect(sum(count?.map(({ value }) => value) ?? [])).toBeGreaterThan(10)
    expect(new Set(quantile?.map(({ tags }) => tags.quantile))).toContain('0.5')
    expect(quantile?.every(({ value, type }) => type === 'g' && value > 0)).toBe(true)
  })

  test('fit datagrams that no network splits', () => {
    expect(Math.max(...honest.datagrams.map(each => Buffer.byteLength(each)))).toBeLessThanOrEqual(1_432)
    expect(Math.min(...honest.datagrams.map(each => Buffer.byteLength(each)))).toBeGreaterThan(0)
  })
})

test('a negative gauge is set and not subtracted, a NaN is left out, and no value of a tag breaks its line', async () => {
  const balance = { caller: 'a|b#c, d', usd: -1.5, diem: Number.NaN }
  const { lines } = await sent(source => ({ ...source, meters: { ...source.meters, balances: () => [balance] } }))
  const balances = lines.filter(({ tags }) => tags.caller === 'a_b_c__d')
  expect(balances.slice(0, 2).map(({ value }) => value)).toEqual([0, -1.5])
  expect(new Set(balances.map(({ value }) => value))).toEqual(new Set([0, -1.5]))
})

const request = { flag: '--statsd', values: {}, environment: {} }

test('a server gets the datagrams over UDP', async () => {
  const server = createSocket('udp4')
  const received: string[] = []
  server.on('message', message => received.push(message.toString()))
  await new Promise<void>(resolve => server.bind(0, '127.0.0.1', resolve))
  const clock = systemClock()
  const { live, report } = honest
  if (live === undefined) throw new Error('no run')
  const watched = { plan, info, clock, sourceOf: () => sourceOf(live, plan, info, clock, () => null) }
  const output = await statsdOutput(`:${server.address().port}`, request).create(watched as unknown as WatchedRun)
  output.start(live)
  await output.finish(report, new AbortController().signal)
  await output.close()
  await expect.poll(() => received.join('\n')).toContain('turnpike_last_run_verdict:1|g|#')
  server.close()
})

test('a host that does not exist is a mistake in the flag', async () => {
  expect(() => statsdOutput('8125', request)).toThrow('did you mean ":8125"?')
  const unknown = statsdOutput('no-such-host.invalid:8125', request).create({} as unknown as WatchedRun)
  await expect(unknown).rejects.toThrow('a host that can be found')
})
