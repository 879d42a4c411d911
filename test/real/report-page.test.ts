import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Browser, chromium, type Locator, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TargetDiff } from '../../src/diff/compare-sides.ts'
import { renderDiffPage } from '../../src/diff/render-diff.ts'
import { withComparison } from '../../src/judge/verdict.ts'
import type { GateProof } from '../../src/prove/prove.ts'
import { proveScenario as prove } from '../../src/prove/prove-scenario.ts'
import { renderProofPage } from '../../src/prove/render-proof.ts'
import type { Report } from '../../src/report/document.ts'
import { comparisonRenderers, renderHtml } from '../../src/report/render/renderers.ts'
import { lieByName } from '../../src/service/lies/lies.ts'
import { hasAxe, seriousFaults } from '../support/axe.ts'
import { diffVirtually } from '../support/diff-virtually.ts'
import { todays } from '../support/nightly.ts'
import { describeWith } from '../support/real-part.ts'
import { freshDirectory, turnpike } from '../support/turnpike.ts'
import { virtualRun } from '../support/virtual-run.ts'
import { aSearch } from '../unit/report/capacity-results.ts'
import { hostileReport } from '../unit/report/hostile-report.ts'
import { regressed } from '../unit/report/sections/comparisons.ts'

const widths = [360, 390, 1_440] as const
const schemes = ['light', 'dark'] as const

/** A proof with a reason, a suggestion and a threshold, all of them with characters of HTML. */
const proved = async (): Promise<GateProof> => {
  const proof = await prove('smoke', { only: ['rpc.id'], workers: 1, sensitivity: false, suggestions: false })
  const threshold = { threshold: 'p(95) ttft < 1s', slowdown: 0.38, power: 0.9, text: 'notices <b>38 %</b>' }
  const addition = { calls: {}, stages: [], thresholds: [{ expect: 'failed == 0', why: 'A test.' }] }
  const suggestion = {
    addition,
    yaml: ['thresholds:', '  - { expect: "<i>" }'],
    requests: 1,
    usd: '0.01',
    notices: ['x'],
  }
  return { ...proof, sensitivity: [threshold], suggestions: [suggestion], untried: ['y'] }
}

/** A diff with a lie, a lower limit, and characters of HTML. */
const worse = async (): Promise<TargetDiff> => {
  const lies = [lieByName('failed-item-in-full')].filter(lie => lie !== undefined)
  const { diff } = await diffVirtually({ scenario: 'test/e2e/short.yaml' }, {}, { lies })
  const limit = { scope: 'rpc', tier: 'default', windowMs: 60_000, old: 20, new: 15, verdict: 'worse' } as const
  return { ...diff, limits: [{ ...limit, text: 'The limit of <b>rpc</b> is lower.' }] }
}

/** A page, and everything it did that no report may do. */
type Watched = { readonly page: Page; readonly faults: readonly string[] }

