import type { Clause, UnjudgedClause } from '../../src/contract/clause.ts'
import type { ClauseId } from '../../src/contract/clauses.ts'

export type ListedClauses = Readonly<Record<ClauseId, Clause>>
export type ListedUnjudged = Readonly<Record<string, UnjudgedClause>>
export type LiesByClause = Readonly<Record<ClauseId, readonly { readonly name: string }[]>>

const introduction = `# Clauses

Each row is a statement of the interface document that a run judges. It names the judges of the clause, and the lies of
the reference service that violate it. The section refers to the document. The source is the document, or the profile
if the document leaves the matter open. Statements that no run judges are at the end, with the reason.

This file is generated from \`src/contract/clauses/\` and \`src/service/lies/\`. To update it, run
\`UPDATE_DOCS=1 npx vitest run --project unit test/docs.test.ts\`. \`turnpike service --list-lies\` lists what each lie
does. \`turnpike clauses <run-dirs..>\` lists what a run covered.`

/** `docs/clauses.md`: a table for each group of clauses. The group is the first word of the id. */
export function renderClauses(clauses: ListedClauses, unjudged: ListedUnjudged, lies: LiesByClause): string {
  const ids = Object.keys(clauses) as readonly ClauseId[]
  const groups = [...new Set(ids.map(groupOf))]
  const lieCount = ids.reduce((sum, id) => sum + lies[id].length, 0)
  return [
    introduction,
    `${ids.length} clauses are judged and tested with ${lieCount} lies; ${Object.keys(unjudged).length} are not judged.`,
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
  const lines = [['§', 'clause', 'text', 'judged by', 'source', 'lies'], Array<string>(6).fill('---'), ...rows]
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
