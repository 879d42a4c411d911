import { Pool } from 'undici'
import { bareRequest } from '../support/bare-request.ts'

/**
 * A bare open load: a loop that polls for due arrivals, and undici. It sends the same calls as Turnpike, judges and
 * records nothing, and warms up for a second. Arguments: port, calls per second, seconds. Sends the percentiles of its
 * lateness by IPC, in milliseconds.
 */
const [port, perSecond = 0, seconds = 0] = process.argv.slice(2).map(Number)
const warmUpCalls = perSecond
const total = warmUpCalls + perSecond * seconds
/** A timer of Node.js may be late by more than a millisecond, so the loop polls once an arrival is this near. */
const coarseMs = 2
const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 4096, pipelining: 1 })
const lateness = new Float64Array(total)
const startMs = performance.now() + 100
let sent = 0
let answered = 0
let failed = 0

const handler = {
  onRequestStart: () => {},
  onResponseStart: () => {},
  onResponseData: () => {},
  onResponseEnd: () => {
    answered++
    endIfDone()
  },
  onResponseError: () => {
    failed++
    endIfDone()
  },
}

function sendDue(): void {
  for (let dueMs = dueOf(sent); sent < total && dueMs <= performance.now(); dueMs = dueOf(sent)) {
    lateness[sent++] = performance.now() - dueMs
    pool.dispatch(bareRequest, handler)
  }
  if (sent === total) return
  if (dueOf(sent) - performance.now() > coarseMs) setTimeout(sendDue, 1)
  else setImmediate(sendDue)
}

function dueOf(call: number): number {
  return startMs + (call * 1_000) / perSecond
}

function endIfDone(): void {
  if (answered + failed < total) return
  const sorted = lateness.slice(warmUpCalls).sort()
  const quantile = (q: number) => sorted[Math.ceil(q * sorted.length) - 1]
  process.send?.({ p50: quantile(0.5), p99: quantile(0.99), p999: quantile(0.999), max: sorted.at(-1), failed })
}

process.once('disconnect', () => process.exit())
sendDue()
