import { expect, test } from 'vitest'
import { inSpareTime } from '../../../src/lib/spare-time.ts'

test('work comes behind what this turn of the event loop still brings', async () => {
  const order: string[] = []
  await new Promise<void>(resolve => {
    inSpareTime(() => {
      order.push('work')
      resolve()
    })
    setImmediate(() => order.push('sent in the same turn'))
  })
  expect(order).toEqual(['sent in the same turn', 'work'])
})

test('the time that it has comes to an end', async () => {
  const spentMs = await new Promise<number>(resolve => {
    inSpareTime(hasTime => {
      const beganMs = performance.now()
      while (hasTime());
      resolve(performance.now() - beganMs)
    })
  })
  expect(spentMs).toBeGreaterThan(0)
})
