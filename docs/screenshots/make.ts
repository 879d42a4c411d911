import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Browser, chromium } from 'playwright-core'
import { defaultLatency, scaleLatency } from '../../src/service/capacity.ts'
import { recordedRun } from '../../test/support/recorded-run.ts'
import { type InTerminal, type Run, startInTerminal } from '../../test/support/terminal.ts'
import { startTurnpike, turnpike } from '../../test/support/turnpike.ts'

/**
 * Takes the pictures of the documents: the progress of real runs in a pseudo-terminal, and the pages of a comparison
 * and, at phone and desk size, of a report. It takes two minutes, needs Debian's chromium, or the one that `TURNPIKE_CHROMIUM`
 * names, and pngquant, and is run by `npm run screenshots`. The site is built with pictures of its own version.
 * Names on the command line select some of `progress`, `search`, `live`, `report` and `comparison`.
 */
const selected = process.argv.slice(2)
const isSelected = (name: string) => selected.length === 0 || selected.includes(name)
const smoke = fileURLToPath(new URL('../../scenarios/smoke.yaml', import.meta.url))
const desk = { width: 1280, height: 1000 }
const phone = { width: 390, height: 1240 }
const browserFlags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-lcd-text',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Of a terminal, on a dark background. */
const colors = ['#484f58', '#ff7b72', '#4fc46a', '#f0a94b', '#6aa7ff', '#b899ff', '#3fc7b4', '#e6edf3']

const directory = mkdtempSync(join(tmpdir(), 'turnpike-screenshots-'))
// The pictures show relative paths.
process.chdir(directory)
const browser = await chromium.launch({
  executablePath: process.env.TURNPIKE_CHROMIUM ?? '/usr/bin/chromium',
  args: browserFlags,
})
try {
  if (isSelected('progress')) await pictureProgress(browser)
  if (isSelected('search')) await pictureSearch(browser)
  if (isSelected('live')) await pictureLive(browser)
  if (isSelected('report')) await pictureReport(browser)
  if (isSelected('comparison')) await pictureComparison(browser)
} finally {
  await browser.close()
  rmSync(directory, { recursive: true })
}
compress()

/** The package holds the pictures, so they have 256 colors where Debian's pngquant is installed. */
function compress(): void {
  const folder = fileURLToPath(new URL('.', import.meta.url))
  const pictures = readdirSync(folder).filter(name => name.endsWith('.png'))
  const { error } = spawnSync('pngquant', ['--force', '--skip-if-larger', '--ext', '.png', ...pictures], {
    cwd: folder,
  })
  if (error !== undefined) process.stderr.write('Install pngquant, and take the pictures again: they are too large.\n')
}

/** A run that passes so far, at 80 columns. */
async function pictureProgress(browser: Browser): Promise<void> {
  const run = startInTerminal(['run', smoke, '--out', 'runs/first'], { columns: 80, rows: 14 }, { directory })
  await run.shown(/steady +1[1-3] s of 16 s/)
  await pictureTerminal(browser, run, 80, 'progress.png')
  run.kill()
}

/** A search for the capacity, at 100 columns. */
async function pictureSearch(browser: Browser): Promise<void> {
  const args = ['run', join(root, 'scenarios/capacity.yaml'), '--out', 'runs/capacity']
  const run = startInTerminal(args, { columns: 100, rows: 30 }, { directory })
  await run.shown(/trial \d+: confirm \S+, [3-9]\d %/)
  await pictureTerminal(browser, run, 100, 'progress-search.png')
  run.kill()
}

