import { get } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../support/free-port.ts'
import { median, medianRatio, noteUnpinned, onFreshTarget, targetCore } from './support/child.ts'
import type { Bench, Figure } from './support/figure.ts'
import { rpcProfile, rpcScenario, runShipped } from './support/shipped.ts'

/** null: without --ui. */
const settings = [null, 0, 1, 10] as const

/** The lateness of the open driver with open live pages, relative to a run without them, in turn. */
export const benchUi: Bench = async ({ short }) => {
  const rate = short ? 200 : 1_000
  const rounds = short ? 1 : 5
  const seconds = short ? 4 : 20
  console.log(`\nLateness at ${rate} calls/s with open live pages, ${rounds} rounds of ${seconds} s in turn`)
  noteUnpinned()
  console.log('  pages      p50 ms   p99 ms   max ms   frames')
  const p99s = new Map<(typeof settings)[number], number[]>(settings.map(pages => [pages, []]))
  for (let round = 0; round < rounds; round++)
    for (const pages of settings) p99s.get(pages)?.push(await latenessWith(pages, rate, seconds))
  const none = p99s.get(null) ?? []
  return settings.flatMap((pages): readonly Figure[] => {
    const own = p99s.get(pages) ?? []
    if (pages === null) return [{ name: 'lateness p99 without --ui', value: median(own), unit: 'ms', aim: null }]
    const name = `lateness p99 with ${pages} open pages, relative to none`
    return [{ name, value: medianRatio(own, none), unit: '', aim: { kind: 'at-most', bound: 1.25 } }]
  })
}

/** The p99 in milliseconds. */
async function latenessWith(pages: number | null, rate: number, seconds: number): Promise<number> {
  const uiPort = await freePort()
  const readers = Array.from({ length: pages ?? 0 }, () => readPage(uiPort))
  const { report } = await onFreshTarget(
    port =>
      runShipped({
        scenario: rpcScenario(`shape: constant, rate: ${rate}/s`, seconds),
        profile: rpcProfile,
        port,
        flags: pages === null ? [] : ['--ui', String(uiPort)],
        verdicts: ['pass', 'inconclusive'],
      }),
    [],
    { core: targetCore },
  )
  const frames = (await Promise.all(readers)).reduce((sum, count) => sum + count, 0)
  if (frames < (pages ?? 0) * (seconds / 2)) throw new Error(`${pages} pages got only ${frames} frames`)
  const { p50, p99, max } = report.load.latenessMs
  const cells = [p50, p99, max].map(ms => (ms ?? Number.NaN).toFixed(2).padStart(9))
  console.log(
    `  ${(pages === null ? 'no --ui' : String(pages)).padEnd(8)}${cells.join('')}${String(frames).padStart(9)}`,
  )
  return p99 ?? Number.NaN
}

/** Reads the events of the live page as a browser would, once it is there. Resolves with their number. */
async function readPage(port: number): Promise<number> {
  for (let tries = 0; tries < 600; tries++) {
    const count = await eventsOf(port)
    if (count !== null) return count
    await pause(50)
  }
  throw new Error('the live page did not start')
}

/** null: nothing listens. */
const eventsOf = (port: number): Promise<number | null> =>
  new Promise(resolve => {
    let events = 0
    const request = get({ host: '127.0.0.1', port, path: '/events', agent: false }, response => {
      response.on('data', (bytes: Buffer) => {
        const text = bytes.toString('latin1')
        events += text.split('event: frame\n').length - 1
        // A page closes its connection as soon as it has the report.
        if (text.includes('event: report\n')) request.destroy()
      })
      response.on('close', () => resolve(events))
      response.on('error', () => {})
    })
    request.on('error', () => resolve(null))
  })