describeWith('chromium', 'the page of a report in a real browser', () => {
  let browser: Browser
  const files = new Map<string, string>()

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
    const folder = freshDirectory()
    const scenario = 'scenarios/smoke.yaml'
    const lies = ['failed-item-in-full', 'sudden-429', 'charged-twice'].map(lieByName).filter(lie => lie !== undefined)
    const passing = (await virtualRun({ scenario })).report
    const failing = (await virtualRun({ scenario, lies })).report
    expect([passing.verdict, failing.verdict]).toEqual(['pass', 'fail'])
    const searching = (await virtualRun({ scenario: 'scenarios/capacity.yaml' })).report
    expect(searching.capacity[0]?.status).toBe('found')
    const hostile = { ...hostileReport, plan: failing.plan, series: failing.series }
    const large: Report = {
      ...passing,
      load: { ...passing.load, answered: 12_345_678_901 },
      billing: { ...passing.billing, claimedUsd: '1234567.891' },
      run: { ...passing.run, durationMs: 359_940_000 },
      capacity: [aSearch({ ratePerSecond: 1_234_567 })],
    }
    const pages = {
      passing,
      large,
      failing,
      hostile,
      searching,
      compared: { ...passing, ...withComparison(passing, regressed), comparison: regressed },
    }
    for (const [name, report] of Object.entries(pages)) write(name, renderHtml(report))
    write('proof', renderProofPage(await proved()))
    write('diff', renderDiffPage(await worse()))
    write('comparison', comparisonRenderers.html.render(regressed))
    const unreached = join(folder, 'unreached')
    const flags = ['--target', 'http://127.0.0.1:9/api/v1', '--out', unreached, '--quiet']
    expect((await turnpike(['run', scenario, ...flags])).code).toBe(3)
    files.set('unreached', join(unreached, 'report.html'))

    function write(name: string, page: string) {
      const file = join(folder, `${name}.html`)
      writeFileSync(file, page)
      files.set(name, file)
    }
  })
  afterAll(() => browser?.close())

  async function open(name: string, width: number, colorScheme: 'light' | 'dark'): Promise<Watched> {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme })
    const faults: string[] = []
    page.on('console', message => faults.push(`console: ${message.text()}`))
    page.on('pageerror', error => faults.push(`error: ${error.message}`))
    page.on('dialog', dialog => faults.push(`dialog: ${dialog.message()}`))
    page.on('request', request => {
      if (!/^(?:file|data):/.test(request.url())) faults.push(`request: ${request.url()}`)
    })
    await page.goto(pathToFileURL(files.get(name) ?? '').href)
    return { page, faults }
  }

  const names = [
    'passing',
    'large',
    'failing',
    'hostile',
    'unreached',
    'searching',
    'compared',
    'comparison',
    'proof',
    'diff',
  ]
  describe.each(names)('%s', name => {
    test.each(widths.flatMap(width => schemes.map(scheme => [width, scheme] as const)))(
      'uses no network, has no error, and fits %i pixels (%s)',
      async (width, scheme) => {
        const { page, faults } = await open(name, width, scheme)
        const wider = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
        const cut = await page.evaluate(cutTables)
        const broken = await page.evaluate(brokenValues)
        const background = await page.evaluate('getComputedStyle(document.body).backgroundColor')
        await page.close()
        expect(faults).toEqual([])
        expect(wider).toBeLessThanOrEqual(0)
        expect(cut).toBe(0)
        expect(broken).toEqual([])
        // Without its style sheet, the page would have another background.
        expect(background).toBe(scheme === 'dark' ? 'rgb(13, 17, 23)' : 'rgb(246, 247, 249)')
      },
    )
  })

  const drawn = Object.entries(expected).flatMap(([name, titles]) => [
    [name, 390, 'light', titles] as const,
    [name, 1_440, 'dark', titles] as const,
  ])
  test.each(drawn)(
    'every chart of %s draws data at %i pixels (%s)',
    async (name, width, scheme, expectedTitles) => {
      const { page } = await open(name, width, scheme)
      const figures = await page.locator('figure:has(.chart)').all()
      const titles = await page.locator('figure:has(.chart) h3').allTextContents()
      const drawn = await picturesOf(figures)
      await page.evaluate(removeMarks)
      const blank = await picturesOf(figures)
      await page.close()
      expect(titles).toEqual(expect.arrayContaining(expectedTitles))
      expect(titles.filter((_, figure) => drawn[figure] === blank[figure])).toEqual([])
    },
    90_000,
  )

  const looks = names.flatMap(name => schemes.map(scheme => [name, scheme] as const))
  test.skipIf(!hasAxe).for(todays(looks, 4))('axe finds nothing serious in %s (%s)', async ([name, scheme]) => {
    const { page } = await open(name, 390, scheme)
    const found = await seriousFaults(page)
    await page.close()
    expect(found).toEqual([])
  })

  test('prints as a PDF', async () => {
    const { page } = await open('failing', 1_440, 'dark')
    const pdf = await page.pdf({ format: 'A4' })
    await page.emulateMedia({ media: 'print' })
    const layout = await page.evaluate(`getComputedStyle(document.querySelector('section')).display`)
    await page.close()
    // At a page break, Chromium draws the rows of a grid over one another.
    expect(layout).toBe('block')
    expect(pdf.subarray(0, 5).toString()).toBe('%PDF-')
    expect(pdf.length).toBeGreaterThan(50_000)
  })
})

const expected = {
  failing: [
    'Offered and achieved rate',
    'In flight',
    'All latencies',
    'Distribution of latencies',
    'Time to first token: chat',
    'Between chunks: chat',
    'Dollars spent',
    'Credits spent',
    'Windows of each caller',
  ],
  searching: ['Goodput', 'chat latency', 'Offered and achieved rate', 'All latencies', 'Dollars spent'],
  comparison: ['Changes'],
  diff: ['latency by slice', 'ttft by slice'],
}

/** The number of tables that should fold into cards on a phone, but are cut off. */
const cutTables = `[...document.querySelectorAll('.cards')]
  .filter(table => table.scrollWidth > table.parentElement.clientWidth).length`

/** The values of tiles that take more than one line, or are wider than their tile. */
const brokenValues = `[...document.querySelectorAll('.tile dd:not(.note)')].filter(value => {
  const lines = parseFloat(getComputedStyle(value).lineHeight)
  return value.clientHeight > 1.5 * lines || value.scrollWidth > value.clientWidth
}).map(value => value.textContent)`

async function picturesOf(figures: readonly Locator[]): Promise<readonly string[]> {
  const pictures: string[] = []
  for (const figure of figures) pictures.push((await figure.screenshot({ animations: 'disabled' })).toString('base64'))
  return pictures
}

/** Removes the data, and keeps axes, grid and stages. */
const removeMarks = `document
  .querySelectorAll('.chart path, .chart circle, .chart .cell, .chart [class*="f-"], .chart .refusal')
  .forEach(mark => mark.remove())`
