import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { runCli } from '../../../../src/cli/cli.ts'

let directory = ''
const [printed, shown]: [string[], string[]] = [[], []]
const { isTTY } = process.stderr
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-import-'))
  vi.spyOn(process.stdout, 'write').mockImplementation(text => printed.push(String(text)) > 0)
  vi.spyOn(process.stderr, 'write').mockImplementation(text => shown.push(String(text)) > 0)
})
afterEach(() => {
  for (const list of [printed, shown]) list.length = 0
  process.stderr.isTTY = isTTY
  vi.unstubAllEnvs()
})
afterAll(() => {
  vi.restoreAllMocks()
  rmSync(directory, { recursive: true })
})

/** Requests of one session, and a line that is none. */
function traffic(name: string): string {
  const line = (at: number) =>
    JSON.stringify({ timestamp: at * 50, input_length: 20, output_length: 2, session_id: 'me' })
  const file = join(directory, name)
  writeFileSync(file, `${Array.from({ length: 40 }, (_, at) => line(at)).join('\n')}\nnothing\n`)
  return file
}

test('says what it imported, and the scenario can be planned', async () => {
  const out = join(directory, 'first.yaml')
  expect(await runCli(['import', traffic('first.jsonl'), '--out', out, '--rate', '10/s', '--max-bad', '5%'])).toBe(0)
  expect(
    printed.join('').replaceAll(`${directory}/`, ''),
  ).toBe(`40 requests of 1 session in 1.95 s, repeated in 4 s at speed 0.4875.
800 prompt tokens, at most 80 completion tokens.
Bad lines: 1:
  first.jsonl:41: got a line that is not JSON, expected a JSON object

Written: first.yaml, first.trace.jsonl
Next: turnpike plan first.yaml
`)
  expect(shown).toEqual([])
  printed.length = 0
  expect(await runCli(['plan', out, '--format', 'json'])).toBe(0)
  expect(JSON.parse(printed.join(''))).toMatchObject({ forecast: { requests: 40, durationMs: 4_002.051282051282 } })
})

test('shows on a terminal how far it is', async () => {
  process.stderr.isTTY = true
  vi.stubEnv('CI', undefined)
  const out = join(directory, 'second.yaml')
  expect(await runCli(['import', traffic('second.jsonl'), '--out', out, '--max-bad', '5%'])).toBe(0)
  expect(shown.join('')).toMatch(/█{30} \S+ MB of \S+ MB, 0 requests, .+ left/)
  expect(shown.at(-1)).toBe('\r\u001b[2K')
})
