import { azure, burstGpt } from './csv.ts'
import { har } from './har.ts'
import { otlp } from './otlp.ts'
import { ownRun } from './own-run.ts'
import { chunksOf, linesOf } from './text-source.ts'
import { type BadRow, parseTraceLine, type TraceRow, type TrafficFormat, type TrafficItem } from './trace-row.ts'

const mooncake: TrafficFormat = {
  title: 'a Mooncake trace',
  matches: head =>
    /^\s*\{(?![^\n]*"(?:resourceSpans|scopeSpans|log)"\s*:)[^\n]*"(?:input_length|hash_ids|timestamp)"\s*:/.test(head),
  blockTokens: 512,
  read: async function* (file, { keepsText, onBytes }) {
    for await (const batch of linesOf(file, chunksOf(file, onBytes)))
      yield batch.map(({ line, text }) => itemOf(line, parseTraceLine(text), keepsText))
  },
}

function itemOf(line: number, row: TraceRow | BadRow, keepsText: boolean): TrafficItem {
  if ('mistake' in row) return { line, mistake: row.mistake }
  return { line, row: keepsText || row.text === null ? row : { ...row, text: null }, model: null }
}

/** By the name that `--from` takes. */
export const formats = { mooncake, otlp, har, azure, burstgpt: burstGpt, run: ownRun } as const satisfies Readonly<
  Record<string, TrafficFormat>
>

export type FormatName = keyof typeof formats
export const formatNames = Object.keys(formats) as readonly FormatName[]

/** The format of a file that begins like this; null: none. */
export const formatOf = (head: string): FormatName | null =>
  formatNames.find(name => formats[name].matches(head.replace(/^\uFEFF/, ''))) ?? null
