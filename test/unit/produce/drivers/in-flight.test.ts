import { describe, expect, test } from 'vitest'
import { createInFlight } from '../../../../src/produce/drivers/driver.ts'

const promised = () => {
  let resolve = () => {}
  let reject = (_: unknown) => {}
  const work = new Promise<void>((onDone, onFault) => {
    resolve = onDone
    reject = onFault
  })
  return { work, resolve, reject }
}

const settled = () => new Promise(resolve => setImmediate(resolve))

describe('work in flight', () => {
  test('increases when work is tracked and decreases when it has ended', async () => {
    const inFlight = createInFlight()
    const [first, second] = [promised(), promised()]
    inFlight.track(first.work)
    inFlight.track(second.work)
    expect(inFlight.count()).toBe(2)
    first.resolve()
    await settled()
    expect(inFlight.count()).toBe(1)
  })

  test('is idle at the start', async () => {
    await expect(createInFlight().idle()).resolves.toBeUndefined()
  })

  test('is idle when the last work has ended, and resolves all waiting promises', async () => {
    const inFlight = createInFlight()
    const [first, second] = [promised(), promised()]
    inFlight.track(first.work)
    inFlight.track(second.work)
    const resolved: string[] = []
    for (const name of ['a', 'b']) void inFlight.idle().then(() => resolved.push(name))
    first.resolve()
    await settled()
    expect(resolved).toEqual([])
    second.resolve()
    await settled()
    expect(resolved).toEqual(['a', 'b'])
  })

  test('can become busy and idle again', async () => {
    const inFlight = createInFlight()
    for (let round = 0; round < 3; round++) {
      const { work, resolve } = promised()
      inFlight.track(work)
      const idle = inFlight.idle()
      resolve()
      await idle
    }
    expect(inFlight.count()).toBe(0)
  })
})

describe('a bug in tracked work', () => {
  test('is thrown by idle', async () => {
    const inFlight = createInFlight()
    const { work, reject } = promised()
    inFlight.track(work)
    reject(new RangeError('no caller at 9'))
    await expect(inFlight.idle()).rejects.toThrow('no caller at 9')
  })

  test('is thrown by the next track, whose work is still counted', async () => {
    const inFlight = createInFlight()
    const { work, reject } = promised()
    inFlight.track(work)
    reject(new RangeError('no caller at 9'))
    await settled()
    expect(() => inFlight.track(Promise.resolve())).toThrow('no caller at 9')
    expect(inFlight.count()).toBe(1)
  })

  test('is the first one if there are several', async () => {
    const inFlight = createInFlight()
    inFlight.track(Promise.reject(new Error('first')))
    inFlight.track(Promise.reject(new Error('second')))
    await expect(inFlight.idle()).rejects.toThrow('first')
  })
})
