import { basename } from 'node:path'
import { UsageError } from '../lib/usage-error.ts'
import { maxRecorded, type Recording, type TracePrompt } from '../plan/recorded-load.ts'
import { chunksOf, linesOf } from './text-source.ts'
import { parseTraceLine, type TraceRow } from './trace-row.ts'

export const tooManyRequests = (where: string, got: string, max = maxRecorded): UsageError =>
  new UsageError({
    where,
    got,
    expected: `at most ${max}, since a plan contains them all`,
    hint: 'turnpike import --sample keeps a part of them',
  })

/** What a trace is repeated with: the number of callers, and the chat calls of the scenario in order. */
export type TraceUse = {
  readonly callers: number
  readonly calls: readonly string[]
  readonly blockTokens: number
}

type Row = {
  readonly timeMs: number
  readonly call: string
  readonly caller: number
  readonly prompt: TracePrompt | null
}

/**
 * The arrivals of a trace for the stage `name`. Requests of one session have one caller; all others take turns. A request
 * without a call belongs to the first one. Throws a UsageError for a line that is not a request.
 */
export async function readTrace(name: string, file: string, use: TraceUse, max = maxRecorded): Promise<Recording> {
  const rows: Row[] = []
  const texts: string[] = []
  const sessions = new Map<string, number>()
  const [firstCall = ''] = use.calls
  for await (const batch of linesOf(file, chunksOf(file)))
    for (const { line, text } of batch) {
      const row = parseTraceLine(text)
      if ('mistake' in row)
        throw new UsageError({
          where: `${file}:${line}`,
          ...row.mistake,
          hint: 'turnpike import leaves such lines out, and counts them',
        })
      if (rows.length === max) throw tooManyRequests(`stage ${name}`, `more than ${max} requests in ${file}`, max)
      const session = row.session === null ? 0 : sessionNumber(row.session)
      rows.push({
        timeMs: row.timeMs,
        call: row.call ?? firstCall,
        caller: (session === 0 ? rows.length : session - 1) % use.callers,
        prompt: promptOf(row, session),
      })
    }
  rows.sort((a, b) => a.timeMs - b.timeMs)
  const startMs = rows[0]?.timeMs ?? 0
  const offsetMs = (index: number) => (rows[index]?.timeMs ?? 0) - startMs
  return {
    ...{ runId: basename(file), count: rows.length, offsetMs },
    durationMs: rows.length === 0 ? 0 : Math.floor(offsetMs(rows.length - 1)) + 1,
    call: index => rows[index]?.call ?? '',
    caller: index => rows[index]?.caller ?? 0,
    prompts: { blockTokens: use.blockTokens, at: index => rows[index]?.prompt ?? null, texts },
  }

  function sessionNumber(session: string): number {
    const known = sessions.get(session) ?? sessions.size + 1
    sessions.set(session, known)
    return known
  }

  function promptOf({ lengths, hashIds: blocks, cached, text }: TraceRow, session: number): TracePrompt | null {
    if (lengths === null) return null
    if (text !== null) texts.push(text)
    return {
      ...{ promptTokens: lengths.input, maxCompletionTokens: lengths.output, session, blocks },
      sharedTokens: Math.min(cached, lengths.input),
      text: text === null ? 0 : texts.length,
    }
  }
}
