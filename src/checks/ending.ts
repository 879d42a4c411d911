import { quote } from '../lib/format.ts'
import type { Expect } from './check.ts'

type OfEnding = 'chat.choice.stop-reason' | 'chat.choice.tool-calls'

const stopReasons: readonly unknown[] = ['stop', 'length']

/** How a choice ended, as it is said twice. Null where it is not said: a stop reason need not be. */
export function checkStopReason(stop: unknown, finish: unknown, expect: Expect<OfEnding>): void {
  if (stop === undefined) return
  const isKnown = stop === null || stopReasons.includes(stop)
  const isContradicted = stop !== null && stopReasons.includes(finish) && stop !== finish
  expect('chat.choice.stop-reason', isKnown && !isContradicted, () => {
    const expected = isKnown ? `${quote(finish)} as finish_reason has it` : 'null, stop or length'
    return `stop_reason is ${quote(stop)}, expected ${expected}`
  })
}

export function checkToolCalls(finish: unknown, calls: number, expect: Expect<OfEnding>): void {
  if (finish !== 'tool_calls') return
  expect('chat.choice.tool-calls', calls > 0, () => 'finish_reason is "tool_calls" without any, expected one')
}
