import { headerName } from './header-names.ts'

const mostHeaders = 128
const longestValue = 512

/**
 * What header records inherit from: nothing, so that a header called `constructor` is absent unless it was sent. Without
 * any prototype V8 makes each record a table of its own; with this one, answers with the same headers share their shape,
 * and all judging takes a quarter less.
 */
const nothing: object = Object.freeze(Object.create(null))

export const noHeaders: Readonly<Record<string, string>> = Object.freeze(Object.create(nothing))

/**
 * The headers of an answer in the form that an observation keeps: names in lower case (as they come), repeated ones
 * joined, long values cut. `raw`: names and values in turn, as they came.
 */
export function headerRecord(raw: readonly (Buffer | string)[]): Readonly<Record<string, string>> {
  const record: Record<string, string> = Object.create(nothing)
  let count = 0
  for (let index = 1; index < raw.length; index += 2) {
    const name = nameOf(raw[index - 1] ?? '')
    const value = textOf(raw[index] ?? '')
    const earlier = record[name]
    if (earlier === undefined && count++ === mostHeaders) break
    const text = earlier === undefined ? value : `${earlier}, ${value}`
    record[name] = text.length > longestValue ? text.slice(0, longestValue) : text
  }
  return record
}

const nameOf = (raw: Buffer | string): string => (typeof raw === 'string' ? raw.toLowerCase() : headerName(raw))

const textOf = (raw: Buffer | string): string => (typeof raw === 'string' ? raw : raw.toString('latin1'))
