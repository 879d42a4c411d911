import { describeValue } from '../lib/usage-error.ts'
import { chunksOf, linesOf } from './text-source.ts'
import { emptyRow, lengthsOf, parseDate, type TraceRow, type TrafficFormat, type TrafficItem } from './trace-row.ts'

/** How the columns of a file are read. */
type Columns = {
  readonly time: string
  readonly input: string
  readonly output: string
  readonly session: string | null
  readonly model: string | null
  readonly parseTime: (written: string) => number | null
  readonly timeText: string
}

const csv = (title: string, columns: Columns): TrafficFormat => ({
  title,
  matches: head => {
    const names = cells(head.split('\n', 1)[0] ?? '').map(name => name.toLowerCase())
    return [columns.time, columns.input, columns.output].every(name => names.includes(name.toLowerCase()))
  },
  blockTokens: 512,
  read: async function* (file, { onBytes }) {
    let positions: Positions | null = null
    for await (const batch of linesOf(file, chunksOf(file, onBytes))) {
      const items: TrafficItem[] = []
      for (const { line, text } of batch) {
        if (positions === null) positions = positionsIn(text, columns)
        else items.push(itemOf(line, cells(text), positions, columns))
      }
      yield items
    }
  },
})

type Positions = Readonly<Record<'time' | 'input' | 'output' | 'session' | 'model', number>>

function positionsIn(header: string, columns: Columns): Positions {
  const names = cells(header.replace(/^\uFEFF/, '')).map(name => name.toLowerCase())
  const at = (name: string | null) => (name === null ? -1 : names.indexOf(name.toLowerCase()))
  const { time, input, output, session, model } = columns
  return { time: at(time), input: at(input), output: at(output), session: at(session), model: at(model) }
}

function itemOf(line: number, values: readonly string[], at: Positions, columns: Columns): TrafficItem {
  const written = values[at.time] ?? ''
  const timeMs = columns.parseTime(written)
  if (timeMs === null)
    return { line, mistake: { got: `${columns.time} ${describeValue(written)}`, expected: columns.timeText } }
  const [input, output] = [numberOf(values[at.input]), numberOf(values[at.output])]
  const lengths = lengthsOf(input, output, [columns.input, columns.output])
  if ('mistake' in lengths) return { line, mistake: lengths.mistake }
  const row: TraceRow = { ...emptyRow, timeMs, lengths, session: values[at.session] || null }
  return { line, row, model: values[at.model] || null }
}

/** A text that is not a number stays a text, for the message. */
const numberOf = (written: string | undefined): unknown =>
  written === undefined || written === '' ? undefined : Number.isNaN(Number(written)) ? written : Number(written)

/** The cells of a line. A cell in quotes may have commas. */
function cells(line: string): readonly string[] {
  if (!line.includes('"')) return line.split(',').map(cell => cell.trim())
  return [...line.matchAll(/(?:^|,)(?:\s*"((?:[^"]|"")*)"\s*|([^,]*))/g)].map(([, quoted, plain]) =>
    (quoted?.replaceAll('""', '"') ?? plain ?? '').trim(),
  )
}

const parseSecondsOrDate = (written: string): number | null =>
  /^\d+(\.\d+)?$/.test(written) ? Number(written) * 1_000 : parseDate(written)

/** The LLM inference traces of Azure: a date, and the tokens of prompt and answer. */
export const azure = csv('an Azure LLM inference trace', {
  ...{ time: 'TIMESTAMP', input: 'ContextTokens', output: 'GeneratedTokens', session: null, model: null },
  parseTime: parseDate,
  timeText: 'a date such as 2023-11-16 18:15:46.6805900',
})

/** The traces of BurstGPT: seconds since the beginning, or a date, and in newer ones a session. */
export const burstGpt = csv('a BurstGPT trace', {
  ...{ time: 'Timestamp', input: 'Request tokens', output: 'Response tokens', session: 'Session ID', model: 'Model' },
  parseTime: parseSecondsOrDate,
  timeText: 'seconds such as 45 or 118.5, or a date',
})
