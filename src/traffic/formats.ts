import type { JsonObject } from '../lib/json.ts'
import { azure, burstGpt } from './csv.ts'
import { har } from './har.ts'
import { otlp, spans } from './otlp.ts'
import { ownRun } from './own-run.ts'
import { chunksOf, linesOf } from './text-source.ts'
import { type BadRow, parseTraceLine, type TraceRow, type TrafficFormat, type TrafficItem } from './trace-row.ts'

const mooncake: TrafficFormat = {
  title: 'a Mooncake trace',
  matches: head => /^\s*\{[^\n]*"(?:input_length|hash_ids|timestamp)"\s*:/.test(head),
  blockTokens: 512,
  read: async function* (file, { keepsText, onBytes }) {
    for await (const batch of linesOf(file, chunksOf(file, onBytes)))
      yield batch.map(({ line, text }) => itemOf(line, parseTraceLine(text), keepsText))
  },
}

/** Lines as of Mooncake, with times in seconds. A chat that goes on names the one before it; -1: it is the first. */
const bailian: TrafficFormat = {
  title: 'a Qwen-Bailian trace',
  matches: head => /^\s*\{[^\n]*"parent_chat_id"\s*:/.test(head),
  blockTokens: 16,
  read: async function* (file, { keepsText, onBytes }) {
    const firstOf = new Map<unknown, unknown>()
    const asMooncake = (line: JsonObject): JsonObject => {
      const { chat_id: chat, parent_chat_id: parent = -1, timestamp } = line
      const first = parent === -1 ? chat : (firstOf.get(parent) ?? parent)
      firstOf.set(chat, first)
      return { ...line, session_id: first, timestamp: typeof timestamp === 'number' ? timestamp * 1_000 : timestamp }
    }
    for await (const batch of linesOf(file, chunksOf(file, onBytes)))
      yield batch.map(({ line, text }) => itemOf(line, parseTraceLine(text, asMooncake), keepsText))
  },
}

function itemOf(line: number, row: TraceRow | BadRow, keepsText: boolean): TrafficItem {
  if ('mistake' in row) return { line, mistake: row.mistake }
  return { line, row: keepsText || row.text === null ? row : { ...row, text: null }, model: null }
}

/** By the name that `--from` takes. The format of a file is the first that matches, so the one with the fewest marks is last. */
export const formats = {
  bailian,
  otlp,
  spans,
  har,
  azure,
  burstgpt: burstGpt,
  mooncake,
  run: ownRun,
} as const satisfies Readonly<Record<string, TrafficFormat>>

export type FormatName = keyof typeof formats
export const formatNames = Object.keys(formats) as readonly FormatName[]

/** The format of a file that begins like this; null: none. */
export const formatOf = (head: string): FormatName | null =>
  formatNames.find(name => formats[name].matches(head.replace(/^\uFEFF/, ''))) ?? null
