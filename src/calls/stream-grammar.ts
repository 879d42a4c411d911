import { maxGrammarRuns, type StreamPart, type StreamRecord } from '../observation/observation.ts'

/** The parts that one chunk can have, in the order in which they are listed. A chunk's parts are a set of bits. */
const chunkParts: readonly StreamPart[] = [
  ...(['results', 'role', 'reasoning', 'content', 'tool-call', 'finish', 'usage', 'error'] as const),
]
export const [RESULTS, ROLE, REASONING, CONTENT, TOOL_CALL, FINISH, USAGE, ERROR] = [
  ...([1, 2, 4, 8, 16, 32, 64, 128] as const),
] as const
export const TOKEN = REASONING | CONTENT | TOOL_CALL

export type StreamGrammar = {
  readonly note: (part: StreamPart) => void
  /** Notes a chunk by the set of its parts. */
  readonly noteChunk: (parts: number) => void
  readonly runs: StreamRecord['grammar']
}

/** What the events of a stream were, in order, as runs. Runs beyond the last that is kept are counted no more. */
export function createStreamGrammar(): StreamGrammar {
  const runs: [StreamPart, number][] = []
  let lastRun: [StreamPart, number] | null = null

  const note = (part: StreamPart): void => {
    if (lastRun !== null && lastRun[0] === part) {
      lastRun[1]++
      return
    }
    lastRun = [part, 1]
    if (runs.length < maxGrammarRuns) runs.push(lastRun)
  }

  const noteChunk = (parts: number): void => {
    if (parts === 0) note('empty')
    for (let rest = parts; rest !== 0; rest &= rest - 1) {
      const part = chunkParts[31 - Math.clz32(rest & -rest)]
      if (part !== undefined) note(part)
    }
  }

  return { note, noteChunk, runs }
}
