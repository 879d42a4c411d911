import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { nativeSchema } from '../../src/judge/metrics/log-buckets.ts'
import type { CallFacts, Report } from '../../src/report/document.ts'

import { freePort } from '../support/free-port.ts'
import { describeWith } from '../support/real-part.ts'
import { type RealProgram, startProgram } from '../support/real-program.ts'
import { nowSeconds, preparePrometheus, type RealPrometheus, startPrometheus } from '../support/real-prometheus.ts'
import { type Ended, freshDirectory, startTurnpike, turnpike } from '../support/turnpike.ts'

const scenario = 'test/real/pushed.yaml'
const growth = 2 ** (2 ** -nativeSchema)

type Finished = Ended & { readonly report: Report; readonly of: string }

/** `said` waits for words of the run. */
type Said = ReturnType<typeof startTurnpike>['said']

async function pushing(
  flags: readonly string[],
  meanwhile: (said: Said) => Promise<void> = async () => {},
): Promise<Finished> {
  const out = freshDirectory()
  const run = startTurnpike(['run', scenario, '--out', out, '--no-progress', ...flags])
  onTestFinished(() => void run.child.kill('SIGKILL'))
  await run.said('Run ')
  await meanwhile(run.said)
  const ended = await run.ended
  const report: Report = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8'))
  return { ...ended, report, of: `{instance="${report.run.id}"}` }
}

/** The times of the stored samples of a series, in Unix seconds. */
async function instantsOf(prometheus: RealPrometheus, series: string): Promise<readonly number[]> {
  const data = await prometheus.ask('query', { query: `${series}[10m]`, time: String(nowSeconds()) })
  const { result } = data as { result: readonly { values: readonly [number, string][] }[] }
  return result.flatMap(({ values }) => values.map(([seconds]) => seconds))
}

/** Without recording rules, whose series stay until the next evaluation. */
const ownOf = (of: string): string => of.replace('}', ',__name__=~"(turnpike|process|nodejs)_.*"}')

const maxGap = (instants: readonly number[]): number =>
  Math.max(...instants.slice(1).map((seconds, index) => seconds - (instants[index] ?? seconds)))

const overAll = ({ calls }: Report, call: string): CallFacts | undefined =>
  calls.find(facts => facts.call === call && facts.stage === null)

