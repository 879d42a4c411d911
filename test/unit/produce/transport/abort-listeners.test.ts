import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { createAbortListeners } from '../../../../src/produce/transport/abort-listeners.ts'

test('one listener serves all requests of a signal', () => {
  const watch = createAbortListeners()
  const { signal } = new AbortController()
  for (let i = 0; i < 100; i++) watch(signal, () => {})
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
})

test('an abort calls the remaining listeners, and none of another signal', () => {
  const watch = createAbortListeners()
  const [first, second] = [new AbortController(), new AbortController()]
  const called: string[] = []
  watch(first.signal, () => called.push('first'))
  watch(second.signal, () => called.push('second'))
  const unwatch = watch(first.signal, () => called.push('left'))
  unwatch()
  first.abort()
  expect(called).toEqual(['first'])
})

test('a listener that is removed during an abort affects no other', () => {
  const watch = createAbortListeners()
  const abort = new AbortController()
  const called: number[] = []
  const leave = [0, 1, 2].map(each => watch(abort.signal, () => called.push(each) && leave[each]?.()))
  abort.abort()
  expect(called).toEqual([0, 1, 2])
})

test('removing a listener twice does not remove a newer one', () => {
  const watch = createAbortListeners()
  const abort = new AbortController()
  const called: string[] = []
  const leave = watch(abort.signal, () => called.push('first'))
  leave()
  watch(abort.signal, () => called.push('second'))
  leave()
  abort.abort()
  expect(called).toEqual(['second'])
})
