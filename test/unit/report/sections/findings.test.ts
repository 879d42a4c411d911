import { expect, test } from 'vitest'
import { relevantHeaders } from '../../../../src/report/sections/findings.ts'

const headers = {
  date: 'Fri, 02 Jan 2026 03:04:06 GMT',
  'content-length': '12',
  'x-service-balance-usd': '9.99',
  'x-service-rpc-credits': '40',
  'cf-ray': 'abc',
}

const named = (about: string) => relevantHeaders(headers, about).map(([name]) => name)

test('relevantHeaders gives the headers that the violation names, and those that identify the request', () => {
  expect(named('rpc.credits.amount got 40 credits')).toEqual(['x-service-rpc-credits', 'cf-ray'])
  expect(named('balance: 40 credits left the USD balance')).toEqual([
    'x-service-balance-usd',
    'x-service-rpc-credits',
    'cf-ray',
  ])
})

test('relevantHeaders gives a common header only if the violation is about it', () => {
  expect(named('header.date no HTTP date')).toEqual(['date', 'cf-ray'])
  expect(named('no such header')).toEqual(['x-service-balance-usd', 'x-service-rpc-credits', 'cf-ray'])
})

test('relevantHeaders gives at most six', () => {
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`x-${index}`, 'v']))
  expect(relevantHeaders({ ...many, 'cf-ray': 'abc' }, '')).toHaveLength(6)
})
