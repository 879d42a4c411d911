import { describe, expect, test } from 'vitest'
import { clauseIds, clauses, isExtra } from '../../../src/contract/clauses.ts'
import {
  asPatterns,
  clausesMatching,
  notPromised,
  promisesAny,
  promisesSchema,
} from '../../../src/contract/promises.ts'

const without = (...except: readonly string[]) => ({ promises: { only: null, except: [...except] } })
const only = (...ids: readonly string[]) => ({ promises: { only: [...ids], except: [] } })

const extras = clauseIds.filter(isExtra)
const ofDocument = (contract: Parameters<typeof notPromised>[0]) => notPromised(contract).filter(id => !isExtra(id))

describe('the clauses that are not promised', () => {
  test('are none of the document without a word about promises', () => {
    expect(notPromised(without())).toEqual(extras)
  })

  test('are those of a name, of a pattern and of a section with its parts', () => {
    expect(ofDocument(without('header.cf-ray'))).toEqual(['header.cf-ray'])
    expect(ofDocument(without('billing.*'))).toEqual(clauseIds.filter(id => id.startsWith('billing.')))
    expect(
      notPromised(without('§4')).filter(id => !/^(chat\.(json|token-limit)\.|twin\.(answer|length|sampled))/.test(id)),
    ).toEqual(clauseIds.filter(id => /^4(\.|$)/.test(clauses[id].section)))
    expect(notPromised(without('§4.4'))).not.toContain('rpc.id')
  })

  test('are all others, if a profile names what is promised', () => {
    expect(notPromised({ promises: { only: null, except: [] } })).toContain('rpc.protocol.id')
    expect(notPromised(only('rpc.protocol.*'))).not.toContain('rpc.protocol.id')
    expect(notPromised(only('rpc.id', 'rpc.batch.*')).length).toBe(
      clauseIds.filter(id => id !== 'rpc.id' && !id.startsWith('rpc.batch.')).length,
    )
    expect(notPromised({ promises: { only: ['rpc.*'], except: ['rpc.id'] } })).toContain('rpc.id')
  })
})

test('all clauses of one name are shown as a pattern', () => {
  const ofBilling = clauseIds.filter(id => id.startsWith('billing.'))
  expect(asPatterns(['rpc.id', ...ofBilling])).toEqual(['rpc.id', 'billing.*'])
  expect(asPatterns(ofBilling.slice(1))).toEqual(ofBilling.slice(1))
})

test('a promise of one of several clauses is enough', () => {
  expect(promisesAny(without('billing.*'), ['billing.*'])).toBe(false)
  expect(promisesAny(without('billing.currency'), ['billing.*'])).toBe(true)
})

test.each(['rpc.idd', 'biling.*', '§44', '', '§', 'rpc[', 'rpc.(id|x)'])('%j names no clause', pattern => {
  expect(promisesSchema.safeParse({ only: null, except: [pattern] }).success).toBe(false)
  expect(promisesSchema.safeParse({ only: [pattern], except: [] }).success).toBe(false)
})

test.each([
  ['*', clauseIds.length],
  ['**', clauseIds.length],
  ['header.*-ray', 1],
  ['*.cf-*', 2],
  ['header.cf-ray*', 2],
  ['header.cf-ray*y', 0],
  ['a'.repeat(1_000_000), 0],
  [`${'*e'.repeat(50_000)}!`, 0],
  [`${'*e'.repeat(20)}!`, 0],
])('a pattern of any length is matched at once', (pattern, count) => {
  expect(clausesMatching(pattern)).toHaveLength(count)
})
