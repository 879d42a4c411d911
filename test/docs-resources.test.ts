import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { documentedContract } from '../src/contract/documented.ts'
import { plain, tableUnder } from './support/markdown.ts'

const profiles = readFileSync(new URL('../docs/profiles.md', import.meta.url), 'utf8')

test('docs/profiles.md has the resources of the contract', () => {
  const rows = tableUnder(profiles, 'Resources').map(row => Object.values(row).map(plain))
  const expected = Object.entries(documentedContract.resources).map(([name, resource]) => {
    const { method, path, body, draws, isPaginated, worstUsd } = resource
    return [name, `${method} ${path}${isPaginated ? ', in pages' : ''}`, draws ?? '', body?.model ?? '', worstUsd]
  })
  expect(rows).toEqual(expected)
})
