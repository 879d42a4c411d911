import { request as httpRequest, type IncomingMessage } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { mergeSnapshots } from '../../../../src/judge/judge.ts'
import { mergeGauges } from '../../../../src/judge/metrics/gauges.ts'
import { createLivePage } from '../../../../src/outputs/live-page/live-page.ts'
import { pageScript } from '../../../../src/outputs/live-page/shell.ts'
import type { LiveRun } from '../../../../src/outputs/output.ts'
import { manualClock } from '../../../../src/prove/manual-clock.ts'
import { renderHtml } from '../../../../src/report/render/renderers.ts'
import { aPlan } from '../../judge/metrics/fixtures.ts'
import { passingReport } from '../../report/fixtures.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function shown(report: LiveRun['report'] = () => passingReport) {
  const clock = manualClock()
  let refreshes = 0
  const watched: boolean[] = []
  const live: LiveRun = {
    view: () => mergeSnapshots(aPlan(), []),
    gauges: () => mergeGauges([]),
    report,
    workers: () => [],
    machines: () => [],
    takeTraced: () => [],
    watch: isWatched => watched.push(isWatched),
    inFlight: () => 7,
    stage: () => '(opening)',
    loadStartMs: () => null,
    refresh: async () => {
      refreshes++
    },
  }
  const options = { host: '127.0.0.1', port: 0, token: null, end: () => {}, isEnding: () => false }
  const page = await createLivePage(aPlan(), { clock, ...options })
  closing.push(page.close)
  const watch = async () => {
    const sent = httpRequest({ host: '127.0.0.1', port: page.port, path: '/events', agent: false })
    const response = await new Promise<IncomingMessage>(resolve => sent.on('response', resolve).end())
    let text = ''
    let wake = () => {}
    response.on('data', bytes => {
      text += bytes
      wake()
    })
    response.on('error', () => {})
    const events = () => [...text.matchAll(/event: (\w+)\ndata: (.*)\n\n/g)].map(([, name, data]) => ({ name, data }))
    const has = async (count: number) => {
      while (events().length < count)
        await new Promise<void>(resolve => {
          wake = resolve
        })
      return events()
    }
    return { has, leave: () => sent.destroy() }
  }
  return { page, live, clock, watch, refreshes: () => refreshes, watched }
}

const quiet = new AbortController().signal

test('a run that nobody watches is not read', async () => {
  const { page, live, clock, refreshes, watched } = await shown()
  page.start(live)
  await clock.advanceTo(60_000)
  expect(refreshes()).toBe(0)
  expect(watched).not.toContain(true)
})

test('a run is read once per second for all of its pages, and no more after the last one is closed', async () => {
  const { page, live, clock, watch, refreshes, watched } = await shown()
  page.start(live)
  const [first, second] = [await watch(), await watch()]
  await first.has(1)
  for (let second = 1; second <= 3; second++) await clock.advanceTo(second * 1_000)
  expect(refreshes()).toBe(4)
  await second.has(2)
  first.leave()
  second.leave()
  // The server notices in its own time.
  for (let before = -1, ms = 4_000; before !== refreshes(); ms += 1_000) {
    before = refreshes()
    await new Promise(resolve => setImmediate(resolve))
    await clock.advanceTo(ms)
  }
  const reads = refreshes()
  await clock.advanceTo(clock.nowMs() + 60_000)
  expect(refreshes()).toBe(reads)
  expect([watched[1], watched.at(-1)]).toEqual([true, false])
})

test('a page that is open before the run starts gets its first frame at the start', async () => {
  const { page, live, watch } = await shown()
  const early = await watch()
  page.start(live)
  const [event] = await early.has(1)
  expect(event?.name).toBe('frame')
  expect(JSON.parse(event?.data ?? '')).toMatchObject({ title: `${passingReport.verdict} so far: fixture` })
})

test('the page becomes the same report as the file, and then the port is free', async () => {
  const { page, live, watch } = await shown()
  page.start(live)
  const open = await watch()
  await open.has(1)
  const done = page.finish(passingReport, quiet)
  const event = (await open.has(2)).at(-1)
  expect(event).toEqual({ name: 'report', data: JSON.stringify(renderHtml(passingReport)) })
  open.leave()
  await done
  await page.close()
})

test('a page that cannot be drawn says so, and the run goes on', async () => {
  const { page, live, watch } = await shown(() => {
    throw new Error('no figure')
  })
  page.start(live)
  const [event] = await (await watch()).has(1)
  expect(JSON.parse(event?.data ?? '').note).toContain('no figure')
})

test('without details the page asks for --ui', async () => {
  const { page, live, watch } = await shown(() => null)
  page.start({ ...live, workers: () => [{ worker: 1, name: 'a', isLost: false, stage: 's', inFlight: 0 }] })
  const [event] = await (await watch()).has(1)
  expect(JSON.parse(event?.data ?? '')).toMatchObject({ sections: [], note: expect.stringContaining('--ui') })
})

test('the script is one that a browser can parse, and cannot end its element', () => {
  expect(() => new Function(pageScript)).not.toThrow()
  expect(pageScript).not.toMatch(/<\/|<!--|https?:/)
})
