import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Links and pictures of the built site that lead to no file, or to no place in a page. */
export function brokenLinks(folder, base) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))
  const pages = new Map(
    files.filter(file => file.endsWith('.html')).map(file => [file, readFileSync(join(folder, file), 'utf8')]),
  )
  const fileOf = url => {
    if (!url.pathname.startsWith(base)) return null
    const path = decodeURIComponent(url.pathname.slice(base.length))
    return [path, `${path}index.html`, `${path}.html`].find(each => files.includes(each)) ?? null
  }
  return [...pages].flatMap(([page, html]) =>
    [...html.matchAll(/ (?:href|src)="([^"]+)"/g)].flatMap(([, written]) => {
      const url = new URL(written.replaceAll('&amp;', '&'), `http://site${base}${page}`)
      if (url.host !== 'site') return []
      const file = fileOf(url)
      const anchor = decodeURIComponent(url.hash.slice(1))
      const found = file !== null && (anchor === '' || pages.get(file)?.includes(` id="${anchor}"`) !== false)
      return found ? [] : [`${page}: ${written}`]
    }),
  )
}
