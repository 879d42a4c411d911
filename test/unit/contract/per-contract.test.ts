import { expect, test } from 'vitest'
import { documented } from '../../../src/contract/documented.ts'
import { perContract } from '../../../src/contract/per-contract.ts'

test('what is made of a contract is made once, and anew for another', () => {
  let made = 0
  const nameOf = perContract(({ name }) => `${name} ${++made}`)
  expect([nameOf(documented), nameOf(documented)]).toEqual(['documented 1', 'documented 1'])
  expect(nameOf({ ...documented, name: 'other' })).toBe('other 2')
})
