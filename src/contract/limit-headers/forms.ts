import { numberIn } from '../../lib/numbers.ts'

/** When a header is written, and how long a window is, in milliseconds. */
export type WritingTime = { readonly nowMs: number; readonly windowMs: number }

/** How a header writes a number or a time. A time is in milliseconds: from now, or since 1970. */
export type LimitForm = {
  readonly states: 'count' | 'wait' | 'instant'
  /** null: the text does not have this form. */
  readonly read: (text: string, key: string) => number | null
  /** The text of a count, or of a time since 1970. */
  readonly write: (value: number, now: WritingTime) => string
  readonly expected: string
}

const scaled = (factor: number) => (text: string) => {
  const number = numberIn(text.trim())
  return number === null ? null : number * factor
}

/** `1h2m`, `6m0s`, `2m59.56s`, `120ms`: each unit at most once, the largest first. */
const durationForm = /^(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?$/
const unitsMs = [3_600_000, 60_000, 1_000, 1]

function durationIn(text: string): number | null {
  const parts = durationForm.exec(text.trim())
  if (parts === null || text.trim() === '') return null
  return unitsMs.reduce((sum, ms, index) => sum + Number(parts[index + 1] ?? 0) * ms, 0)
}

const instantForm = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/

function instantIn(text: string): number | null {
  const atMs = instantForm.test(text.trim()) ? Date.parse(text.trim()) : Number.NaN
  return Number.isNaN(atMs) ? null : atMs
}

/** The first value of a key in a structured field: `"default";r=50;t=30`, or `limit=100, remaining=50`. */
function memberIn(text: string, key: string): number | null {
  for (const part of text.split(/[,;]/)) {
    const [name = '', value = ''] = part.split('=')
    if (name.trim() === key) return numberIn(value.trim())
  }
  return null
}

/** The first number of a list, each with parameters: `10, 10;w=60`. */
const firstIn = (text: string): number | null => numberIn(text.split(/[,;]/)[0]?.trim())

const inSeconds = (atMs: number, { nowMs }: WritingTime): string => String(Math.ceil((atMs - nowMs) / 1_000))

/** In the units that the time has: `6m0s`, `59.25s`, `120ms`. */
function asDuration(atMs: number, { nowMs }: WritingTime): string {
  const ms = Math.ceil(atMs - nowMs)
  if (ms < 1_000) return `${ms}ms`
  const minutes = Math.floor(ms / 60_000)
  return `${minutes === 0 ? '' : `${minutes}m`}${(ms % 60_000) / 1_000}s`
}

const maxDateMs = 8.64e15

const asInstant = (atMs: number): string =>
  Math.abs(atMs) <= maxDateMs ? new Date(Math.ceil(atMs)).toISOString() : String(atMs)

export const limitForms = {
  number: { states: 'count', read: numberIn, write: String, expected: 'a number' },
  list: {
    states: 'count',
    read: firstIn,
    write: (value, { windowMs }) => `${value}, ${value};w=${windowMs / 1_000}`,
    expected: 'a list of numbers, such as 10, 10;w=60',
  },
  'field-number': { states: 'count', read: memberIn, write: String, expected: 'a structured field with the number' },
  seconds: { states: 'wait', read: scaled(1_000), write: inSeconds, expected: 'a number of seconds' },
  'field-seconds': {
    states: 'wait',
    read: (text, key) => scaled(1_000)(String(memberIn(text, key) ?? '')),
    write: inSeconds,
    expected: 'a structured field with the seconds',
  },
  duration: { states: 'wait', read: durationIn, write: asDuration, expected: 'a duration, such as 6m0s' },
  'unix-seconds': {
    states: 'instant',
    read: scaled(1_000),
    write: atMs => String(Math.ceil(atMs / 1_000)),
    expected: 'a Unix time in seconds',
  },
  'unix-milliseconds': {
    states: 'instant',
    read: scaled(1),
    write: atMs => String(Math.ceil(atMs)),
    expected: 'a Unix time in milliseconds',
  },
  'date-time': { states: 'instant', read: instantIn, write: asInstant, expected: 'a time of RFC 3339' },
} as const satisfies Readonly<Record<string, LimitForm>>

export type LimitFormName = keyof typeof limitForms
export const limitFormNames = Object.keys(limitForms) as [LimitFormName, ...LimitFormName[]]

/** How long until a reset that is stated as seconds, Unix seconds, Unix milliseconds or a duration; null: it is none of them. */
export function resetInMs(text: string, nowMs: number): number | null {
  const reset = numberIn(text)
  if (reset === null) return limitForms.duration.read(text)
  if (reset > 1e11) return reset - nowMs
  return reset > 1e9 ? reset * 1000 - nowMs : reset * 1000
}
