import { expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { headerRules, headerRulesOf } from '../../../src/contract/headers.ts'
import { lies } from '../../../src/service/lies/lies.ts'

test.each(headerRules)('$clause: a sample of $name has its form, and the wrong value does not', ({ form, sample }) => {
  expect(form.fits(form.wrong)).toBe(false)
  if (sample !== null) expect(form.fits(sample)).toBe(true)
})

test('the rules of a contract name headers with its prefix', () => {
  const { headers } = headerRulesOf({ ...documentedContract, headerPrefix: 'x-own-' })
  expect(headers.map(({ name }) => name)).toContain('x-own-balance-usd')
})

test('a rule about a required header has a lie without it, and one about a form has a lie with another form', () => {
  for (const { clause, on, form } of headerRules) {
    const expected = (on === 'present' ? 0 : 1) + (on === 'present' || form.wrong !== '' ? 1 : 0)
    expect(lies[clause].length, clause).toBeGreaterThanOrEqual(expected)
  }
})
