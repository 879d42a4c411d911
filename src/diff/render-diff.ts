import { count, formatRatio, plural } from '../lib/format.ts'
import { heading, type Page, paint, rightCell, type Style, table, wrap } from '../lib/text-layout.ts'
import { type ComparedNumber, changeOf, valuesOf } from './compare-numbers.ts'
import type { ComparedClause } from './compare-promises.ts'
import type { TargetDiff } from './compare-sides.ts'

const titles = { 'no-worse': 'NO WORSE', worse: 'WORSE', 'cannot-tell': 'CANNOT TELL' } as const
const styles: Readonly<Record<string, Style>> = {
  'no-worse': 'green',
  better: 'green',
  worse: 'red',
  'cannot-tell': 'yellow',
}

/** For a terminal. */
export function renderDiff(diff: TargetDiff, page: Page): string {
  const { verdict, scenario, seed, reasons, old, new: fresh } = diff
  const lines = [
    paint(page, styles[verdict], `${titles[verdict]}  ${scenario}`),
    ...reasons.flatMap(reason => wrap(page, reason, 2)),
    ...heading(page, 'Sides'),
    ...table(page, 2, [
      ['', 'target', 'requests', 'spent', 'verdict alone'].map(text => ({ text })),
      ...[['OLD', old] as const, ['NEW', fresh] as const].map(([name, side]) => [
        { text: name },
        { text: side.target },
        rightCell(count(side.sent)),
        rightCell(`$${side.spentUsd}`),
        { text: side.verdict },
      ]),
    ]),
    ...wrap(page, `seed ${seed}, the same requests to both at the same time`, 2),
    ...clauseLines(diff, page),
    ...limitLines(diff, page),
    ...numberLines(diff, page),
  ]
  return `${lines.map(line => line.trimEnd()).join('\n')}\n`
}

function clauseLines({ clauses, bothKept }: TargetDiff, page: Page): readonly string[] {
  const side = ({ judged, violated, because }: ComparedClause['old']) => {
    if (because !== null) return 'not judged'
    return judged === null ? count(violated) : `${count(violated)} of ${count(judged)}`
  }
  return [
    ...heading(page, 'Contract'),
    ...wrap(page, `Both kept ${plural(bothKept, 'clause')}.`, 2),
    ...(clauses.length === 0
      ? []
      : table(page, 2, [
          [{ text: 'violated' }, rightCell('OLD'), rightCell('NEW'), { text: '' }],
          ...clauses.map(each => [
            { text: each.name },
            rightCell(side(each.old)),
            rightCell(side(each.new)),
            { text: wordOf(each), ...styleOf(each.verdict) },
          ]),
        ])),
  ]
}

function wordOf({ verdict, old }: ComparedClause): string {
  if (verdict === 'worse') return old.violated === 0 ? 'only NEW' : 'NEW more often'
  return { same: 'both', better: 'only OLD', 'cannot-tell': 'cannot tell' }[verdict]
}

function limitLines({ limits }: TargetDiff, page: Page): readonly string[] {
  if (limits.length === 0) return []
  return [...heading(page, 'Limits'), ...limits.flatMap(({ text }) => wrap(page, text, 2))]
}

function numberLines({ numbers }: TargetDiff, page: Page): readonly string[] {
  if (numbers.length === 0) return []
  // A call of its own is shown only if it says something that all calls together do not.
  const shown = numbers.filter(
    ({ call, verdict, measure }) =>
      verdict === 'worse' || verdict === 'better' || call === null || measure === 'credits' || measure === 'cost',
  )
  return [
    ...heading(page, 'Numbers'),
    ...table(page, 2, [
      ['measure', 'call', '', 'OLD → NEW', 'change', 'margin'].map(text => ({ text })),
      ...shown.map(number => [
        { text: number.measure },
        { text: number.call ?? 'all' },
        { text: number.verdict.replace('-', ' '), ...styleOf(number.verdict) },
        { text: valuesOf(number) },
        { text: changeOf(number) },
        rightCell(formatRatio(number.margin)),
      ]),
    ]),
    ...moreLines(numbers, page),
  ]
}

function moreLines(numbers: readonly ComparedNumber[], page: Page): readonly string[] {
  const left = numbers.filter(({ isRequired, verdict }) => !isRequired && verdict === 'cannot-tell').length
  if (left === 0) return []
  return wrap(page, `${plural(left, 'number')} more would need more requests. The verdict does not wait for them.`, 2)
}

const styleOf = (verdict: string): { readonly style?: Style } => {
  const style = styles[verdict]
  return style === undefined ? {} : { style }
}
