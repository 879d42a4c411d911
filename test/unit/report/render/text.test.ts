import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { renderers } from '../../../../src/report/render/renderers.ts'
import { failingReport, passingReport } from '../fixtures.ts'

const golden = (name: string) => `../../../golden/${name}`
const page = { columns: 100, color: false, directory: 'runs/20260102-030405-replay' }

test('text: a failed run shows the verdict first, then its reasons, then the details', async () => {
  await expect(renderers.text(failingReport, page)).toMatchFileSnapshot(golden('report-fail.txt'))
})

test('text: the report of a passed run is short', async () => {
  await expect(renderers.text(passingReport, { ...page, directory: null })).toMatchFileSnapshot(
    golden('report-pass.txt'),
  )
})

test('text: a threshold that is met says what its number rests on', () => {
  const [met] = passingReport.thresholds
  if (met === undefined) throw new Error('the report has no threshold')
  const basis = 'n = 60, of which 7 got 500'
  const thresholds = [{ ...met, basis }]
  expect(renderers.text({ ...passingReport, thresholds }, { ...page, directory: null })).toContain(`    ${basis}\n`)
})

test('json: parsing gives the same report', async () => {
  const text = renderers.json(passingReport)
  expect(JSON.parse(text)).toEqual(passingReport)
  expect(text.endsWith('}\n')).toBe(true)
})

test.each([40, 72, 100, 160])('text: no line is wider than %i columns, except commands', columns => {
  const lines = renderers.text(failingReport, { ...page, columns, directory: null }).split('\n')
  const laidOut = lines.filter(line => !line.startsWith('    $ '))
  expect(laidOut.length).toBeLessThan(lines.length)
  for (const line of laidOut) expect(line.length, line).toBeLessThanOrEqual(columns)
})

test('text: color is optional, and changes nothing but the color', () => {
  const plain = renderers.text(failingReport, page)
  const colored = renderers.text(failingReport, { ...page, color: true })
  expect(colored).toContain('\u001b[31mFAIL\u001b[39m')
  expect(stripVTControlCharacters(colored)).toBe(plain)
  expect(plain).not.toContain('\u001b')
})

test.each([failingReport, passingReport])('text: no color says what the words do not', report => {
  const painted = renderers
    .text(report, { ...page, color: true })
    .split('\u001b[')
    .map(part => ({ color: part.slice(0, 3), words: part.slice(3) }))
    .filter(({ color }) => ['31m', '32m', '33m'].includes(color))
  expect(painted.length).toBeGreaterThan(0)
  for (const { color, words } of painted) {
    // A number counts what its heading names, such as unexpected 429s, and is painted unless it is zero.
    expect(words).toMatch(/[a-z]|^[1-9]/i)
    expect(painted.filter(each => each.words === words && each.color !== color)).toEqual([])
  }
})

test('text: text of the target cannot control the terminal', () => {
  const [finding] = failingReport.findings
  if (finding === undefined) throw new Error('the fixture has a finding')
  const hostile = { ...failingReport, findings: [{ ...finding, message: 'got \u001b[2J\u202Egnp\r\n' }] }
  expect(renderers.text(hostile, page)).toContain('observed    got \\x1b[2J\\u202egnp')
})

test('text: all probes together take two lines', () => {
  const [first] = failingReport.calls
  if (first === undefined) throw new Error('the report has no calls')
  const probe = (call: string, status: string) => ({
    ...first,
    ...{ call, stage: null, count: 1, statuses: { [status]: 1 }, failed: 0, dropped: 0, goodRatio: null },
  })
  const calls = [...failingReport.calls, probe('one', '400'), probe('two', '415'), probe('three', '400')]
  const lines = renderers.text({ ...failingReport, calls }, { ...page, directory: null }).split('\n')
  const at = lines.findIndex(line => /^ {2}3 probes +3$/.test(line))
  expect(at).toBeGreaterThan(0)
  expect(lines[at + 1]).toBe('    400 × 2, 415 × 1')
  expect(lines.filter(line => /^ {2}(one|two|three)\b/.test(line))).toEqual([])
})
