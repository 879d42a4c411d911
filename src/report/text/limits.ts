import type { LimitResult } from '../../audits/audit.ts'
import { count, formatDuration, NO_VALUE } from '../../lib/format.ts'
import type { Page, TableCell } from '../../lib/text-layout.ts'
import { heading, paint, right, table } from '../../lib/text-layout.ts'
import type { Report } from '../report.ts'

/** The limits of all callers of one scope, together. */
export function limitsText({ limits }: Report, page: Page): readonly string[] {
  if (limits.length === 0) return []
  const scopes = new Map<string, readonly LimitResult[]>()
  for (const use of limits) {
    const scope = `${use.scope}\n${use.tier}\n${use.windowMs}`
    scopes.set(scope, [...(scopes.get(scope) ?? []), use])
  }
  const titles = ['callers', 'limit', 'accepted', '429', 'unexpected 429', 'missing 429']
  const [title = '', ...rows] = table(page, 2, [
    [{ text: '' }, { text: 'tier' }, ...titles.map(right)],
    ...[...scopes.values()].map(scopeRow),
  ])
  return [...heading(page, 'Limits'), paint(page, 'dim', title), ...rows]
}

function scopeRow(uses: readonly LimitResult[]): readonly TableCell[] {
  const sum = (of: (use: LimitResult) => number) => uses.reduce((total, use) => total + of(use), 0)
  return [
    { text: uses[0]?.scope ?? '' },
    { text: uses[0]?.tier ?? '' },
    right(count(new Set(uses.map(use => use.caller)).size)),
    right(limit(uses)),
    right(count(sum(use => use.accepted))),
    right(count(sum(use => use.rejected))),
    accusing(sum(use => use.unexpected429)),
    accusing(sum(use => use.missing429)),
  ]
}

const accusing = (n: number): TableCell => ({ text: count(n), align: 'right', ...(n > 0 ? { style: 'red' } : {}) })

/** `50 per 1m00s`; a range where callers were told different ones. */
function limit(uses: readonly LimitResult[]): string {
  const said = uses.map(use => use.limit).filter(value => value !== null)
  if (said.length === 0) return NO_VALUE
  const [low, high] = [Math.min(...said), Math.max(...said)]
  return `${low === high ? count(low) : `${count(low)} to ${count(high)}`} per ${formatDuration(uses[0]?.windowMs ?? null)}`
}