/** The live page of a run that fails so far. */
async function pictureLive(browser: Browser): Promise<void> {
  const service = startTurnpike(['service', '--port', '0', '--lie', 'failed-item-in-full'])
  const target = await service.said(/http:\S+\/api\/v1/)
  const run = startTurnpike(['run', smoke, '--target', target, '--ui', '0', '--out', join(directory, 'runs/live')])
  const url = (await run.said(/Watch the run at http:\S+/)).replace('Watch the run at ', '')
  const tab = await browser.newPage({ viewport: desk, colorScheme: 'light' })
  await tab.goto(url)
  await tab.locator('.tile', { hasText: /elapsed1[4-6]/ }).waitFor({ timeout: 60_000 })
  for (const summary of await tab.locator('details[open] > summary').all()) await summary.click()
  await tab.evaluate('scrollTo(0, 0)')
  await tab.screenshot({ path: pathOf('live.png') })
  await tab.close()
  run.child.kill()
  service.child.kill()
}

/** A run against a service that bills failed batch items in full: its progress at 120 columns, and then its report. */
async function pictureReport(browser: Browser): Promise<void> {
  const service = startTurnpike(['service', '--port', '0', '--lie', 'failed-item-in-full'])
  const target = await service.said(/http:\S+\/api\/v1/)
  const args = ['run', smoke, '--target', target, '--out', 'runs/smoke']
  const run = startInTerminal(args, { columns: 120, rows: 14 }, { directory })
  await run.shown(/steady +1[1-3] s of 16 s/)
  await pictureTerminal(browser, run, 120, 'progress-violation.png')
  const code = await run.ended
  service.child.kill()
  if (code !== 1) throw new Error(`the run was to fail with exit code 1, and ended with ${code}: ${run.written()}`)
  const page = join(directory, 'runs/smoke/report.html')
  await picturePage(browser, page, desk, 'report.png')
  await picturePage(browser, page, phone, 'report-phone.png')
}

/** A run of the nightly scenario against a service that became 15 % slower, and its three baselines; in virtual time. */
async function pictureComparison(browser: Browser): Promise<void> {
  const scenario = join(root, 'scenarios/nightly.yaml')
  const nights = ['monday', 'tuesday', 'wednesday']
  for (const [index, name] of nights.entries()) await recordedRun(name, { scenario, seed: index })
  await recordedRun('thursday', { scenario, seed: 9, timing: scaleLatency(defaultLatency, 0.15) })
  const of = (name: string) => join(directory, name)
  const { code, stderr } = await turnpike(['compare', ...[...nights, 'thursday'].map(of), '--out', of('compared')])
  if (code !== 1) throw new Error(`the comparison was to end with 1, and ended with ${code}: ${stderr}`)
  const page = of('compared/comparison.html')
  await picturePage(browser, page, desk, 'comparison.png')
}

function pathOf(picture: string): string {
  return fileURLToPath(new URL(picture, import.meta.url))
}

async function picturePage(browser: Browser, page: string, viewport: typeof desk, picture: string): Promise<void> {
  const tab = await browser.newPage({ viewport, colorScheme: 'light' })
  await tab.goto(pathToFileURL(page).href)
  for (const summary of await tab.locator('details[open] > summary').all()) await summary.click()
  await tab.screenshot({ path: pathOf(picture) })
  await tab.close()
}

/** Draws the screen of a terminal as it is now. */
async function pictureTerminal(
  browser: Browser,
  { screen }: InTerminal,
  columns: number,
  picture: string,
): Promise<void> {
  const tab = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  const rows = screen.runs().map(runs => runs.map(markupOf).join(''))
  const first = rows.findIndex(row => row.trim() !== '')
  await tab.setContent(`<style>
    body { margin: 0 } pre { display: inline-block; margin: 0; padding: 14px 16px; background: #0d1117; color: #e6edf3;
    width: ${columns}ch; font: 14px/1.4 "DejaVu Sans Mono", monospace } b { color: #fff }</style><pre>${rows.slice(first).join('\n')}</pre>`)
  await tab.locator('pre').screenshot({ path: pathOf(picture) })
  await tab.close()
}

function markupOf({ text, color, bold, dim }: Run): string {
  const safe = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const style = [color === null ? '' : `color: ${colors[color % 8]}`, dim ? 'opacity: .6' : '']
    .filter(Boolean)
    .join(';')
  const styled = style === '' ? safe : `<span style="${style}">${safe}</span>`
  return bold ? `<b>${styled}</b>` : styled
}
