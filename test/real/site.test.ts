import { spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { extname, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hasAxe, seriousFaults } from '../support/axe.ts'
import { describeWith } from '../support/real-part.ts'
import { endOf } from '../support/shell.ts'
import { freshDirectory } from '../support/turnpike.ts'

const looks = [390, 1_440].flatMap(width =>
  (['light', 'dark'] as const).flatMap(colorScheme =>
    ['index', 'docs/tutorial', 'docs/scenario-reference'].map(name => ({ name, width, colorScheme })),
  ),
)

describeWith('site', 'the site of the pages, as a static host serves it', () => {
  let browser: Browser
  let server: Server
  let address = ''
  const folder = freshDirectory()
  const published = join(folder, 'turnpike')

  beforeAll(async () => {
    const arguments_ = ['site/publish.mjs', published, '/turnpike/']
    const built = await endOf(spawn(process.execPath, arguments_, { stdio: ['ignore', 'pipe', 'pipe'] }))
    expect([built.code, built.stderr]).toEqual([0, expect.any(String)])
    server = createServer((request, response) => {
      const asked = join(folder, decodeURIComponent(new URL(request.url ?? '', 'http://site').pathname))
      const file = existsSync(asked) && statSync(asked).isDirectory() ? join(asked, 'index.html') : asked
      response.writeHead(existsSync(file) ? 200 : 404, { 'content-type': types[extname(file)] ?? 'text/plain' })
      response.end(existsSync(file) ? readFileSync(file) : '')
    })
    await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
    const bound = server.address()
    address = `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}/turnpike/`
    browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
  })
  afterAll(async () => {
    await browser?.close()
    server?.close()
  })

  test.for(looks)('$name fits $width pixels, and axe finds nothing serious ($colorScheme)', async look => {
    const { name, width, colorScheme } = look
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme })
    const faults: string[] = []
    page.on('console', message => message.type() === 'error' && faults.push(message.text()))
    page.on('pageerror', error => faults.push(error.message))
    await page.goto(`${address}latest/${name}.html`, { waitUntil: 'networkidle' })
    const wider = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
    const found = hasAxe ? await seriousFaults(page) : []
    await page.close()
    expect([faults, wider, found]).toEqual([[], 0, []])
  })

  test('leads from its root to the newest version, and from there to others', async () => {
    const page = await browser.newPage()
    await page.goto(address)
    await page.waitForURL(`${address}latest/`)
    const menu = page.locator('.VPNavBar select.version')
    expect(await menu.locator('option').allTextContents()).toEqual(['latest', expect.stringMatching(/^v\d+\.\d+$/)])
    await menu.selectOption({ index: 1 })
    await page.waitForURL(/\/turnpike\/v\d+\.\d+\/$/)
    await page.close()
  })

  test('finds a word, and shows the page that has it', async () => {
    const page = await browser.newPage()
    await page.goto(`${address}latest/`, { waitUntil: 'networkidle' })
    await page.keyboard.press('Control+k')
    await page.getByRole('searchbox').fill('idempotency')
    const first = page.locator('.VPLocalSearchBox .result').first()
    await first.click()
    await page.waitForURL(/\/latest\/docs\/[\w-]+\.html/)
    expect((await page.locator('main').textContent())?.toLowerCase()).toContain('idempotency')
    await page.close()
  })

  test('has the report of a run that failed, each page as Markdown, and a list of them', async () => {
    const page = await browser.newPage()
    await page.goto(`${address}latest/`, { waitUntil: 'networkidle' })
    await page.getByRole('link', { name: 'Demo report' }).click()
    await page.waitForURL(/demo\/report\.html$/)
    expect(await page.locator('body').textContent()).toContain('rpc.batch.error-price')
    await page.goto(`${address}latest/docs/compare.html`, { waitUntil: 'networkidle' })
    await page.getByRole('link', { name: 'This page as Markdown' }).click()
    await page.waitForURL(/docs\/compare\.md$/)
    await page.close()
    const served = (path: string) => fetch(`${address}latest/${path}`).then(response => response.text())
    for (const path of ['docs/compare.md', 'llms.txt', 'scenarios/scenario.schema.json'])
      expect(await served(path)).toBe(readFileSync(path, 'utf8'))
  })
})

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
}
