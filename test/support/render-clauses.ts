import type { Clause, UnjudgedClause } from '../../src/contract/clause.ts'
import type { ClauseId } from '../../src/contract/clauses.ts'

export type ListedClauses = Readonly<Record<ClauseId, Clause>>
export type ListedExcuses = Readonly<Record<string, UnjudgedClause>>
export type LiesByClause = Readonly<Record<ClauseId, readonly { readonly name: string }[]>>

const introduction = `# Clauses

Every sentence of the interface document that a run judges, in our own words, with those who judge it and the lies that
prove it. The basis is the document, or the profile where the document leaves the matter open and the profile states it.
A clause belongs to the section that is named with it. The sentences that no run judges are at the end, with the reason.

This file is generated: \`UPDATE_DOCS=1 npx vitest run test/docs.test.ts\` writes it from \`src/contract/clauses/\`,
\`src/contract/clauses/not-judged.ts\` and \`src/service/lies/\`. What each lie does is listed by \`turnpike service --list-lies\`; what a run covered, by
\`turnpike clauses <run-dirs..>\`.`

/** `docs/clauses.md`: a table for each group of clauses, which is the first word of their ids. */
export function renderClauses(clauses: ListedClauses, excused: ListedExcuses, lies: LiesByClause): string {
  const ids = Object.keys(clauses) as readonly ClauseId[]
  const groups = [...new Set(ids.map(groupOf))]
  const lieCount = ids.reduce((sum, id) => sum + lies[id].length, 0)
  return [
    introduction,
    `${ids.length} clauses are judged and proved by ${lieCount} lies; ${Object.keys(excused).length} are excused.`,
    ...groups.map(group => renderGroup(group, clauses, lies)),
    renderExcused(excused),
  ]
    .join('\n\n')
    .concat('\n')
}

const groupOf = (id: ClauseId): string => id.split('.')[0] ?? ''

function renderGroup(group: string, clauses: ListedClauses, lies: LiesByClause): string {
  const rows = (Object.keys(clauses) as readonly ClauseId[])
    .filter(id => groupOf(id) === group)
    .map(id => rowOf(id, clauses[id], lies[id]))
  const lines = [['§', 'clause', 'says', 'judged by', 'basis', 'lies'], Array<string>(6).fill('---'), ...rows]
  return [`## ${group}`, lines.map(cells => `| ${cells.join(' | ')} |`).join('\n')].join('\n\n')
}

function rowOf(
  id: ClauseId,
  { section, text, judges, source, needs }: Clause,
  lies: LiesByClause[ClauseId],
): readonly string[] {
  const named = lies.map(({ name }) => code(name)).join(', ')
  return [
    section,
    code(id),
    cell(needs === undefined ? text : `${text} Needs ${needs}.`),
    judges.join(', '),
    source ?? 'document',
    named,
  ]
}

function renderExcused(excused: ListedExcuses): string {
  const rows = Object.entries(excused).map(([id, { section, text, status, reason }]) => [
    section,
    code(id),
    cell(text),
    status,
    cell(reason),
  ])
  const lines = [['§', 'clause', 'says', 'excuse', 'because'], Array<string>(5).fill('---'), ...rows]
  return ['## Not judged', lines.map(cells => `| ${cells.join(' | ')} |`).join('\n')].join('\n\n')
}

const cell = (text: string): string => text.replaceAll('|', '\\|')
const code = (text: string): string => `\`${text}\``
