import { isSearching } from '../contract/chat-options.ts'
import type { Contract } from '../contract/contract.ts'
import { quote } from '../lib/format.ts'
import type { Expect } from './check.ts'
import type { Said } from './said.ts'

/** A text that was cut may end inside of a citation, which is not longer. */
const longestCitation = 32

/** The citations in the text: none where none were asked for, else well formed, and of sources that were found. */
export function checkCitations(
  { text, isCut }: Said,
  sent: Readonly<Record<string, unknown>>,
  sources: readonly unknown[],
  { chat }: Contract,
  expect: Expect<'parameters.citations'>,
): void {
  if (text === null) return
  const { citation, citationMark, firstSource } = chat.search
  const found = [...text.matchAll(new RegExp(citation, 'g'))]
  const isAsked = sent.enable_web_citations === true && (isSearching(sent) || sent.enable_web_scraping === true)
  if (!isAsked) {
    expect(
      'parameters.citations',
      found.length === 0,
      () => `the content cites ${quote(found[0]?.[0])}, expected nothing`,
    )
    return
  }
  const rest = text.replaceAll(new RegExp(citation, 'g'), ' ')
  const whole = isCut ? rest.slice(0, -longestCitation) : rest
  const mark = citationMark === null ? null : new RegExp(citationMark).exec(whole)
  const unknown = found.find(([, numbers = '']) => isUnknown(numbers, sources.length, firstSource))
  if (found.length === 0 && mark === null) return
  expect('parameters.citations', mark === null && unknown === undefined, () =>
    mark !== null
      ? `the content has ${quote(whole.slice(Math.max(0, mark.index - 8), mark.index + longestCitation))}, expected citations as ${citation}`
      : `the content cites ${quote(unknown?.[0])}, expected one of ${sources.length} sources`,
  )
}

/** Where the sources are not given, any of them may be meant. */
const isUnknown = (numbers: string, sources: number, first: number): boolean =>
  sources > 0 &&
  numbers.split(/\D+/).some(number => number !== '' && !isBetween(Number(number), first, first + sources))

const isBetween = (number: number, least: number, end: number): boolean => number >= least && number < end
