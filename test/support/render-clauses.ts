import type { Clause, UnjudgedClause } from '../../src/contract/clause.ts'
import type { ClauseId } from '../../src/contract/clauses.ts'

export type ListedClauses = Readonly<Record<ClauseId, Clause>>
export type ListedUnjudged = Readonly<Record<string, UnjudgedClause>>
export type LiesByClause = Readonly<Record<ClauseId, readonly { readonly name: string }[]>>

const introduction = `# Clauses

Every sentence of the interface document that a run judges, in our own words, with its judges and the lies that prove
it. The source is the document or, if the document leaves the matter open, the profile or the target itself. The section of a clause is the
section that states it. The last table has the sentences that no run judges, with the reason.

This file is generated from \`src/contract/clauses/\` and \`src/service/lies/\`. To update it, run
\`UPDATE_DOCS=1 npx vitest run test/docs.test.ts\`. \`turnpike service --list-lies\` describes each lie, and
\`turnpike clauses <run-dirs..>\` lists what a run covered.`

/** Renders `docs/clauses.md`: one table per group of clauses. The first word of a clause id is its group. */
export function renderClauses(clauses: ListedClauses, unjudged: ListedUnjudged, lies: LiesByClause): string {
  const ids = Object.keys(clauses) as readonly ClauseId[]
  const groups = [...new Set(ids.map(groupOf))]
  const lieCount = ids.reduce((sum, id) => sum + lies[id].length, 0)
  return [
    introduction,
    `${ids.length} clauses are judged, and ${lieCount} lies prove them. ${Object.keys(unjudged).length} sentences are not judged.`,
    ...groups.map(group => renderGroup(group, clauses, lies)),
    renderUnjudged(unjudged),
  ]
    .join('\n\n')
    .concat('\n')
}

const groupOf = (id: ClauseId): string => id.split('.')[0] ?? ''

function renderGroup(group: string, clauses: ListedClauses, lies: LiesByClause): string {
  const rows = (Object.keys(clauses) as readonly ClauseId[])
    .filter(id => groupOf(id) === group)
    .map(id => rowOf(id, clauses[id], lies[id]))
  const lines = [['§', 'clause', 'text', 'judges', 'source', 'lies'], Array<string>(6).fill('---'), ...rows]
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

function renderUnjudged(unjudged: ListedUnjudged): string {
  const rows = Object.entries(unjudged).map(([id, { section, text, status, reason }]) => [
    section,
    code(id),
    cell(text),
    status,
    cell(reason),
  ])
  const lines = [['§', 'clause', 'text', 'status', 'reason'], Array<string>(5).fill('---'), ...rows]
  return ['## Not judged', lines.map(cells => `| ${cells.join(' | ')} |`).join('\n')].join('\n\n')
}

const cell = (text: string): string => text.replaceAll('|', '\\|')
const code = (text: string): string => `\`${text}\``
