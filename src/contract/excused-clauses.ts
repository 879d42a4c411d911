import type { ExcusedClause } from './clause.ts'

/** Every sentence of the document that no run judges, and why not. */
export const excusedClauses = {
  'excused.prompt-cache-routing': {
    section: '2.1',
    says: 'Requests with one prompt_cache_key are routed to the same backend.',
    excuse: 'unobservable',
    because: 'No answer tells which backend gave it, and a cache may miss for other reasons.',
  },
  'excused.reasoning-returned': {
    section: '2.4',
    says: 'reasoning_details and thought_signature are passed back exactly as received.',
    excuse: 'unobservable',
    because: 'That is a duty of the caller, and what becomes of one who neglects it is not given.',
  },
  'excused.scraping-bypasses-search': {
    section: '2.3',
    says: 'Scraped pages, and the third-party search, bypass the standard web search.',
    excuse: 'unobservable',
    because: 'No answer tells where a source was found, and a page may be found in either way.',
  },
  'excused.scraping-billed-by-success': {
    section: '2.3',
    says: 'Only pages that were scraped successfully are billed.',
    excuse: 'unobservable',
    because: 'The price is open, and no answer tells which pages could not be read.',
  },
  'excused.search-price': {
    section: '2.3',
    says: 'Web search, scraping and the third-party search have a price of their own, by use.',
    excuse: 'unobservable',
    because: 'The price is open. What such an answer says that it costs is held against the balance all the same.',
  },
  'excused.search-auto': {
    section: '2.3',
    says: 'With the mode auto the model decides whether to search.',
    excuse: 'unobservable',
    because: 'Both decisions are right.',
  },
  'excused.character': {
    section: '2.3',
    says: 'character_slug gives the answer the persona of a public character.',
    excuse: 'unobservable',
    because: 'A persona shows in the wording only. That the option is taken and echoed is judged.',
  },
  'excused.e2ee': {
    section: '2.3',
    says: 'enable_e2ee encrypts from end to end where the model is capable of it.',
    excuse: 'unobservable',
    because: 'Neither the keys nor the form of such content are given, nor which models are capable of it.',
  },
  'excused.thinking-disabled': {
    section: '2.3',
    says: 'disable_thinking has supported models not think at all.',
    excuse: 'unobservable',
    because: 'Which models support it is open. That no think block is left is judged.',
  },
} as const satisfies Readonly<Record<string, ExcusedClause>>
