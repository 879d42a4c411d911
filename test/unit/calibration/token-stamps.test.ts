import { expect, test } from 'vitest'
import { streamTexts } from '../../../src/calibration/server-answers.ts'
import { scanStamps, stampLine } from '../../../src/calibration/token-stamps.ts'

const stamps = [
  { writtenMs: 123_456_789.1234, lateMs: 0 },
  { writtenMs: 123_456_809.5, lateMs: 0.0625 },
  { writtenMs: 123_456_829, lateMs: 17.25 },
]

function scan(pieces: readonly Buffer[]) {
  const found: { writtenMs: number; lateMs: number }[] = []
  const push = scanStamps((writtenMs, lateMs) => found.push({ writtenMs, lateMs }))
  for (const piece of pieces) push(piece)
  return found
}

test('scanStamps finds exactly the stamps of a response, however it is split', () => {
  const account = { nowMs: 0, picoUsd: 0n, requestsLeft: 1, tokensLeft: 1, resetMs: 0, serial: 7 }
  const texts = streamTexts(account, 3)
  const response = Buffer.from(texts.opening + stamps.map(stamp => texts.tokens(1, stamp)).join('') + texts.closing)
  for (let at = 0; at <= response.length; at++)
    expect(scan([response.subarray(0, at), response.subarray(at)])).toEqual(stamps)
  expect(scan([...response].map(byte => Buffer.from([byte])))).toEqual(stamps)
})

test('a stamp is one line of an event', () => {
  expect(stamps.map(stampLine).join('')).toMatch(/^(id: [^\n]+\n){3}$/)
})
