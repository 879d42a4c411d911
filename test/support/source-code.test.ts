import { describe, expect, test } from 'vitest'
import { notInCode } from './architecture-rules.ts'
import { codeOf, importsOf } from './source-code.ts'

const specifiersOf = (text: string) => importsOf({ path: 'src/a/b.ts', text }).map(({ specifier }) => specifier)

describe('codeOf', () => {
  const words = [
    ['a line comment', 'const a = 1 // enum b\nconst c = 2', 'const a = 1          \nconst c = 2'],
    ['a block comment', 'a /* enum\nb */ c', 'a        \n     c'],
    ['a string that contains the other quote', `f("it's", 'b')`, `f("    ", ' ')`],
    ['an escaped quote', `f('a\\'b', c)`, `f('    ', c)`],
    ['a comment in a string', `f('// b'); c`, `f('    '); c`],
    ['a template, but not its expressions', `f(\`a \${b.c} d\`)`, `f(\`  \${b.c}  \`)`],
    [
      'a template within a template',
      `f(\`a \${b ? \`c \${d} e\` : { f: 1 }.f} g\`); h`,
      `f(\`  \${b ? \`  \${d}  \` : { f: 1 }.f}  \`); h`,
    ],
    ['a regular expression that contains a quote', `a.replace(/['"]/g, b)`, `a.replace(/     /, b)`],
  ] as const

  test.each(words)('blanks %s', (_, text, code) => {
    expect(codeOf(text)).toBe(code)
  })

  test('does not read a division as a regular expression', () => {
    expect(codeOf('a / b + c / d')).toBe('a / b + c / d')
    expect(codeOf("(a) / 2 // 'x'")).toBe('(a) / 2       ')
  })
})

describe('importsOf', () => {
  test('finds every form of an import and of a re-export, in order', () => {
    const text = [
      "import one from './one.ts'",
      "import type { Two } from '../two.ts'",
      "import * as three from 'three'",
      "import four, { type Five } from 'four/five'",
      "import './six.ts'",
      "export { seven } from './seven.ts'",
      "export type { Eight } from './eight.ts'",
      "export * from './nine.ts'",
      "const ten = await import('./ten.ts')",
      'import {\n  eleven,\n} from "./eleven.ts"',
    ].join('\n')
    const expected = ['./one.ts', '../two.ts', 'three', 'four/five', './six.ts', './seven.ts', './eight.ts']
    expect(specifiersOf(text)).toEqual([...expected, './nine.ts', './ten.ts', './eleven.ts'])
  })

  test('ignores comments and strings', () => {
    expect(specifiersOf(`// import './a.ts'\nf("import { b } from './b.ts'")\nconst from = 'c'`)).toEqual([])
  })

  test('resolves a path relative to the importing file', () => {
    const files = importsOf({ path: 'src/a/b.ts', text: "import '../c/d.ts'\nimport './e.ts'\nimport 'zod'" })
    expect(files.map(({ file }) => file)).toEqual(['src/c/d.ts', 'src/a/e.ts', null])
  })
})

test('a keyword is no offense in a string, in a comment, or as the name of a property', () => {
  const rule = notInCode(/(?<![.\w])enum\s+\w/, 'declares an enum')
  const text = "z.enum(['a'])\n// an enum is data\nconst says = 'enum Level { low }'"
  expect(rule([{ path: 'src/a/b.ts', text }])).toEqual([])
  expect(rule([{ path: 'src/a/b.ts', text: `${text}\nenum Level { low }` }])).toEqual(['src/a/b.ts:4 declares an enum'])
})
