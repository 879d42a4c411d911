import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { documented } from '../../../src/contract/documented.ts'
import { randomStream } from '../../../src/lib/random.ts'
import { UsageError } from '../../../src/lib/usage-error.ts'
import { loadScenario, parseScenario } from '../../../src/scenario/load-scenario.ts'
import { validScenario } from './valid-scenario.ts'

/** What is said of a text, line by line; nothing of a scenario without a mistake. */
function mistakesOf(text: string): readonly string[] {
  return said(() => parseScenario(text, 's.yaml', documented))
}

function said(load: () => unknown): readonly string[] {
  try {
    load()
    return []
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause
    return cause.message.split('\n')
  }
}

/** The cases of mistakes.txt, which explains itself. */
const cases = readFileSync(new URL('mistakes.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n\n')
  .slice(1)
  .map(block => {
    const [what = '', ...lines] = block.split('\n')
    const marked = (mark: string) => lines.filter(line => line.startsWith(mark)).map(line => line.slice(2))
    return { what, from: marked('-').join('\n'), to: marked('+').join('\n'), text: marked('!') }
  })

test('the scenario that the cases start from has no mistake', () => {
  expect(mistakesOf(validScenario)).toEqual([])
})

test.each(cases)('$what is told in one line, with its place', ({ from, to, text }) => {
  expect(validScenario).toContain(from)
  expect(text).not.toEqual([])
  expect(mistakesOf(validScenario.replace(from, to))).toEqual(text)
})

test('what stands behind a secret key is never said', () => {
  const secrets = cases.filter(({ to }) => to.includes('sk-very-secret'))
  expect(secrets.length).toBeGreaterThan(2)
  for (const { text } of secrets) expect(text.join('\n')).not.toContain('very-secret')
})

test('all mistakes of a file are told at once, in the order of their lines', () => {
  const text = validScenario
    .replace('why: A reason.', 'why: ""')
    .replace('rpc: 5', 'rcp: 5')
    .replace('count: 2', 'cuont: 2')
    .replace('eth_call', 'eth_cal')
    .replace('20s', '20')
  expect(mistakesOf(text).map(line => line.split(': ')[0])).toEqual([
    's.yaml:2:12',
    's.yaml:5:65',
    's.yaml:11:31',
    's.yaml:11:86',
    's.yaml:16:50',
  ])
})

test('a mistake in one field of a call does not hide those in the others', () => {
  const text = validScenario.replace('model-tier: S, prompt-tokens: 200', 'model: nope, prompt-tokens: many')
  expect(mistakesOf(text)).toHaveLength(2)
})

test('a call with a mistake is no unknown call to those who name it', () => {
  expect(mistakesOf(validScenario.replace('kind: rpc-batch', 'kind: rpc-btach'))).toEqual([
    's.yaml:5:16: got "rpc-btach", expected chat, rpc, rpc-batch, replay, models, networks, rate-limits, rate-limit-logs, resource or probe; did you mean "rpc-batch"?',
  ])
})

test('a mistake behind an anchor is told once, where it is, however many aliases repeat it', () => {
  const text = validScenario
    .replace('mix: { chat: 3, rpc: 5, replay: 1 }', 'mix: &usual { chat: 3, caht: 5 }')
    .replace(
      '  - { name: probes',
      '  - { name: more, duration: 1s, shape: closed, users: 1, mix: *usual }\n  - { name: probes',
    )
  expect(mistakesOf(text).map(line => line.split(' got')[0])).toEqual(['s.yaml:11:94:'])
})

test('the column of a threshold in quotes is inside the quotes, and of a folded one at its start', () => {
  expect(mistakesOf(validScenario.replace('"p(95) ttft of chat < 400ms"', "'faild == 0'"))[0]).toMatch(
    /^s.yaml:16:16: /,
  )
  const folded = validScenario.replace(
    '{ expect: "p(95) ttft of chat < 400ms", why: A reason. }',
    'expect: >-\n      failed\n      = 0\n    why: A reason.',
  )
  expect(mistakesOf(folded)[0]).toMatch(/^s.yaml:16:13: got "="/)
})

test.each([
  ['an empty file', '', 's.yaml:1:1: got an empty file, expected a scenario'],
  ['a file of comments', '# nothing\n', 's.yaml:1:1: got an empty file, expected a scenario'],
  ['a list', '- 1', 's.yaml:1:1: got a list, expected a mapping'],
  ['a word', 'word', 's.yaml:1:1: got "word", expected a mapping'],
])('%s is no scenario', (_, text, line) => {
  expect(mistakesOf(text)).toEqual([line])
})

test('an alias bomb is refused and not unfolded', () => {
  const bomb = Array.from(
    { length: 12 },
    (_, i) => `k${i}: &a${i} [${`${i === 0 ? '1' : `*a${i - 1}`},`.repeat(9)}]`,
  ).join('\n')
  expect(mistakesOf(bomb)).toEqual([
    's.yaml:2:10: got invalid YAML, expected a scenario; its aliases stand for more than 100 nodes',
  ])
})

test('a mapping that contains itself is refused', () => {
  expect(mistakesOf(`${validScenario}bounds: &self { timeouts: *self }\n`)).toHaveLength(1)
})

test('brackets without an end are a mistake of the file and not a fault of the program', () => {
  const lines = mistakesOf(`name: ${'['.repeat(20_000)}`)
  expect(lines.length).toBeLessThanOrEqual(5)
  expect(lines[0]).toMatch(/^s.yaml:1:\d+: got invalid YAML, expected a scenario; it is nested too deeply$/)
})

test('a file that cannot be read is told by its name', () => {
  const file = '/nonexistent/scenario.yaml'
  expect(said(() => loadScenario(file, documented))).toEqual([
    `${file}: got ENOENT: no such file or directory, stat '${file}', expected a readable scenario file (YAML)`,
  ])
  expect(said(() => loadScenario('/', documented))[0]).toMatch(/^\/: got EISDIR/)
})

test('a text of more than a mebibyte is refused', () => {
  expect(mistakesOf(`#${'x'.repeat(1_048_576)}`)).toEqual(['s.yaml: got 1048577 bytes, expected at most 1048576'])
})

test('however a scenario is mangled, what is said of it is lines with a place, in order', () => {
  const random = randomStream(1, 'mangle')
  const strange = [
    '',
    '[]',
    '{}',
    '~',
    '"',
    '*x',
    '&x',
    ': ',
    '\n',
    '\t',
    '#',
    '|',
    '- ',
    '? ',
    '<<',
    '1e400',
    'toString',
    '\0',
  ]
  for (let round = 0; round < 300; round++) {
    let text = validScenario
    for (let change = random.int(3); change >= 0; change--) {
      const start = random.int(text.length)
      text = text.slice(0, start) + strange[random.int(strange.length)] + text.slice(start + random.int(12))
    }
    const places = mistakesOf(text).map(line => /^s\.yaml:(\d+):(\d+): got .+, expected .+$/.exec(line))
    expect(places, text).not.toContain(null)
    const order = places.map(place => Number(place?.[1]) * 10_000 + Number(place?.[2]))
    expect(order, text).toEqual([...order].sort((a, b) => a - b))
  }
})
