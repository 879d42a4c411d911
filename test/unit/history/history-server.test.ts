import { mkdirSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { historyPage } from '../../../src/history/history-page.ts'
import { startHistoryServer } from '../../../src/history/history-server.ts'
import type { HttpServer } from '../../../src/outputs/http-server.ts'
import type { Report } from '../../../src/report/document.ts'
import { renderHtml } from '../../../src/report/render/renderers.ts'
import { openRunIndex } from '../../../src/storage/run-index.ts'
import { recordedRun } from '../../support/recorded-run.ts'
import { freshDirectory } from '../../support/turnpike.ts'
import { failingReport, passingReport } from '../report/fixtures.ts'
import { hostileReport } from '../report/hostile-report.ts'

const open: HttpServer[] = []
afterEach(async () => {
  for (const { close } of open.splice(0)) await close()
})

async function serve(reports: Readonly<Record<string, Report>>) {
  const folder = freshDirectory()
  for (const [name, report] of Object.entries(reports)) {
    mkdirSync(join(folder, name), { recursive: true })
    writeFileSync(join(folder, name, 'report.json'), JSON.stringify(report))
  }
  const server = await startHistoryServer(openRunIndex(folder), 0)
  open.push(server)
  /** The path goes out as it is: no client resolves its dots. */
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    new Promise<{ status: number; text: string; policy: string }>((resolve, reject) => {
      const sent = httpRequest({ host: '127.0.0.1', port: server.port, path, method, headers }, response => {
        let text = ''
        response.on('data', bytes => {
          text += bytes
        })
        const policy = String(response.headers['content-security-policy'])
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text, policy }))
      })
      sent.on('error', reject).end()
    })
  return { folder, get }
}

const at = (report: Report, hour: number, scenario = report.run.scenario): Report => ({
  ...report,
  run: { ...report.run, scenario, id: `r${hour}`, startedAt: new Date(Date.UTC(2026, 0, 1, hour)).toISOString() },
})

test('a list that is not read to its end says so, and reloads itself; one that is does not', () => {
  const selection = { scenario: null, verdict: null, page: 1 }
  const partly = historyPage('runs', { runs: [], left: 1_200 }, selection)
  expect(partly).toContain('<meta http-equiv="refresh" content="1">')
  expect(partly).toContain('Reading 1,200 older ones for the first time; this page reloads.')
  expect(historyPage('runs', { runs: [], left: 0 }, selection)).not.toMatch(/refresh|older/)
})

