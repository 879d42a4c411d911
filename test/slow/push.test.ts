import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, type TestContext, test } from 'vitest'
import type { Report } from '../../src/report/document.ts'
import { readWriteRequest } from '../support/read-write-request.ts'
import { freshDirectory, turnpike } from '../support/turnpike.ts'

const scenario = 'test/e2e/short.yaml'

type Seen = {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

/** A receiver on loopback with the given responses. */
function receiving(
  onTestFinished: TestContext['onTestFinished'],
  respond: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ readonly origin: string; readonly seen: readonly Seen[] }> {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', part => parts.push(part))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      seen.push({ method, url, headers, body: Buffer.concat(parts) })
      respond(request, response)
    })
  })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return new Promise(resolve => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve({ origin: `http://127.0.0.1:${typeof address === 'object' ? address?.port : address}`, seen })
    })
  })
}

const textsIn = (directory: string): readonly string[] =>
  readdirSync(directory).map(name => {
    const bytes = readFileSync(join(directory, name))
    return name.endsWith('.gz') ? gunzipSync(bytes).toString() : bytes.toString()
  })

describe.concurrent('a run that pushes', () => {
  test.for(['1', '2'])('sends valid series and its verdict from %s threads', async (workers, { onTestFinished }) => {
    const { origin, seen } = await receiving(onTestFinished, (_, response) => response.writeHead(204).end())
    const out = freshDirectory()
    const flags = ['--remote-write', `${origin}/api/v1/write`, '--push-gateway', `${origin}/gate/`, '--out', out]
    const { code } = await turnpike(['run', scenario, '--workers', workers, ...flags])
    expect(code).toBe(0)
    const report: Report = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8'))
    const writes = seen.filter(({ url }) => url === '/api/v1/write')
    for (const { method, headers } of writes) {
      expect(method).toBe('POST')
      expect(headers).toMatchObject({
        'content-type': 'application/x-protobuf',
        'content-encoding': 'snappy',
        'x-prometheus-remote-write-version': '0.1.0',
      })
      expect(headers.authorization).toBeUndefined()
    }
    const latest = new Map<string, number>()
    const counts = new Map<string, number>()
    for (const { labels, samples, histograms } of writes.flatMap(({ body }) => readWriteRequest(body))) {
      const names = labels.map(([name]) => name)
      expect(names).toEqual(names.toSorted())
      expect(labels).toContainEqual(['job', 'turnpike'])
      expect(labels).toContainEqual(['instance', report.run.id])
      for (const { atMs } of [...samples, ...histograms]) {
        expect(atMs).toBeGreaterThan(latest.get(JSON.stringify(labels)) ?? 0)
        latest.set(JSON.stringify(labels), atMs)
      }
      const series = JSON.stringify(labels)
      if (labels.some(([, value]) => /^turnpike_\w+_(total|bucket|count)$/.test(value)))
        for (const { value, isStale } of samples) {
          if (isStale) continue
          expect(value).toBeGreaterThanOrEqual(counts.get(series) ?? 0)
          counts.set(series, value)
        }
    }
    const last = [...latest.keys()].filter(series => series.includes('"turnpike_last_run_'))
    expect(last.length).toBeGreaterThan(20)
    for (const series of last) expect(series).toContain('["scenario","short"]')
    const requests = [...counts].filter(([series]) => series.includes('"turnpike_requests_total"'))
    expect(requests.reduce((sum, [, value]) => sum + value, 0)).toBe(report.load.sent)
    expect(latest.size).toBeGreaterThan(100)
    const [put] = seen.filter(({ method }) => method === 'PUT')
    expect(put?.url).toBe('/gate/metrics/job/turnpike/scenario/short')
    expect(put?.body.toString()).toContain('turnpike_last_run_verdict{scenario="short",verdict="pass"} 1')
  })

  test('keeps credentials out of all outputs, even if a receiver echoes them', async ({ onTestFinished }) => {
    const { origin, seen } = await receiving(onTestFinished, ({ headers }, response) => {
      response.writeHead(401).end(`I do not know ${headers.authorization} = ${decoded(headers.authorization)}`)
    })
    const out = freshDirectory()
    const flags = ['--remote-write', `${origin}/api/v1/write`, '--push-gateway', origin, '--out', out]
    const { code, stdout, stderr } = await turnpike(['run', scenario, ...flags], {
      TURNPIKE_REMOTE_WRITE_CREDENTIALS: 'hush-token-93',
      TURNPIKE_PUSH_GATEWAY_CREDENTIALS: 'somebody:hush-password-93',
    })
    expect(code).toBe(0)
    expect(seen.find(({ method }) => method === 'POST')?.headers.authorization).toBe('Bearer hush-token-93')
    const basic = Buffer.from('somebody:hush-password-93').toString('base64')
    expect(seen.find(({ method }) => method === 'PUT')?.headers.authorization).toBe(`Basic ${basic}`)
    expect(stderr.match(/status 401/g)).toHaveLength(2)
    expect(stderr).toMatch(/Warning: 0 samples pushed/)
    for (const text of [...textsIn(out), stdout, stderr, ...seen.map(({ body }) => body.toString('latin1'))])
      for (const secret of ['hush', basic.slice(4)]) expect(text).not.toContain(secret)
  })

  test('ends with its verdict if a receiver never responds or always defers', async ({ onTestFinished }) => {
    const silent = await receiving(onTestFinished, () => {})
    const busy = await receiving(onTestFinished, (_, response) =>
      response.writeHead(429, { 'retry-after': '3600' }).end(),
    )
    const out = freshDirectory()
    const flags = ['--remote-write', `${silent.origin}/api/v1/write`, '--push-gateway', busy.origin, '--out', out]
    const { code, stdout, stderr } = await turnpike(['run', scenario, ...flags])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^PASS {2}short/)
    expect(stderr.match(/Warning: 0 samples pushed, [\d,]+ lost/g)).toHaveLength(2)
    expect(busy.seen).toHaveLength(1)
  })
})

describe.concurrent('an invalid receiver address', () => {
  test.each([
    ['--remote-write', 'http://me:hush-93@127.0.0.1:9/api/v1/write', 'TURNPIKE_REMOTE_WRITE_CREDENTIALS'],
    ['--push-gateway', 'http://hush-93@127.0.0.1:9', 'TURNPIKE_PUSH_GATEWAY_CREDENTIALS'],
    ['--push-gateway', 'hush-93', 'http'],
  ])('%s %s is rejected before the run directory is created', async (flag, address, words) => {
    const out = join(freshDirectory(), 'run')
    const { code, stdout, stderr } = await turnpike(['run', scenario, '--out', out, flag, address])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(flag)
    expect(stderr).toContain(words)
    expect(stderr).not.toContain('hush')
    expect(() => readdirSync(out)).toThrow()
  })
})

const decoded = (authorization = ''): string => Buffer.from(authorization.split(' ')[1] ?? '', 'base64').toString()
