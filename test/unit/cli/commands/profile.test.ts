import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { profileText } from '../../../../src/cli/commands/profile.ts'
import type { Contract } from '../../../../src/contract/contract.ts'
import { documentedContract } from '../../../../src/contract/documented.ts'
import { loadProfile, parseProfile } from '../../../../src/contract/profile.ts'
import { profileKeys } from '../../../../src/contract/profile-keys.ts'

const withoutSources = ({ sources: _, ...values }: Contract) => values
const reread = (text: string) => parseProfile(text, 'printed.yaml')

describe('the documented profile', () => {
  const text = profileText(documentedContract, null)

  test('loads, and changes no value', () => {
    expect(withoutSources(reread(text))).toEqual(withoutSources(documentedContract))
  })

  test('does not state the resolution of balances, which would make it certain', () => {
    expect(reread(text).sources).not.toHaveProperty(['billing.balanceResolutionUsd'])
    expect(text).toContain('  # balanceResolutionUsd: "0.00000001"\n')
  })

  test('explains every key', () => {
    const words = text.replaceAll(/\n *# ?/g, ' ')
    const silent = profileKeys().filter(([, meaning]) => !words.includes(meaning.replaceAll('`', '')))
    expect(silent).toEqual([])
  })

  test('has no line wider than a screen, but for lists of models', () => {
    expect(text.split('\n').filter(line => line.length > 124 && !line.startsWith('  - {'))).toEqual([])
  })
})

describe('another profile', () => {
  const acme = reread(
    ['name: acme', 'rpc: { batchLimit: 50, requestsPerMinute: 100 }', 'limits: { published: { "chat:a.b": 7 } }'].join(
      '\n',
    ),
  )
  const lines = profileText(acme, 'acme.yaml').split('\n')
  const above = (line: string) => lines[lines.indexOf(line) - 1]

  test('marks what it states, with what it replaces', () => {
    expect(above('  batchLimit: 50')).toBe('  # FROM THE PROFILE; documented: 100')
    expect(above('  requestsPerMinute: 100')).toBe('  # FROM THE PROFILE; as the default')
    expect(above('    "chat:a.b": 7')).toBe('    # FROM THE PROFILE')
  })

  test('marks nothing else', () => {
    expect(lines.filter(line => line.includes('# FROM THE PROFILE'))).toHaveLength(4)
  })

  test.each(readdirSync('scenarios/profiles'))('%s loads again as it was', file => {
    const contract = loadProfile(`scenarios/profiles/${file}`)
    expect(withoutSources(reread(profileText(contract, file)))).toEqual(withoutSources(contract))
  })

  test('keeps a resolution that it states', () => {
    const stated = reread('billing: { balanceResolutionUsd: "0.00000001" }')
    expect(reread(profileText(stated, 'x')).sources).toHaveProperty(['billing.balanceResolutionUsd'])
  })
})