describeWith('prometheus', 'a run that writes to a real Prometheus', () => {
  test('Prometheus ends with the numbers of the report, and the series are stale afterwards', async () => {
    const prometheus = await startPrometheus()
    onTestFinished(prometheus.stop)
    const { code, report, of, stderr } = await pushing(['--remote-write', prometheus.remoteWrite])
    expect([code, report.verdict]).toEqual([0, 'pass'])
    expect(stderr).toMatch(/[\d,]+ samples pushed, 0 lost; 0 pushes failed/)
    expect(report.load.pushed).toMatchObject({ lostSamples: 0, failures: 0 })

    const end = Math.max(...(await instantsOf(prometheus, `turnpike_run_info${of}`)))
    const total = async (expr: string) => (await prometheus.numbersOf(expr, end)).map(({ value }) => value)
    expect(await total(`sum(turnpike_requests_total${of})`)).toEqual([report.load.sent])
    expect(await total(`sum(turnpike_claimed_credits_total${of})`)).toEqual([Number(report.billing.claimedCredits)])
    for (const call of ['chat', 'rpc']) {
      const facts = overAll(report, call)
      const ofCall = of.replace('}', `,call="${call}"}`)
      expect(await total(`sum(turnpike_requests_total${ofCall})`)).toEqual([facts?.count])
      const whole = `sum(turnpike_request_duration_seconds${ofCall})`
      expect(await total(`histogram_count(${whole})`)).toEqual([facts?.latencyMs.count])
      const [sum = Number.NaN] = await total(`histogram_sum(${whole})`)
      expect(sum / ((facts?.latencyMs.mean ?? Number.NaN) * (facts?.latencyMs.count ?? 0))).toBeCloseTo(0.001, 9)
      // The classic buckets of the dashboards agree, with fewer bounds.
      expect(await total(`sum(turnpike_request_duration_seconds_bucket${ofCall.replace('}', ',le="+Inf"}')})`)).toEqual(
        [facts?.latencyMs.count],
      )
    }
    const [p95 = Number.NaN] = await total(
      `histogram_quantile(0.95, sum(turnpike_request_duration_seconds${of.replace('}', ',call="chat"}')}))`,
    )
    const reported = (overAll(report, 'chat')?.latencyMs.p95 ?? Number.NaN) / 1000
    expect(p95).toBeLessThanOrEqual(reported * growth * 1.001)
    expect(p95).toBeGreaterThanOrEqual(reported / growth / 1.001)
    expect(await prometheus.numbersOf(`turnpike_last_run_verdict${of} == 1`, end)).toEqual([
      { labels: expect.objectContaining({ job: 'turnpike', scenario: 'pushed', verdict: 'pass' }), value: 1 },
    ])

    // The series of ended stages are stale, rates of the native histogram work, and all series end with the run.
    const stages = await prometheus.numbersOf(`turnpike_stage_info${of}`, end)
    expect(stages.map(({ labels }) => labels.stage)).toEqual(['(closing)'])
    const rate = `histogram_quantile(0.5, sum(rate(turnpike_request_duration_seconds${of}[8s])))`
    expect((await prometheus.numbersOf(rate, end - 2))[0]?.value).toBeGreaterThan(0)
    expect(await prometheus.numbersOf(ownOf(of), end)).not.toEqual([])
    expect(await prometheus.numbersOf(ownOf(of))).toEqual([])
  })

  test('a receiver that starts late gets the whole run', async () => {
    const prometheus = await preparePrometheus()
    onTestFinished(prometheus.stop)
    const { code, report, of, stderr } = await pushing(['--remote-write', prometheus.remoteWrite], async said => {
      await said('trying again')
      await pause(5_000)
      await prometheus.start()
    })
    expect(code).toBe(0)
    expect(stderr).toMatch(/connect-refused: .*; trying again/)
    expect(stderr).toContain('taken again')
    expect(report.load.pushed?.lostSamples).toBe(0)
    expect(report.load.pushed?.failures).toBeGreaterThan(2)
    const instants = await instantsOf(prometheus, `turnpike_run_info${of}`)
    const startedAt = Date.parse(report.run.startedAt) / 1000
    // The worker has started its thread and warmed up by then. The receiver starts 5 s after the first failed push.
    const loadAt = startedAt + (report.load.workers[0]?.startedMs ?? Number.NaN) / 1000
    expect(Math.min(...instants) - loadAt).toBeLessThan(3)
    expect((instants.at(-1) ?? 0) - startedAt).toBeGreaterThanOrEqual(report.run.durationMs / 1000 - 0.01)
    const failures = `turnpike_push_failures_total${of}`
    expect((await prometheus.numbersOf(failures, instants.at(-1)))[0]?.value).toBe(report.load.pushed?.failures)
  })

  test('a receiver that fails and restarts misses nothing', async () => {
    const prometheus = await startPrometheus()
    onTestFinished(prometheus.stop)
    const { code, report, of, stderr } = await pushing(['--remote-write', prometheus.remoteWrite], async () => {
      await pause(4_000)
      await prometheus.kill()
      await pause(4_000)
      await prometheus.start()
    })
    expect(code).toBe(0)
    expect(stderr).toContain('taken again')
    expect(report.load.pushed).toMatchObject({ lostSamples: 0 })
    const instants = await instantsOf(prometheus, `turnpike_run_info${of}`)
    expect(maxGap(instants)).toBeLessThan(3.5)
    expect(await prometheus.numbersOf(`sum(turnpike_requests_total${of})`, instants.at(-1))).toEqual([
      { labels: {}, value: report.load.sent },
    ])
    expect(await prometheus.numbersOf(ownOf(of))).toEqual([])
  })

  test('a receiver that rejects remote writes is reported once, and the verdict stays', async () => {
    const prometheus = await startPrometheus()
    onTestFinished(prometheus.stop)
    const { code, report, stderr } = await pushing(['--remote-write', prometheus.remoteWrite.replace('write', 'wrong')])
    expect([code, report.verdict]).toEqual([0, 'pass'])
    expect(stderr.match(/status 404/g)).toHaveLength(1)
    expect(stderr).toMatch(/Warning: 0 samples pushed, [\d,]+ lost/)
  })
})

