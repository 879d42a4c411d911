import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Report } from '../../src/report/document.ts'
import { selfSigned } from '../support/self-signed.ts'
import { freshDirectory, serveForTest, turnpike } from '../support/turnpike.ts'

/** The address of a server that gives each request the same response, and the requests that it got. */
async function serve(listener: RequestListener, isTls = false) {
  const requests: string[] = []
  const counted: RequestListener = (request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers.authorization === undefined ? 'no key' : 'key'}`)
    request.resume().on('end', () => listener(request, response))
  }
  const server = isTls ? createTlsServer(selfSigned, counted) : createServer(counted)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

const json = (status: number, value: unknown): RequestListener => {
  const text = JSON.stringify(value)
  return (_, response) => void response.writeHead(status, { 'content-type': 'application/json' }).end(text)
}

const html = (status: number): RequestListener => {
  return (_, response) => void response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Hello</h1>')
}

/** Runs a scenario at a wrong target, and expects nothing but its cause. */
async function expectCause(target: string, cause: string): Promise<Report> {
  const out = join(freshDirectory(), 'run')
  const keys = { TURNPIKE_KEYS: 'ref_default_w1,ref_default_w2,ref_default_w3' }
  const budget = ['--budget-usd', '1']
  const { code, stderr } = await turnpike(
    ['run', 'test/e2e/short.yaml', '--target', target, '--out', out, '--no-warm-up', ...budget],
    keys,
  )
  const report: Report = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8'))
  const reasons = report.reasons.map(reason => reason.replace(/\d+ in all/, 'N in all'))
  expect([code, report.verdict, reasons], stderr).toEqual([3, 'inconclusive', [cause]])
  // Balance checks before and after the load, and the few requests that show the cause.
  expect(report.load.sent).toBeLessThan(40)
  expect(report.findings).toEqual([])
  expect(report.billing.discrepancies).toEqual([])
  expect(report.clauses.filter(({ verdict }) => verdict === 'pass' || verdict === 'fail')).toEqual([])
  expect(report.thresholds.map(({ verdict }) => verdict)).toEqual(report.thresholds.map(() => 'inconclusive'))
  return report
}

test('without its base path, the service is not judged, and the right address is suggested', async () => {
  const { target } = await serveForTest(['service'], onTestFinished)
  const root = target.replace('/api/v1', '')
  for (const wrong of [root, `${target}/chat/completions`]) {
    const report = await expectCause(
      wrong,
      `Every request got 404 ("Not found"), N in all. Is the base path right? Did you mean ${target}?`,
    )
    expect(report.run.ended).toBe('wrong-target')
  }
})

test('a path that no server knows ends the load after a few requests', async () => {
  const { host, requests } = await serve(json(404, { error: { message: 'Cannot GET' } }))
  await expectCause(`http://${host}/v2`, `Every request got 404 ("Cannot GET"), N in all. Is the base path right?`)
  // What looks for another address sends no key.
  expect(requests.filter(each => each.includes('/models') && each.endsWith('no key'))).toHaveLength(6)
})

test.for([
  [
    'a rejected key',
    json(401, { error: 'Unauthorized' }),
    'The target TARGET rejected every key with 401. Are the keys for this target?',
  ],
  ['a web page', html(200), 'Every response of TARGET is an HTML page. Is this the address of the API?'],
  [
    'a firewall',
    html(403),
    'Every request got 403, N in all. Do the keys permit this, and does a firewall let this machine through?',
  ],
  [
    'a proxy without a service',
    html(502),
    'Every request got 502, N in all. The service, or a proxy in front of it, is down.',
  ],
] as const)('%s is the cause, and not what it seems to violate', async ([, listener, cause]) => {
  const { host } = await serve(listener)
  const target = `http://${host}/api/v1`
  await expectCause(target, cause.replace('TARGET', target))
})

test('a redirect is followed by nobody and suggested to the user', async () => {
  const { host, requests } = await serve((request, response) => {
    response.writeHead(308, { location: `http://127.0.0.1:1${request.url?.replace('/old', '/new')}` }).end()
  })
  await expectCause(`http://${host}/old`, 'Every request got 308, N in all. Did you mean http://127.0.0.1:1/new?')
  expect(requests.length).toBeGreaterThan(3)
})

test('https at a plain port, and http at a port with TLS', async () => {
  const plain = await serveForTest(['service'], onTestFinished)
  const https = plain.target.replace('http:', 'https:')
  const { host } = new URL(https)
  await expectCause(https, `${host} does not speak TLS on this port. Did you mean ${plain.target}?`)
  const tls = await serve(json(200, {}), true)
  await expectCause(
    `http://${tls.host}/api/v1`,
    `${tls.host} closed every connection without an HTTP response. Does it speak plain HTTP on this port? Did you mean https://${tls.host}/api/v1?`,
  )
  await expectCause(
    `https://${tls.host}/api/v1`,
    `TLS to ${tls.host} failed (DEPTH_ZERO_SELF_SIGNED_CERT: self-signed certificate). If its certificate is private, name its authority in NODE_EXTRA_CA_CERTS.`,
  )
})

test('a port without a server, and a name without an address', async () => {
  await expectCause(
    'http://127.0.0.1:9/v1',
    'Nothing listens at 127.0.0.1:9. Does the service run, and is the port right?',
  )
  await expectCause('http://nowhere.invalid/v1', 'The name nowhere.invalid could not be resolved. Is it spelled right?')
})

test('a service that rejects some calls is judged as before', async () => {
  const { target } = await serveForTest(['service', '--lie', 'failed-item-in-full'], onTestFinished)
  const out = join(freshDirectory(), 'run')
  const { code } = await turnpike(['run', 'test/e2e/short.yaml', '--target', target, '--out', out, '--no-warm-up'])
  expect(code).toBe(1)
})
