import { expect, test } from 'vitest'
import { isDecimal, isWholeNumber, numberIn } from '../../../src/lib/numbers.ts'
import { randomStream } from '../../../src/lib/random.ts'

const texts = [
  '0',
  '20',
  '007',
  '0.5',
  '12.30',
  '',
  '.',
  '.5',
  '5.',
  '1.2.3',
  '-1',
  '+1',
  '1e3',
  ' 1',
  '1 ',
  '٣',
  '1,5',
]

test.each(texts)('agrees with the pattern for %j', text => {
  expect(isWholeNumber(text)).toBe(/^\d+$/.test(text))
  expect(isDecimal(text)).toBe(/^\d+(\.\d+)?$/.test(text))
})

test('agrees with the pattern for random digits and points', () => {
  const random = randomStream(1, 'number-text')
  for (let round = 0; round < 5_000; round++) {
    const text = Array.from({ length: random.int(7) }, () => '059..-'[random.int(6)]).join('')
    expect([text, isWholeNumber(text)]).toEqual([text, /^\d+$/.test(text)])
    expect([text, isDecimal(text)]).toEqual([text, /^\d+(\.\d+)?$/.test(text)])
  }
})

test('a header value may be a number in quotes', () => {
  expect(['75', '75.0', '"75"', '7.5e+01', '75E0'].map(numberIn)).toEqual([75, 75, 75, 75, 75])
  expect([undefined, '', '"', '""', '75/min', '-1', "'75'", 'e1', '7e', '1e999'].map(numberIn)).toEqual(
    Array(10).fill(null),
  )
})
