import { count, formatRatio, plural } from '../lib/format.ts'
import { heading, type Page, paint, rightCell, type Style, table, wrap } from '../lib/text-layout.ts'
import type { Verdict } from '../report/document.ts'
import { type GateProof, type JudgedMutant, noticedIn } from './prove.ts'
import type { Suggestion } from './suggest.ts'
import type { Survival } from './survivors.ts'

const styles: Readonly<Record<Verdict, Style>> = { pass: 'green', fail: 'red', inconclusive: 'yellow' }

const titles: Readonly<Record<Survival['kind'], string>> = {
  'never-asked': 'Never asked',
  'too-rarely': 'Asked too rarely',
  prevented: 'Not judged',
  'not-shown': 'Asked, but not shown',
  'no-threshold': 'No threshold',
  'too-loose': 'Threshold too loose',
  inconclusive: 'Inconclusive',
}

/** For a terminal. */
export function renderProof(proof: GateProof, page: Page): string {
  const { verdict, scenario, profile, seed, reasons } = proof
  const lines = [
    paint(page, styles[verdict], `${verdict.toUpperCase()}  ${scenario}`),
    ...reasons.flatMap(reason => wrap(page, reason, 2)),
    ...wrap(page, `profile ${profile}, seed ${seed}`, 2),
    ...groupLines(proof, page),
    ...sensitivityLines(proof, page),
    ...survivorLines(proof, page),
    ...suggestionLines(proof, page),
    ...unpromisedLines(proof, page),
  ]
  return `${lines.join('\n')}\n`
}

function groupLines({ groups, mutants, score }: GateProof, page: Page): readonly string[] {
  if (score === null) return []
  const rows = [...groups, { group: 'all', ...noticedIn(mutants) }]
  return [
    ...heading(page, 'Score'),
    ...table(page, 2, [
      ['group', 'services', 'never asked', 'noticed', 'score'].map((text, column) => ({
        text,
        ...(column > 0 && { align: 'right' }),
      })),
      ...rows.map(({ group, caught, neverAsked, all }) => [
        { text: group },
        rightCell(count(all)),
        rightCell(count(neverAsked)),
        rightCell(count(caught)),
        rightCell(formatRatio(caught / all)),
      ]),
    ]),
  ]
}

function sensitivityLines({ sensitivity }: GateProof, page: Page): readonly string[] {
  if (sensitivity.length === 0) return []
  return [
    ...heading(page, 'Thresholds on times'),
    ...sensitivity.flatMap(({ threshold, text }) => wrap(page, `${threshold}: ${text}`, 2)),
  ]
}

/** Those that survived for the same reason are together. */
function survivorLines({ mutants }: GateProof, page: Page): readonly string[] {
  const groups = new Map<string, { readonly survival: Survival; readonly mutants: JudgedMutant[] }>()
  for (const mutant of mutants) {
    const { survived } = mutant
    if (survived === null) continue
    const key = `${survived.kind} ${survived.text}`
    const group = groups.get(key) ?? { survival: survived, mutants: [] }
    group.mutants.push(mutant)
    groups.set(key, group)
  }
  if (groups.size === 0) return []
  const sorted = [...groups.values()].toSorted((a, b) => b.mutants.length - a.mutants.length)
  return [
    ...heading(page, 'Not noticed'),
    ...sorted.flatMap(({ survival: { kind, text }, mutants: same }) => [
      ...wrap(page, `${titles[kind]}: ${text}`, 2),
      ...wrap(page, `${plural(same.length, 'service')}: ${same.map(({ name }) => name).join(', ')}`, 4),
    ]),
  ]
}

/** The others are in the JSON. */
const maxSuggestions = 12

/** Lines for the scenario, the most useful first. */
function suggestionLines({ suggestions, untried, mutants }: GateProof, page: Page): readonly string[] {
  if (suggestions.length === 0 && untried.length === 0) return []
  const { caught, all } = noticedIn(mutants)
  const more = suggestions.slice(maxSuggestions)
  return [
    ...heading(page, 'What would notice more'),
    ...suggestions
      .slice(0, maxSuggestions)
      .flatMap(({ yaml, notices, ...cost }, index) => [
        ...(index === 0 ? [] : ['']),
        ...wrap(
          page,
          `${costOf(cost)}: the score is ${formatRatio((caught + notices.length) / all)}, since it notices ${notices.join(', ')}`,
          2,
        ),
        ...yaml.flatMap(line => wrap(page, line.trimStart(), 4 + line.length - line.trimStart().length)),
      ]),
    ...(more.length === 0
      ? []
      : [
          '',
          ...wrap(
            page,
            `${plural(more.length, 'further addition')} for ${plural(noticesOf(more), 'service')}: --format json`,
            2,
          ),
        ]),
    ...(untried.length === 0
      ? []
      : [
          '',
          ...wrap(
            page,
            `For ${plural(untried.length, 'service')}, nothing was tried, since it would take too long.`,
            2,
          ),
        ]),
  ]
}

const noticesOf = (all: readonly Suggestion[]): number => all.reduce((sum, { notices }) => sum + notices.length, 0)

/** What an addition costs at most. */
const costOf = ({ requests, usd }: Pick<Suggestion, 'requests' | 'usd'>): string =>
  requests === 0
    ? 'No further request'
    : `${plural(requests, 'request')}, ${usd === null ? 'unknown price' : `$${usd}`}`

function unpromisedLines({ unpromised: { clauses, lies } }: GateProof, page: Page): readonly string[] {
  if (lies === 0) return []
  const text = `The profile does not promise ${plural(clauses.length, 'clause')}, so ${plural(lies, 'lie')} about them were not told.`
  return ['', ...wrap(page, text, 2)]
}
