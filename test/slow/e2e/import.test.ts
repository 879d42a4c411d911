import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freshDirectory, turnpike } from '../../support/turnpike.ts'

/** Less than the files have. A heap that grows with the file is used up, and the program crashes. */
const heap = { NODE_OPTIONS: '--max-old-space-size=64' }
const fileBytes = 100_000_000

/** Other words in each request after the ones that its group shares, so that its blocks are new. */
const said = (at: number): string =>
  `group ${at % 50} ${'lorem ipsum dolor '.repeat(200)}${Array.from({ length: 300 }, (_, word) => at * word).join(' ')}`

const documents = {
  mooncake: {
    ...{ start: '', separator: '\n', end: '\n' },
    request: (at: number) => ({
      ...{ timestamp: at, input_length: 15_360, output_length: 100 },
      hash_ids: Array.from({ length: 30 }, (_, block) => (block < 10 ? block : at * 30 + block)),
    }),
  },
  otlp: {
    ...{ start: '{"resourceSpans":[{"scopeSpans":[{"spans":[', separator: ',', end: ']}]}]}' },
    request: (at: number) => ({
      startTimeUnixNano: String(1_769_860_800_000 + at).padEnd(19, '0'),
      attributes: [
        { key: 'gen_ai.usage.input_tokens', value: { intValue: '1500' } },
        { key: 'gen_ai.usage.output_tokens', value: { intValue: '100' } },
        {
          key: 'gen_ai.input.messages',
          value: { stringValue: JSON.stringify([{ role: 'user', parts: [{ content: said(at) }] }]) },
        },
      ],
    }),
  },
  har: {
    ...{ start: '{"log":{"entries":[', separator: ',', end: ']}}' },
    request: (at: number) => ({
      startedDateTime: new Date(1_769_860_800_000 + at).toISOString(),
      request: {
        method: 'POST',
        postData: { text: JSON.stringify({ messages: [{ role: 'user', content: said(at) }], max_tokens: 100 }) },
      },
    }),
  },
} as const

type Document = (typeof documents)[keyof typeof documents]

function writeDocument(file: string, { start, separator, end, request }: Document): void {
  const descriptor = openSync(file, 'w')
  let text = start as string
  for (let at = 0, bytes = 0; bytes < fileBytes; at++) {
    text += `${at === 0 ? '' : separator}${JSON.stringify(request(at))}`
    if (text.length > 1_000_000) {
      bytes += writeSync(descriptor, text)
      text = ''
    }
  }
  writeSync(descriptor, text + end)
  closeSync(descriptor)
}

test.each(Object.entries(documents))('an import of %s needs less memory than its file', async (format, document) => {
  const directory = freshDirectory()
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'traffic.json')
  writeDocument(file, document)
  const out = join(directory, 'out.yaml')
  const imported = await turnpike(['import', file, '--out', out, '--format', 'json'], heap)
  expect(imported).toMatchObject({ code: 0, stderr: '' })
  const { requests, bad, ...others } = JSON.parse(imported.stdout) as Record<string, unknown>
  expect(others.format).toBe(format)
  expect(bad).toBe(0)
  expect(requests).toBeGreaterThan(5_000)
})
