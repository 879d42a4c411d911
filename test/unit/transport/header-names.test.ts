import { expect, test } from 'vitest'
import { headerName } from '../../../src/transport/header-names.ts'

const nameOf = (text: string) => headerName(Buffer.from(text, 'latin1'))

test('a name is in lower case, the first time and the next', () => {
  for (let time = 0; time < 3; time++) expect(nameOf('X-Service-Balance-USD')).toBe('x-service-balance-usd')
})

test('names that take the same place are told apart', () => {
  // The same length, and the same bytes at both ends and in the middle.
  const twins = ['x-abc-m-abc-z', 'x-cba-m-cba-z']
  for (const name of [...twins, ...twins]) expect(nameOf(name)).toBe(name)
})

test('a name is its own, however many there are', () => {
  const names = Array.from({ length: 2_000 }, (_, index) => `x-${index.toString(36)}-${'n'.repeat(index % 90)}`)
  for (const name of [...names, ...names]) expect(nameOf(name)).toBe(name)
})

test('a name is what its bytes were when it was read', () => {
  const bytes = Buffer.from('x-first')
  expect(headerName(bytes)).toBe('x-first')
  bytes.write('x-other')
  expect(nameOf('x-first')).toBe('x-first')
  expect(headerName(bytes)).toBe('x-other')
})

test('a name may be empty', () => {
  expect(nameOf('')).toBe('')
})