describeWith('pushgateway', 'a run that pushes its verdict to a real Pushgateway', () => {
  let [origin, folder] = ['', '']
  let gateway: RealProgram

  beforeAll(async () => {
    const port = await freePort()
    origin = `http://127.0.0.1:${port}`
    folder = mkdtempSync(join(tmpdir(), 'turnpike-pushgateway-'))
    // Debian's default would restore the groups of the last run.
    const flags = [`--web.listen-address=127.0.0.1:${port}`, '--persistence.file=']
    gateway = await startProgram('prometheus-pushgateway', flags, { origin, folder })
  })

  afterAll(async () => {
    await gateway?.kill()
    rmSync(folder, { recursive: true, force: true })
  })

  const samples = async (): Promise<readonly string[]> =>
    (await (await fetch(`${origin}/metrics`)).text()).split('\n').filter(line => /^(turnpike|neighbour)_/.test(line))

  test('the next run replaces it, and other groups stay unchanged', async () => {
    const neighbour = { method: 'PUT', body: 'neighbour_x 1\n' }
    await fetch(`${origin}/metrics/job/turnpike/scenario/another`, neighbour)
    const first = await turnpike([
      'run',
      'test/e2e/short.yaml',
      '--out',
      freshDirectory(),
      '--push-gateway',
      `${origin}/`,
    ])
    expect(first.code).toBe(0)
    expect(first.stderr).toMatch(/\d+ samples pushed, 0 lost/)
    const held = await samples()
    const verdict = 'turnpike_last_run_verdict{instance="",job="turnpike",scenario="short",verdict'
    expect(held).toContain(`${verdict}="pass"} 1`)
    expect(held).toContain(`${verdict}="fail"} 0`)

    const away = ['--target', 'http://127.0.0.1:9/api/v1', '--push-gateway', origin]
    expect((await turnpike(['run', 'test/e2e/short.yaml', '--out', freshDirectory(), ...away])).code).toBe(3)
    const then = await samples()
    expect(then).toContain(`${verdict}="pass"} 0`)
    expect(then).toContain(`${verdict}="inconclusive"} 1`)
    // Metrics that the second run lacks do not remain from the first.
    const ofResponses = (lines: readonly string[]) => lines.filter(line => line.includes('_request_duration_seconds{'))
    expect(ofResponses(held)).not.toEqual([])
    expect(ofResponses(then)).toEqual([])
    expect(then.filter(line => line.includes('turnpike_last_run_info'))).toHaveLength(1)
    expect(then).toContain('neighbour_x{instance="",job="turnpike",scenario="another"} 1')
  })
})

test('unreachable receivers are reported, and change neither the verdict nor the duration by more than ten seconds', async () => {
  const nobody = 'http://127.0.0.1:9'
  const flags = ['--remote-write', `${nobody}/api/v1/write`, '--push-gateway', nobody]
  const { code, report, stderr } = await pushing(flags)
  expect([code, report.verdict]).toEqual([0, 'pass'])
  expect(stderr.match(/Warning: 0 samples pushed, [\d,]+ lost/g)).toHaveLength(2)
})
