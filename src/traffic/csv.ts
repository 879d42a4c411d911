import { describeValue } from '../lib/usage-error.ts'
import { chunksOf, linesOf } from './text-source.ts'
import { emptyRow, lengthsOf, type TraceRow, type TrafficFormat, type TrafficItem } from './trace-row.ts'

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

const dateParts = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(\.\d+)?(?:Z|([+-])(\d\d):?(\d\d))?$/

/** `2023-11-16 18:15:46.6805900`, also with an offset from UTC, in milliseconds. */
function parseDate(written: string): number | null {
  const [
    match,
    year,
    month,
    day,
    hour,
    minute,
    second,
    fraction = '0',
    sign = '+',
    offsetHours = 0,
    offsetMinutes = 0,
  ] = dateParts.exec(written) ?? []
  if (match === undefined) return null
  const atUtc = Date.UTC(
    ...([Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second)] as const),
  )
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000
  return atUtc + Number(fraction) * 1_000 + (sign === '-' ? offset : -offset)
}

function parseSeconds(written: string): number | null {
  return /^\d+(\.\d+)?$/.test(written) ? Number(written) * 1_000 : null
}

/** The LLM inference traces of Azure: a date, and the tokens of prompt and answer. */
export const azure = csv('an Azure LLM inference trace', {
  ...{ time: 'TIMESTAMP', input: 'ContextTokens', output: 'GeneratedTokens', session: null, model: null },
  parseTime: parseDate,
  timeText: 'a date such as 2023-11-16 18:15:46.6805900',
})

/** The traces of BurstGPT: seconds since the beginning, and in newer ones a session. */
export const burstGpt = csv('a BurstGPT trace', {
  ...{ time: 'Timestamp', input: 'Request tokens', output: 'Response tokens', session: 'Session ID', model: 'Model' },
  parseTime: parseSeconds,
  timeText: 'seconds such as 45 or 118.5',
})
