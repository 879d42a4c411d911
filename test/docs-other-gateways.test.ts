import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { limitHeadersOf } from '../src/contract/limit-headers/limit-headers.ts'
import { parseProfile } from '../src/contract/profile.ts'
import { learnFrom } from './support/learn-from.ts'
import { blocksOf } from './support/markdown.ts'

const profiles = blocksOf(readFileSync('docs/other-gateways.md', 'utf8'), 'yaml').map(text => parseProfile(text, 'x'))

test('docs/other-gateways.md: each profile loads', () => {
  expect(profiles.length).toBeGreaterThan(6)
})

test('docs/other-gateways.md: learn finds the headers of the first one', async () => {
  const [contract] = profiles
  const { yaml } = await learnFrom(contract && { contract })
  expect(limitHeadersOf(parseProfile(yaml, 'x').limits)).toEqual(contract && limitHeadersOf(contract.limits))
})
