import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hasAxe, seriousFaults } from '../support/axe.ts'
import { describeWith } from '../support/real-part.ts'
import { freshDirectory, type Started, serveForTest, startForTest } from '../support/turnpike.ts'

const phone = { width: 390, height: 844 }
const desk = { width: 1_280, height: 900 }
const looks = [phone, desk].flatMap(viewport =>
  (['light', 'dark'] as const).map(colorScheme => ({ viewport, colorScheme })),
)

type Watched = { readonly page: Page; readonly faults: readonly string[] }

describeWith('chromium', 'the live page in a real browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
  })
  afterAll(() => browser?.close())

  /** Opens a page, and notes everything that it may not do. */
  async function open(url: string, options: BrowserContextOptions = {}): Promise<Watched> {
    const page = await browser.newPage(options)
    const faults: string[] = []
    page.on('console', message => faults.push(`console: ${message.text()}`))
    page.on('pageerror', error => faults.push(`error: ${error.message}`))
    page.on('dialog', dialog => faults.push(`dialog: ${dialog.message()}`))
    page.on('request', request => {
      if (!request.url().startsWith(url) && !request.url().startsWith('data:')) faults.push(`request: ${request.url()}`)
    })
    await page.goto(url)
    return { page, faults }
  }

  const addressOf = async (run: Started) => (await run.said(/Watch the run at \S+/)).replace('Watch the run at ', '')

  test('shows a run from its start to its report, at two sizes and in both color schemes', async ({
    onTestFinished,
  }) => {
    const { target } = await serveForTest(['service', '--lie', 'semantic-version'], onTestFinished)
    const out = join(freshDirectory(), 'run')
    const run = startForTest(['run', 'smoke', '--target', target, '--out', out, '--ui', '0'], onTestFinished)
    const url = await addressOf(run)
    const watched = await Promise.all(looks.map(look => open(url, look)))
    for (const { page } of watched) {
      await page.locator('header .verdict').getByText('fail so far').waitFor({ timeout: 60_000 })
      await page.locator('#findings .finding').first().waitFor()
    }

    // By keyboard: one fold of the evidence, which stays open while the page changes around it.
    const [{ page: first } = never()] = watched
    const fold = first.locator('#findings details.aside > summary').first()
    await fold.focus()
    await first.keyboard.press('Enter')
    const answered = () => first.locator('.tile', { hasText: 'responses' }).locator('dd').first().textContent()
    const before = await answered()
    await expect.poll(answered).not.toBe(before)
    expect(await first.locator('#findings details.aside').first().getAttribute('open')).not.toBeNull()
    expect(await first.evaluate(`document.activeElement.tagName`)).toBe('SUMMARY')
    expect(await first.locator('#findings details.aside .command').first().textContent()).toContain('curl')

    for (const { page } of watched) {
      await page.locator('#latency figure').first().waitFor({ timeout: 60_000 })
      await page.locator('#limits .lane').first().waitFor({ timeout: 60_000 })
      const titles = await page.locator('figure h3').allTextContents()
      expect(titles).toEqual(
        expect.arrayContaining(['Offered and achieved rate', 'All latencies', 'Windows of each caller']),
      )
      expect(titles).toEqual(expect.arrayContaining(['Dollars spent', 'Budget', 'Lateness']))
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
      expect(await page.title()).toBe('fail so far: smoke')
    }
    // One of each size and each color scheme, while the run goes.
    for (const { page } of hasAxe ? [watched[0] ?? never(), watched[3] ?? never()] : [])
      expect(await seriousFaults(page)).toEqual([])

    const { code } = await run.ended
    expect(code).toBe(1)
    const report = readFileSync(join(out, 'report.html'), 'utf8')
    for (const [index, { page, faults }] of watched.entries()) {
      await expect.poll(() => page.title()).toBe('fail: smoke')
      const main = await page.evaluate(`document.querySelector('main').outerHTML`)
      const expected = await page.evaluate(
        `new DOMParser().parseFromString(${JSON.stringify(report)}, 'text/html').querySelector('main').outerHTML`,
      )
      expect(main).toBe(expected)
      expect(await page.locator('#end').count()).toBe(0)
      const background = await page.evaluate('getComputedStyle(document.body).backgroundColor')
      expect(background).toBe(looks[index]?.colorScheme === 'dark' ? 'rgb(13, 17, 23)' : 'rgb(246, 247, 249)')
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
      expect(faults).toEqual([])
    }
  })

  test('its button ends the run as ^C does, and the page becomes the report', async ({ onTestFinished }) => {
    const out = join(freshDirectory(), 'run')
    const run = startForTest(['run', 'smoke', '--out', out, '--ui', '127.0.0.1:0'], onTestFinished)
    const { page, faults } = await open(await addressOf(run))
    await page.locator('.tile', { hasText: 'steady' }).waitFor({ timeout: 60_000 })
    const button = page.getByRole('button', { name: 'End the run' })
    await button.focus()
    await page.keyboard.press('Enter')
    const { code, stderr } = await run.ended
    expect(code).toBe(130)
    expect(stderr).toContain('Interrupted.')
    await expect.poll(() => page.title()).toBe('inconclusive: smoke')
    expect(faults).toEqual([])
  })
})

const never = (): never => {
  throw new Error('no page is open')
}
