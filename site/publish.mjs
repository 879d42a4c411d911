import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { buildSite } from './build.mjs'
import { placesOf } from './versions.mjs'

/**
 * Adds the pages of this version to a published site: `npm run publish-version -- ../published /turnpike/`. The folder holds
 * what is published already; the path is that of the site on its server.
 */
const [folder = '', root = ''] = process.argv.slice(2)
if (folder === '' || !/^\/(?:.+\/)?$/.test(root)) throw new Error('expected <folder> </path/of/the/site/>')
const site = resolve(folder)
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

mkdirSync(site, { recursive: true })
const { places, versions } = placesOf(version, readdirSync(site))
for (const name of places) rmSync(join(site, name), { recursive: true, force: true })
await buildSite(places.map(name => ({ out: join(site, name), base: `${root}${name}/` })))

const [start] = versions.includes('latest') ? ['latest'] : versions
writeFileSync(join(site, 'versions.json'), `${JSON.stringify(versions)}\n`)
writeFileSync(
  join(site, 'index.html'),
  `<!doctype html>\n<meta charset="utf-8">\n<title>Turnpike</title>\n<meta http-equiv="refresh" content="0; url=${start}/">\n<a href="${start}/">Turnpike</a>\n`,
)
// GitHub Pages otherwise leaves out files whose names begin with an underscore.
writeFileSync(join(site, '.nojekyll'), '')
