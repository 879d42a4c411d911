import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { spansOf, withoutBlocks } from './support/markdown.ts'

/** A file of `src`, by its path from there, and a function that the page says is in it. */
type Mention = { readonly file: string; readonly name: string }

const isPath = (span: string): boolean => /^(?:[\w-]+\/)+[\w.-]+\.ts$|^main\.ts$/.test(span)
const fileOf = (path: string): string => path.replace(/^src\//, '')
const functionOf = (span: string): string | null => /^([a-z]\w*)\(\)$/.exec(span)?.[1] ?? null

const filesNamed = (markdown: string): readonly string[] =>
  [...new Set(spansOf(markdown).filter(isPath).map(fileOf))].filter(path => !path.startsWith('test/'))

/** Functions are written as `name()`. One that follows the path of a file at once is in that file. */
const functionsPlaced = (markdown: string): readonly Mention[] =>
  [...withoutBlocks(markdown).matchAll(/`([\w./-]+\.ts)`\s+`([a-z]\w*)\(\)`/g)].map(([, path = '', name = '']) => ({
    file: fileOf(path),
    name,
  }))

const functionsNamed = (markdown: string): readonly string[] => [
  ...new Set(spansOf(markdown).flatMap(span => functionOf(span) ?? [])),
]

const declares = (text: string, name: string): boolean => new RegExp(`\\b(?:function\\*?|const) ${name}\\b`).test(text)

const read = (file: string): string => (existsSync(`src/${file}`) ? readFileSync(`src/${file}`, 'utf8') : '')

/** What the page says of the source that is not so, a line for each. */
function mistakesOf(markdown: string): readonly string[] {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'))
  return [
    ...filesNamed(markdown)
      .filter(file => !existsSync(`src/${file}`))
      .map(file => `there is no src/${file}`),
    ...functionsPlaced(markdown)
      .filter(({ file, name }) => !declares(read(file), name))
      .map(({ file, name }) => `src/${file} has no function ${name}`),
    ...functionsNamed(markdown)
      .filter(name => !sources.some(file => declares(read(file), name)))
      .map(name => `nothing in src is called ${name}`),
  ]
}

const page = readFileSync('docs/architecture.md', 'utf8')

describe('docs/architecture.md', () => {
  test('names files and functions that exist, each function in its file', () => {
    expect(mistakesOf(page)).toEqual([])
  })

  test('names a function of every hop and of every step', () => {
    expect(functionsPlaced(page).length).toBeGreaterThan(20)
    expect(filesNamed(page).length).toBeGreaterThan(functionsPlaced(page).length)
  })
})

describe('a page', () => {
  test.each([
    ['a file with a function of its own', '`lib/money.ts` `pico()`'],
    ['a file by its path from the root', '`src/lib/money.ts` has it'],
    ['a function without a file', 'then `pico()` parses it'],
    ['a path in the drawing, which is no mention', '```\nlib/nowhere.ts\n```'],
  ])('may name %s', (_, markdown) => {
    expect(mistakesOf(markdown)).toEqual([])
  })

  test.each([
    ['a file that is gone', '`lib/nowhere.ts`', ['there is no src/lib/nowhere.ts']],
    ['a function that is gone', '`noSuchThing()`', ['nothing in src is called noSuchThing']],
    ['a function of another file', '`lib/random.ts` `pico()`', ['src/lib/random.ts has no function pico']],
    ['one on the next line', '`lib/random.ts`\n`pico()`', ['src/lib/random.ts has no function pico']],
  ])('may not name %s', (_, markdown, mistakes) => {
    expect(mistakesOf(markdown)).toEqual(mistakes)
  })
})
