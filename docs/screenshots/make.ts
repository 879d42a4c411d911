import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'

/**
 * Takes the picture of the README: the report of a real run of `scenarios/smoke.yaml` against a reference service that
 * bills failed batch items in full. It takes half a minute, needs Debian's chromium, and is run by `npm run screenshots`.
 */
const main = 'dist/main.js'
const picture = fileURLToPath(new URL('report.png', import.meta.url))
/** Shows the verdict, the finding, the thresholds and the first charts. */
const viewport = { width: 1080, height: 1618 }
const browserFlags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const runDirectory = mkdtempSync(join(tmpdir(), 'turnpike-screenshots-'))
const service = spawn(process.execPath, [main, 'service', '--port', '0', '--lie', 'failed-item-in-full'], {
  stdio: ['ignore', 'pipe', 'pipe'],
})
try {
  runAgainst(await addressOf(service))
  await photograph(join(runDirectory, 'report.html'))
} finally {
  service.kill()
  rmSync(runDirectory, { recursive: true })
}

/** The base address that the service prints when it listens. */
async function addressOf({ stdout, stderr }: typeof service): Promise<string> {
  for (const output of [stdout, stderr]) output.setEncoding('utf8')
  return new Promise((resolve, reject) => {
    service.once('exit', code => reject(new Error(`the reference service ended with ${code}`)))
    for (const output of [stdout, stderr])
      createInterface(output).on('line', line => {
        const address = /http:\/\/\S+/.exec(line)?.[0]
        if (address !== undefined) resolve(address)
      })
  })
}

function runAgainst(target: string): void {
  const flags = ['--target', target, '--out', runDirectory, '--quiet']
  const { status, stderr } = spawnSync(process.execPath, [main, 'run', 'scenarios/smoke.yaml', ...flags], {
    encoding: 'utf8',
  })
  if (status !== 1) throw new Error(`the run was to fail with exit code 1, and ended with ${status}: ${stderr}`)
}

async function photograph(page: string): Promise<void> {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: browserFlags })
  try {
    const tab = await browser.newPage({ viewport, colorScheme: 'light' })
    await tab.goto(pathToFileURL(page).href)
    for (const summary of await tab.locator('details[open] > summary').all()) await summary.click()
    await tab.screenshot({ path: picture })
  } finally {
    await browser.close()
  }
}
