import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { linksOf } from './support/markdown.ts'
import { renderLlms } from './support/render-llms.ts'

const pages = readdirSync('docs')
  .filter(name => name.endsWith('.md'))
  .map(name => `docs/${name}`)
  .sort()
const read = (path: string): string => readFileSync(path, 'utf8')

test('llms.txt is what the pages make of it', () => {
  const current = renderLlms(read)
  if (process.env.UPDATE_DOCS === '1') writeFileSync('llms.txt', current)
  expect(read('llms.txt'), 'UPDATE_DOCS=1 npx vitest run test/llms.test.ts').toBe(current)
})

test('it lists each page once, and only files of the package', () => {
  const listed = read('llms.txt')
    .split('\n')
    .filter(line => line.startsWith('- '))
    .flatMap(line =>
      linksOf(line)
        .slice(0, 1)
        .map(({ target }) => target),
    )
  expect(new Set(listed).size).toBe(listed.length)
  expect(pages.filter(page => !listed.includes(page))).toEqual([])
  expect(listed.filter(path => !existsSync(path))).toEqual([])
  const { files } = JSON.parse(read('package.json'))
  // npm adds the README by itself.
  const packed = (path: string) =>
    path === 'README.md' || files.some((each: string) => path === each || path.startsWith(`${each}/`))
  expect(listed.filter(path => !packed(path))).toEqual([])
  expect(files).toContain('llms.txt')
})

test('it has the form of llmstxt.org: a title, a summary, then sections of links, each with a sentence', () => {
  const [title, blank, summary, ...rest] = read('llms.txt').split('\n')
  expect([title, blank, summary]).toEqual(['# Turnpike', '', expect.stringMatching(/^> Turnpike load-tests .{50,}\.$/)])
  const lines = rest.slice(rest.findIndex(line => line.startsWith('## '))).filter(line => line !== '')
  expect(lines.filter(line => !/^## [\w-]+$|^- \[[^\]]+\]\([^)]+\): [A-Z`].{10,}[.?]$/.test(line))).toEqual([])
  expect(lines.filter(line => line.startsWith('## '))).toEqual(
    ['Tutorial', 'How-to', 'Reference', 'Explanation', 'Optional'].map(part => `## ${part}`),
  )
})
