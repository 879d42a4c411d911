import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'
import { sections, titleOf } from '../pages.mjs'

const { version, description } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const base = process.env.SITE_BASE ?? '/'

/** A barrier across a road. */
const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#3a5ccc"/><path d="M3 4v9M3 6h10M10 6v7" stroke="#fff" stroke-width="2"/></svg>'

const group = (text, pages) => ({
  text,
  items: pages.map(path => ({
    text: path === 'README.md' ? 'Overview' : titleOf(path),
    link: `/${path.slice(0, -3)}`,
  })),
})
const groups = Object.values(sections).flatMap(part => Object.entries(part))

export default defineConfig({
  title: 'Turnpike',
  description,
  lang: 'en-US',
  srcDir: process.env.SITE_PAGES,
  srcExclude: ['public/**'],
  // A link to a page that is not there fails the build. `check-links.mjs` checks anchors and files.
  ignoreDeadLinks: false,
  lastUpdated: false,
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  markdown: {
    // The pages are written for GitHub, without HTML.
    html: false,
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: anchorOf },
  },
  vite: { build: { chunkSizeWarningLimit: 1_000 } },
  transformHead: ({ pageData: { relativePath, frontmatter, isNotFound } }) =>
    frontmatter.twin === false || isNotFound
      ? []
      : [['link', { rel: 'alternate', type: 'text/markdown', href: base + relativePath }]],
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Tutorial', link: '/docs/tutorial' },
      { text: 'How-to', link: '/docs/scenarios' },
      { text: 'Reference', link: '/docs/scenario-reference' },
      { text: 'Demo report', link: '/demo/report.html', target: '_self' },
    ],
    sidebar: groups.map(([title, pages]) => group(title, pages)),
    footer: {
      message: `Turnpike ${version}, Apache-2.0. For agents: <a href="${base}llms.txt" target="_self">llms.txt</a>`,
    },
    docFooter: { prev: false, next: false },
    version,
  },
})

/** As GitHub creates them: lower case, without punctuation, a hyphen for each space. */
function anchorOf(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\- _]/gu, '')
    .replaceAll(' ', '-')
}
