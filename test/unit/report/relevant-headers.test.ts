import { expect, test } from 'vitest'
import { relevantHeaders } from '../../../src/report/relevant-headers.ts'

const headers = {
  date: 'Fri, 02 Jan 2026 03:04:06 GMT',
  'content-length': '12',
  'x-service-balance-usd': '9.99',
  'x-service-rpc-credits': '40',
  'cf-ray': 'abc',
}

test('relevant headers: those that the violation names come first, the commonplace not at all', () => {
  const names = relevantHeaders(headers, 'rpc.credits.amount got 40 credits').map(([name]) => name)
  expect(names).toEqual(['x-service-rpc-credits', 'x-service-balance-usd', 'cf-ray'])
})

test('relevant headers: a commonplace one is shown when the violation is about it', () => {
  expect(relevantHeaders(headers, 'header.date no HTTP date')[0]).toEqual(['date', headers.date])
})

test('relevant headers: never more than six', () => {
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`x-${index}`, 'v']))
  expect(relevantHeaders(many, '')).toHaveLength(6)
})
