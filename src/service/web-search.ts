import type { AppliedOptions, OptionDecisions } from './applied-options.ts'

export type Source = {
  readonly title: string
  readonly url: string
  readonly content: string
  readonly date: string
}

/** What was found for a request, and how often something was looked up for it. */
export type Found = { readonly sources: readonly Source[]; readonly lookups: number }

const library: readonly Source[] = [
  {
    title: 'On the measuring of queues',
    url: 'https://library.example/queues',
    content: 'A queue is as long as what came is more than what went.',
    date: '2026-02-11',
  },
  {
    title: 'Ledgers',
    url: 'https://library.example/ledgers',
    content: 'What is taken from one column stands in another.',
    date: '2025-11-30',
  },
]

/** Pages that the message names are scraped instead of a search. A search that is left to the model is not made. */
export function lookUp(applied: AppliedOptions, userText: () => string, decide: OptionDecisions): Found {
  if (applied.enable_web_scraping === true) {
    const named = [...new Set(userText().match(/https?:\/\/[^\s"'<>]+/g))]
    const pages = named.slice(0, decide.scrapedPages(named.length))
    if (pages.length > 0) return { sources: pages.map(pageOf), lookups: pages.length }
  }
  const isSearched = applied.enable_web_search === 'on' || applied.enable_x_search === true
  return isSearched ? { sources: library, lookups: 1 } : { sources: [], lookups: 0 }
}

const pageOf = (url: string): Source => ({
  title: `The page at ${url}`,
  url,
  content: 'It is short.',
  date: '2026-08-01',
})
