import type { ExcusedClause } from './clause.ts'

/** Every sentence of the document that no run judges, and why not. */
export const excusedClauses = {
  'excused.prompt-cache-routing': {
    section: '2.1',
    says: 'Requests with one prompt_cache_key are routed to the same backend.',
    excuse: 'unobservable',
    because: 'No answer tells which backend gave it, and a cache may miss for other reasons.',
  },
} as const satisfies Readonly<Record<string, ExcusedClause>>