describe('the list of runs', () => {
  test('shows each run with its verdict, scenario, target and figures, and how they went', async () => {
    const { get } = await serve({ a: at(passingReport, 1), b: at(failingReport, 2), c: at(failingReport, 3, 'other') })
    const { status, text, policy } = await get('/')
    expect(status).toBe(200)
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[^;]+; img-src data:; base-uri 'none'; form-action 'self'/,
    )
    expect(text).not.toContain('<script')
    expect([...text.matchAll(/<input type="checkbox" name="run" value="(\w+)"/g)].map(([, name]) => name)).toEqual([
      'c',
      'b',
      'a',
    ])
    expect(text).toContain('182 ms')
    // Two runs of one scenario have a trend; one run of another has none.
    expect(text.match(/<ul class="dots">/g)).toHaveLength(1)
    expect(text).toMatch(/<li class="good"[^>]*><\/li><li class="bad"/)
  })

  test('selects by scenario and verdict', async () => {
    const { get } = await serve({ a: at(passingReport, 1), b: at(failingReport, 2), c: at(failingReport, 3, 'other') })
    const shown = async (query: string) =>
      [...(await get(`/?${query}`)).text.matchAll(/name="run" value="(\w+)"/g)].map(([, name]) => name)
    expect(await shown('scenario=other')).toEqual(['c'])
    expect(await shown(`scenario=${failingReport.run.scenario}&verdict=fail`)).toEqual(['b'])
    expect(await shown('scenario=&verdict=&page=99')).toEqual(['c', 'b', 'a'])
    expect(await shown('scenario=%22%3E%3Cimg')).toEqual([])
  })

  test('has pages of a hundred runs', async () => {
    const reports = Object.fromEntries(Array.from({ length: 230 }, (_, hour) => [`r${hour}`, at(passingReport, hour)]))
    const { get } = await serve(reports)
    const count = async (page: string) => (await get(page)).text.match(/name="run"/g)?.length
    expect([await count('/'), await count('/?page=2'), await count('/?page=3')]).toEqual([100, 100, 30])
    expect((await get('/?page=2')).text).toMatch(/Later runs.*page 2 of 3.*Earlier runs/)
  })

  test('an empty folder is an empty list', async () => {
    const { get } = await serve({})
    expect((await get('/')).text).toContain('There is no such run.')
  })

  test('text from a target cannot become markup', async () => {
    const hostile = { a: at(hostileReport, 1), b: at(hostileReport, 2) }
    const { get } = await serve(hostile)
    const tags = (await get('/')).text.match(/<[^>]*>/g) ?? []
    expect(tags.filter(tag => /^<(?:script|img|iframe)\b|\son\w+=|href="(?!\/|data:)/i.test(tag))).toEqual([])
  })
})

describe('a report of the list', () => {
  test('is the page of the report', async () => {
    const { get } = await serve({ 'a b': passingReport, 'nightly/smoke': failingReport })
    expect(await get('/runs/a%20b')).toMatchObject({ status: 200, text: renderHtml(passingReport) })
    expect((await get(`/runs/${encodeURIComponent('nightly/smoke')}`)).text).toBe(renderHtml(failingReport))
  })

  test.each([
    '/runs/../../../etc/passwd',
    '/runs/..%2f..%2fetc%2fpasswd',
    '/runs/%2e%2e%2f%2e%2e',
    '/runs/a%00',
    '/runs/%E0%A4%A',
    '/runs//etc',
    '/runs/a/../a',
    '/runs/__proto__',
    '/runs/',
    '/compare?run=../a&run=a',
    '/compare?run=a&run=/etc',
  ])('%s leads nowhere', async path => {
    const { get } = await serve({ a: passingReport })
    const { status, text } = await get(path)
    expect(status).toBe(422)
    expect(text).not.toContain('root:')
    expect(text).toMatch(/expected a run of the list/)
  })

  test('damaged or unfinished runs have a page that says so', async () => {
    const { folder, get } = await serve({ a: passingReport })
    writeFileSync(join(folder, 'a', 'report.json'), '{"verdict":')
    mkdirSync(join(folder, 'b'))
    writeFileSync(join(folder, 'b', 'plan.json'), '{}')
    expect((await get('/')).text).toContain('damaged report')
    for (const name of ['a', 'b']) {
      const { status, text } = await get(`/runs/${name}`)
      expect([status, text.includes('This cannot be shown')]).toEqual([422, true])
    }
  })

  test('other sites, methods and paths get nothing', async () => {
    const { get } = await serve({ a: passingReport })
    expect((await get('/', { host: 'evil.example' })).status).toBe(403)
    expect((await get('/runs/a', { host: 'evil.example' })).text).not.toContain(passingReport.run.target)
    expect((await get('/', {}, 'POST')).status).toBe(405)
    expect((await get('/favicon.ico')).status).toBe(404)
  })
})

describe('a comparison of the list', () => {
  test('is that of turnpike compare: the latest run against the others, in any order of clicks', async () => {
    const { folder, get } = await serve({})
    const scenario = 'test/e2e/short.yaml'
    await recordedRun(join(folder, 'first'), { scenario, seed: 1 })
    await recordedRun(join(folder, 'second'), { scenario, seed: 2 })
    const { status, text } = await get('/compare?run=second&run=first')
    expect(status).toBe(200)
    expect(text).toContain('Against the baseline')
  }, 60_000)

  test.each([
    ['/compare', 'comparison: got 0 checked runs, expected 2 to 20 checked runs'],
    ['/compare?run=a', 'comparison: got 1 checked run, expected 2 to 20 checked runs'],
    ['/compare?run=a&run=b', 'plan.json'],
  ])('%s explains what is missing', async (path, words) => {
    const { get } = await serve({ a: at(passingReport, 1), b: at(passingReport, 2) })
    const { status, text } = await get(path)
    expect(status).toBe(422)
    expect(text).toContain(words)
  })
})
