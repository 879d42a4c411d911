import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createMetrics } from '../../src/judge/metrics/request-stats.ts'
import type { Report } from '../../src/report/document.ts'
import { observationsIn, openRun } from '../../src/storage/run-directory.ts'
import { fallen } from '../support/read-exposition.ts'
import { type ReadHistogram, readWriteRequest } from '../support/read-write-request.ts'
import { describeWith } from '../support/real-part.ts'
import { type RealRedis, startRedis } from '../support/real-redis.ts'
import { scrapeToTheEnd } from '../support/scrape-run.ts'
import { freshDirectory, type Started, serveForTest, startForTest } from '../support/turnpike.ts'

/** The last value of each series that a receiver of a remote write got. */
type Received = {
  readonly url: string
  readonly values: (name: string) => ReadonlyMap<string, number>
  readonly histograms: (name: string) => ReadonlyMap<string, ReadHistogram>
}

async function startReceiver(): Promise<Received> {
  const values = new Map<string, number>()
  const histograms = new Map<string, ReadHistogram>()
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', part => parts.push(part))
    request.on('end', () => {
      for (const series of readWriteRequest(Buffer.concat(parts))) {
        const labels = series.labels.filter(([name]) => name !== 'job' && name !== 'instance')
        const key = labels.map(([, value]) => value).join(' ')
        for (const { value, isStale } of series.samples) if (!isStale) values.set(key, value)
        for (const histogram of series.histograms) if (!histogram.isStale) histograms.set(key, histogram)
      }
      response.writeHead(204).end()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const named = <Value>(all: ReadonlyMap<string, Value>, name: string) =>
    new Map(
      [...all].flatMap(([key, value]) => (key.startsWith(`${name} `) ? [[key.slice(name.length + 1), value]] : [])),
    )
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : address}/api/v1/write`,
    values: name => named(values, name),
    histograms: name => named(histograms, name),
  }
}

describeWith('redis', 'the live views of runs over several machines', () => {
  let redis: RealRedis
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis.kill())

  const startWorkers = (count: number): Promise<readonly Started[]> =>
    Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const flags = ['--redis', redis.url, '--name', `w${index}`, '--out', freshDirectory()]
        const worker = startForTest(['worker', ...flags], onTestFinished)
        await worker.said('Waiting for shards')
        return worker
      }),
    )

  async function startRun(shards: number, flags: readonly string[], scenario = 'test/real/sharded.yaml') {
    const { target } = await serveForTest(['service'], onTestFinished)
    const out = freshDirectory()
    const common = ['run', scenario, '--target', target, '--out', out, '--seed', '7', ...flags]
    const run = startForTest([...common, '--redis', redis.url, '--shards', String(shards)], onTestFinished)
    return { run, out, report: (): Report => JSON.parse(readFileSync(join(out, 'report.json'), 'utf8')) }
  }

  test('are on the live page, which names each worker and becomes the report', async () => {
    await startWorkers(2)
    const { run, out } = await startRun(2, ['--ui', '0'])
    const page = (await run.said(/Watch the run at http:\S+/)).replace('Watch the run at ', '')
    const { body } = await fetch(`${page}events`)
    let text = ''
    // As the page does, the test closes the stream when it has the report.
    for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += part
      if (text.endsWith('\n\n') && text.includes('event: report\n')) break
    }
    const events = text.split('\n\n')
    const { code, stderr } = await run.ended
    expect(code, stderr).toBe(0)
    const frames = events.filter(event => event.startsWith('event: frame\n'))
    expect(frames.length).toBeGreaterThan(1)
    for (const worker of ['w0', 'w1']) expect(frames.some(frame => frame.includes(worker))).toBe(true)
    const last = events.findLast(event => event.startsWith('event: report\n')) ?? ''
    const report: unknown = JSON.parse(last.slice(last.indexOf('data: ') + 'data: '.length))
    expect(report).toBe(readFileSync(join(out, 'report.html'), 'utf8'))
  })

  test('show the whole, merged as in the report, and each worker', async () => {
    await startWorkers(4)
    const receiver = await startReceiver()
    const { run, out, report } = await startRun(4, [
      '--collect',
      '--max-silence',
      '40',
      '--metrics',
      ':0',
      '--remote-write',
      receiver.url,
    ])
    const scrapes = await scrapeToTheEnd(run)
    const { code, stderr } = await run.ended
    expect(code, stderr).toBe(0)
    const { load, calls } = report()

    expect(fallen(scrapes)).toEqual([])
    const sentBy = (scrape: ReadonlyMap<string, number>) =>
      [...scrape].reduce((sum, [series, value]) => sum + (series.startsWith('turnpike_requests_total') ? value : 0), 0)
    expect(scrapes.map(sentBy).some(sent => sent > 0 && sent < load.sent)).toBe(true)

    const sent = [...receiver.values('turnpike_requests_total').values()].reduce((sum, value) => sum + value, 0)
    expect(sent).toBe(load.sent)
    const durations = receiver.histograms('turnpike_request_duration_seconds')
    for (const { stage, call, latencyMs } of calls.filter(each => each.stage !== null && each.latencyMs.count > 0))
      expect([call, stage, durations.get(`${call} ${stage}`)?.count]).toEqual([call, stage, latencyMs.count])

    // Each shard adds its own requests to the buckets.
    const { plan, logs } = await openRun(out)
    for (const call of ['batch', 'models']) {
      let [count, sumMs] = [0, 0]
      for (const log of logs) {
        const metrics = createMetrics(plan)
        for await (const observation of observationsIn([log])) metrics.add(observation)
        const timing = metrics.select({ call, stage: 'steady' }).timing('latency')
        count += timing.count()
        sumMs += timing.sumMs()
      }
      const merged = durations.get(`${call} steady`)
      expect(merged?.count).toBe(count)
      expect((merged?.sum ?? 0) * 1_000).toBeCloseTo(sumMs, 3)
      expect([...(merged?.buckets.values() ?? [])].reduce((sum, each) => sum + each, 0)).toBe(count)
    }

    const workers = load.workers.map(({ worker, machine }) => [`${machine?.name}`, `${worker}`].toSorted().join(' '))
    // Workers claim their shards one after another, so series begin in any order.
    const bySeries = (name: string) =>
      [...receiver.values(name)].map(([labels]) => labels.split(' ').toSorted().join(' ')).toSorted()
    for (const name of ['up', 'cores', 'used_cores', 'memory_bytes', 'resident_memory_bytes'])
      expect(bySeries(`turnpike_worker_${name}`)).toEqual(workers.toSorted())
    expect(new Set(receiver.values('turnpike_worker_up').values())).toEqual(new Set([1]))
    for (const { health } of load.workers) {
      expect(health?.cores).toBeGreaterThanOrEqual(1)
      expect(health?.rssBytes).toBeGreaterThan(10e6)
      expect(health?.rssBytes).toBeLessThan(health?.memoryBytes ?? 0)
      expect(health?.usedCores).toBeGreaterThan(0)
    }
  })

  test('show a worker that is lost', async () => {
    const workers = await startWorkers(2)
    const receiver = await startReceiver()
    // A busy machine sees late that the load has begun.
    const longer = readFileSync('test/real/sharded.yaml', 'utf8').replace('duration: 6s', 'duration: 60s')
    const scenario = join(freshDirectory(), 'longer.yaml')
    writeFileSync(scenario, longer.replace('rate: 40/s', 'rate: 8/s'))
    const { run, report } = await startRun(2, ['--remote-write', receiver.url], scenario)
    await expect.poll(() => Math.max(...receiver.values('turnpike_requests_total').values())).toBeGreaterThan(0)
    workers[1]?.child.kill('SIGKILL')
    const { code, stderr } = await run.ended
    expect(code, stderr).toBe(3)
    expect(stderr).toMatch(/The run ends \(worker-lost\): shard \d was silent for too long/)
    const up = new Map(
      [...receiver.values('turnpike_worker_up')].map(([labels, value]) => [labels.match(/w\d/)?.[0], value]),
    )
    expect(up).toEqual(
      new Map([
        ['w0', 1],
        ['w1', 0],
      ]),
    )
    const lost = report().load.workers.find(worker => worker.lost)
    expect(lost?.health).toMatchObject({ name: 'w1' })
  })
})
