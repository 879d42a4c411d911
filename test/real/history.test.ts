import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { defaultLatency, scaleLatency } from '../../src/service/capacity.ts'
import { hasAxe, seriousFaults } from '../support/axe.ts'
import { describeWith } from '../support/real-part.ts'
import { recordedRun } from '../support/recorded-run.ts'
import { freshDirectory, startForTest } from '../support/turnpike.ts'

const looks = [
  { viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
  { viewport: { width: 1_280, height: 900 }, colorScheme: 'light' },
] as const

describeWith('chromium', 'the list of runs in a real browser', () => {
  let browser: Browser
  const folder = freshDirectory()

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
    const scenario = 'scenarios/nightly.yaml'
    for (const [index, name] of ['monday', 'tuesday'].entries())
      await recordedRun(join(folder, name), { scenario, seed: index })
    await recordedRun(join(folder, 'slow'), { scenario, seed: 9, timing: scaleLatency(defaultLatency, 0.3) })
    const dated = (name: string, startedAt: string) => {
      const file = join(folder, name, 'report.json')
      const report = JSON.parse(readFileSync(file, 'utf8'))
      writeFileSync(file, JSON.stringify({ ...report, run: { ...report.run, startedAt } }))
    }
    dated('monday', '2026-01-05T00:00:00.000Z')
    dated('tuesday', '2026-01-06T00:00:00.000Z')
    dated('slow', '2026-01-07T00:00:00.000Z')
    cpSync(join(folder, 'monday', 'plan.json'), join(folder, 'killed', 'plan.json'), { recursive: true })
  })
  afterAll(() => browser?.close())

  test('lists runs, opens a report, and compares by clicking, at two sizes and in both color schemes', async ({
    onTestFinished,
  }) => {
    const server = startForTest(['ui', folder, '--port', '0'], onTestFinished)
    const url = await server.said(/http:\S+\//)
    for (const look of looks) {
      const page = await browser.newPage(look)
      const faults: string[] = []
      page.on('console', message => faults.push(`console: ${message.text()}`))
      page.on('pageerror', error => faults.push(`error: ${error.message}`))
      page.on('request', request => {
        if (!request.url().startsWith(url) && !request.url().startsWith('data:')) faults.push(request.url())
      })
      const fits = async () =>
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
      await page.goto(url)
      await fits()
      expect(await page.locator('#runs tbody tr').count()).toBe(4)
      expect(await page.locator('#runs tbody').textContent()).toContain('no report')
      expect(await page.locator('#trends .spark').count()).toBeGreaterThan(0)
      const background = await page.evaluate('getComputedStyle(document.body).backgroundColor')
      expect(background).toBe(look.colorScheme === 'dark' ? 'rgb(13, 17, 23)' : 'rgb(246, 247, 249)')
      if (hasAxe) expect(await seriousFaults(page)).toEqual([])

      await page.locator('#runs a').first().click()
      expect(await page.title()).toMatch(/: nightly$/)
      await fits()
      await page.goBack()

      // By keyboard: the two latest runs.
      for (const box of (await page.getByRole('checkbox').all()).slice(0, 2)) {
        await box.focus()
        await page.keyboard.press('Space')
      }
      await page.getByRole('button', { name: 'Compare' }).focus()
      await page.keyboard.press('Enter')
      await page.getByText('Against the baseline').waitFor()
      expect(await page.title()).toBe('regressed: nightly')
      await fits()
      expect(faults).toEqual([])
      await page.close()
    }
  })
})
