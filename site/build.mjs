import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brokenLinks } from './check-links.mjs'
import { writePages } from './pages.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))

/**
 * Builds the site for each place: a folder, and the path at which a server will have it. Needs `npm run build` of the
 * program before, for the report of a service that bills failed batch items in full. A link that leads nowhere fails it.
 */
export async function buildSite([first, ...others]) {
  // Vite finds its packages from here, and no test reads it.
  const folder = mkdtempSync(join(here, 'node_modules/pages-'))
  try {
    writePages(folder)
    mkdirSync(join(folder, 'public/demo'))
    writeFileSync(join(folder, 'public/demo/report.html'), await demoReport())
    const { build } = await import('vitepress')
    process.env.SITE_PAGES = folder
    process.env.SITE_BASE = first.base
    await build(here, { base: first.base, outDir: first.out })
    for (const other of others) copySite(first, other)
    for (const { out, base } of [first, ...others]) {
      const broken = brokenLinks(out, base)
      if (broken.length > 0) throw new Error(`links that lead nowhere:\n${broken.join('\n')}`)
      const { length } = readdirSync(out, { recursive: true }).filter(name => name.endsWith('.html'))
      process.stdout.write(`${length} pages in ${out}, every link checked\n`)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** VitePress builds for one path in each process. Nothing but the path differs. */
function copySite(from, to) {
  cpSync(from.out, to.out, { recursive: true })
  for (const name of readdirSync(to.out, { recursive: true }).filter(each => /\.(?:html|js|css)$/.test(each))) {
    const text = readFileSync(join(to.out, name), 'utf8')
    if (text.includes(from.base)) writeFileSync(join(to.out, name), text.replaceAll(from.base, to.base))
  }
}

/** The page of a run of smoke against the reference service, which tells one lie. */
async function demoReport() {
  const { renderReport, run, startService } = await import('../dist/turnpike.js')
  const service = await startService({ lies: ['failed-item-in-full'] })
  try {
    const report = await run(join(here, '../scenarios/smoke.yaml'), { target: service.url })
    if (report.verdict !== 'fail' || report.findings.length !== 1)
      throw new Error(`the demo has the verdict ${report.verdict} and ${report.findings.length} findings, expected 1`)
    return renderReport(report, 'html')
  } finally {
    await service.close()
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await buildSite([{ out: resolve(process.argv[2] ?? join(here, 'dist')), base: process.argv[3] ?? '/' }])
