import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { documentedContract } from '../../../src/contract/documented.ts'
import { randomStream } from '../../../src/lib/random.ts'
import { UsageError } from '../../../src/lib/usage-error.ts'
import { loadScenario, parseScenario } from '../../../src/scenario/load-scenario.ts'
import { validScenario } from './valid-scenario.ts'

/** The messages for a text, by line; none for a valid scenario. */
function mistakesOf(text: string): readonly string[] {
  return messagesOf(() => parseScenario(text, 's.yaml', documentedContract))
}

function messagesOf(load: () => unknown): readonly string[] {
  try {
    load()
    return []
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause
    return cause.message.split('\n')
  }
}

/** The cases of mistakes.txt. Its first line describes the format. */
const cases = readFileSync(new URL('mistakes.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n\n')
  .slice(1)
  .map(block => {
    const [what = '', ...lines] = block.split('\n')
    const marked = (mark: string) => lines.filter(line => line.startsWith(mark)).map(line => line.slice(2))
    return { what, from: marked('-').join('\n'), to: marked('+').join('\n'), text: marked('!') }
  })

test('the scenario of all cases is valid', () => {
  expect(mistakesOf(validScenario)).toEqual([])
})

test.each(cases)('reports $what with its position', ({ from, to, text }) => {
  expect(validScenario).toContain(from)
  expect(text).not.toEqual([])
  expect(mistakesOf(validScenario.replace(from, to))).toEqual(text)
})

test('no message contains the value of a secret key', () => {
  const secrets = cases.filter(({ to }) => to.includes('sk-very-secret'))
  expect(secrets.length).toBeGreaterThan(2)
  for (const { text } of secrets) expect(text.join('\n')).not.toContain('very-secret')
})

test('all mistakes of a file are reported together, in order of lines', () => {
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

test('a mistake in one field of a call does not hide mistakes in others', () => {
  const text = validScenario.replace('model-tier: S, prompt-tokens: 200', 'model: nope, prompt-tokens: many')
  expect(mistakesOf(text)).toHaveLength(2)
})

test('a call with a mistake is not reported as unknown', () => {
  expect(mistakesOf(validScenario.replace('kind: rpc-batch', 'kind: rpc-btach'))).toEqual([
    's.yaml:5:16: got "rpc-btach", expected chat, conversation, rpc, rpc-batch, replay, twin, models, networks, rate-limits, rate-limit-logs, resource, top-up, wallet-balance or probe; did you mean "rpc-batch"?',
  ])
})

test('a mistake that aliases repeat is reported once, at its anchor', () => {
  const text = validScenario
    .replace('mix: { chat: 3, rpc: 5, replay: 1 }', 'mix: &usual { chat: 3, caht: 5 }')
    .replace(
      '  - { name: probes',
      '  - { name: more, duration: 1s, shape: closed, users: 1, mix: *usual }\n  - { name: probes',
    )
  expect(mistakesOf(text).map(line => line.split(' got')[0])).toEqual(['s.yaml:11:94:'])
})

test('a mistake in a quoted threshold has its own column; in a folded one, the column of its start', () => {
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
  ['a word', 'word', 's.yaml:1:1: got a text, expected a mapping'],
])('%s is not a scenario', (_, text, line) => {
  expect(mistakesOf(text)).toEqual([line])
})

test('an alias bomb is refused without expanding it', () => {
  const bomb = Array.from(
    { length: 12 },
    (_, i) => `k${i}: &a${i} [${`${i === 0 ? '1' : `*a${i - 1}`},`.repeat(9)}]`,
  ).join('\n')
  expect(mistakesOf(bomb)).toEqual([
    's.yaml:2:10: got invalid YAML, expected a scenario; its aliases expand to more than 50000 nodes',
  ])
})

test('a mapping that contains itself is refused', () => {
  expect(mistakesOf(`${validScenario}bounds: &self { timeouts: *self }\n`)).toHaveLength(1)
})

test('unclosed brackets are a mistake of the file, not a crash', () => {
  const lines = mistakesOf(`name: ${'['.repeat(20_000)}`)
  expect(lines.length).toBeLessThanOrEqual(5)
  expect(lines[0]).toMatch(/^s.yaml:1:\d+: got invalid YAML, expected a scenario; it is nested too deeply$/)
})

test('an unreadable file is reported by name', () => {
  const file = '/nonexistent/scenario.yaml'
  expect(messagesOf(() => loadScenario(file, documentedContract))).toEqual([
    `${file}: got no such file, expected a readable scenario file (YAML)`,
  ])
  expect(messagesOf(() => loadScenario('/', documentedContract))[0]).toMatch(/^\/: got a directory/)
})

test('a text of more than 1 MiB is refused', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'turnpike-test-')), 's.yaml')
  writeFileSync(file, `#${'x'.repeat(1_048_576)}`)
  expect(messagesOf(() => loadScenario(file, documentedContract))).toEqual([
    `${file}: got 1048577 bytes, more than 1048576, expected a readable scenario file (YAML)`,
  ])
})

test('a mangled scenario yields only messages with positions, in order', () => {
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
