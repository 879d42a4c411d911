import { expect, test } from 'vitest'
import { todays } from '../support/nightly.ts'
import { type InTerminal, startInTerminal } from '../support/terminal.ts'
import { freshDirectory, serveForTest } from '../support/turnpike.ts'

/** One block, whole and once, at the bottom of the screen and nowhere else, even in what has scrolled off. */
function expectOneBlock({ screen }: InTerminal, columns: number): void {
  const lines = screen.lines()
  const names = ['long', 'stage', 'rate', 'latency', 'responses', 'spent', 'violations']
  const found = names.map(name => lines.filter(line => new RegExp(`^${name} +\\S`).test(line)))
  expect(
    found.map(({ length }) => length),
    lines.join('\n'),
  ).toEqual(names.map(() => 1))
  expect(lines.findIndex(line => line.startsWith('long '))).toBeGreaterThan(lines.length - 17)
  for (const line of lines) expect([...line].length).toBeLessThanOrEqual(columns)
}

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

test.for(todays([40, 80, 120], 3))(
  'in a terminal of %i columns, one block is redrawn, a violation stays above it, and nothing is left behind',
  async (columns, { onTestFinished }) => {
    const { target } = await serveForTest(['service', '--lie', 'failed-item-in-full'], onTestFinished)
    const size = { columns, rows: 30 }
    const run = startInTerminal(['run', 'test/e2e/long.yaml', '--target', target, '--out', freshDirectory()], size)
    onTestFinished(run.kill)
    await run.shown(/fail\S* {3}rpc\.batch\.error-price/)
    await pause(300)
    expectOneBlock(run, columns)
    const other = columns === 80 ? 50 : 80
    for (const next of [other, columns]) {
      await run.resize({ columns: next, rows: 30 })
      await pause(700)
      expectOneBlock(run, next)
    }
    run.interrupt()
    expect(await run.ended).toBe(130)
    const text = run.screen.lines().join('\n')
    expect(text.match(/fail {3}rpc\.batch\.error-price/g)).toHaveLength(1)
    expect(text).toMatch(/^FAIL {2}long$/m)
    expect(text).not.toMatch(/░| elapsed, |^in flight/m)
    expect(run.screen.cursorIsShown()).toBe(true)
  },
)

test.for([
  ['NO_COLOR', { NO_COLOR: '1' }, true],
  ['TERM=dumb', { TERM: 'dumb' }, false],
] as const)('with %s, nothing is colored', async ([, environment, isDrawn], { onTestFinished }) => {
  const args = ['run', 'test/e2e/short.yaml', '--out', freshDirectory()]
  const run = startInTerminal(args, { columns: 80, rows: 30 }, { environment })
  onTestFinished(run.kill)
  expect(await run.ended).toBe(0)
  expect(run.written().includes('█')).toBe(isDrawn)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the sequences that color text.
  expect(run.written()).not.toMatch(/\u001b\[\d+m/)
})
