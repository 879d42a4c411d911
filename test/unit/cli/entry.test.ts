import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const staticImport = /^(?:import|export|\})[^"\n]*"([^"\n]+)";$/gm

/** The packages that a file of the built program loads before it runs, also by other files. */
function packagesOf(file: string, seen = new Set<string>()): readonly string[] {
  if (seen.has(file)) return []
  seen.add(file)
  const specifiers = [...readFileSync(`dist/${file}`, 'utf8').matchAll(staticImport)].map(([, of = '']) => of)
  return specifiers.flatMap(of =>
    of.startsWith('./') ? packagesOf(of.slice(2), seen) : of.startsWith('node:') ? [] : [of],
  )
}

// A package of many files would fail where few may be open, before the error can be reported.
test('the program starts with one small package, and loads the others with its command', () => {
  expect(packagesOf('main.js')).toEqual(['leven'])
  expect(packagesOf('turnpike.js')).toContain('zod')
})
