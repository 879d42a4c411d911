import { numberIn } from '../../lib/numbers.ts'

/** How a header writes a number or a time. A time is in milliseconds: from now, or since 1970. */
export type LimitForm = {
  readonly states: 'count' | 'wait' | 'instant'
  /** null: the text does not have this form. */
  readonly read: (text: string, key: string) => number | null
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

export const limitForms = {
  number: { states: 'count', read: numberIn, expected: 'a number' },
  list: { states: 'count', read: firstIn, expected: 'a list of numbers, such as 10, 10;w=60' },
  'field-number': { states: 'count', read: memberIn, expected: 'a structured field with the number' },
  seconds: { states: 'wait', read: scaled(1_000), expected: 'a number of seconds' },
  'field-seconds': {
    states: 'wait',
    read: (text, key) => scaled(1_000)(String(memberIn(text, key) ?? '')),
    expected: 'a structured field with the seconds',
  },
  duration: { states: 'wait', read: durationIn, expected: 'a duration, such as 6m0s' },
  'unix-seconds': { states: 'instant', read: scaled(1_000), expected: 'a Unix time in seconds' },
  'unix-milliseconds': { states: 'instant', read: scaled(1), expected: 'a Unix time in milliseconds' },
  'date-time': { states: 'instant', read: instantIn, expected: 'a time of RFC 3339' },
} as const satisfies Readonly<Record<string, LimitForm>>

export type LimitFormName = keyof typeof limitForms
export const limitFormNames = Object.keys(limitForms) as [LimitFormName, ...LimitFormName[]]
