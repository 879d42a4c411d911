import { expect, test } from 'vitest'
import { createEnding } from '../../../src/drivers/ending.ts'

const made = () => {
  const [stop, quit] = [new AbortController(), new AbortController()]
  return { stop, quit, ending: createEnding(stop.signal, quit.signal) }
}

test('a run that nobody ends is complete', () => {
  const { ending } = made()
  expect([ending.why(), ending.halted.aborted, ending.abandoned.aborted]).toEqual(['complete', false, false])
})

test('to stop halts, and leaves what is under way', () => {
  const { ending, stop } = made()
  stop.abort()
  expect([ending.why(), ending.halted.aborted, ending.abandoned.aborted]).toEqual(['interrupted', true, false])
})

test('to quit abandons what is under way, also without a stop before it', () => {
  const { ending, quit } = made()
  quit.abort()
  expect([ending.why(), ending.halted.aborted, ending.abandoned.aborted]).toEqual(['interrupted', true, true])
})

test('the first reason stands', () => {
  const { ending, stop } = made()
  ending.halt('budget-reached')
  stop.abort()
  ending.halt('target-unreachable')
  expect(ending.why()).toBe('budget-reached')
})

test('to abandon is no reason: a drain that took too long leaves a run complete', () => {
  const { ending } = made()
  ending.abandon()
  expect([ending.why(), ending.halted.aborted, ending.abandoned.aborted]).toEqual(['complete', true, true])
})

test('a signal that was given before counts', () => {
  const stop = AbortSignal.abort()
  expect(createEnding(stop, new AbortController().signal).halted.aborted).toBe(true)
})

test('hundreds may wait for it, and Node does not warn of a leak', async () => {
  const warnings: string[] = []
  const listen = ({ name }: Error) => warnings.push(name)
  process.on('warning', listen)
  const { ending } = made()
  for (let waiter = 0; waiter < 200; waiter++) ending.halted.addEventListener('abort', () => {})
  await new Promise(setImmediate)
  process.off('warning', listen)
  expect(warnings).toEqual([])
})

test('a worker who is lost is the reason, whatever had ended the run before', () => {
  const never = new AbortController().signal
  const ending = createEnding(never, never)
  ending.halt('interrupted')
  ending.halt('worker-lost')
  ending.halt('budget-reached')
  expect(ending.why()).toBe('worker-lost')
})
