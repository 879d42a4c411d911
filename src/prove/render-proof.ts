import { count, formatRatio, plural } from '../lib/format.ts'
import type { Page } from '../lib/text-layout.ts'
import { type Block, code, right } from '../report/blocks.ts'
import { renderHtmlPage } from '../report/render/html.ts'
import { renderTextPage } from '../report/render/text.ts'
import { type GateProof, type JudgedMutant, noticedIn } from './prove.ts'
import type { Suggestion } from './suggest.ts'
import type { Survival } from './survivors.ts'

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
export const renderProof = (proof: GateProof, page: Page): string => renderTextPage(proofPage(proof), page)

/** One file that opens offline and without scripts. */
export const renderProofPage = (proof: GateProof): string => renderHtmlPage(proofPage(proof))

function proofPage(proof: GateProof): readonly Block[] {
  const { verdict, scenario, profile, seed, reasons } = proof
  return [
    { kind: 'heading', text: scenario, verdict: { status: verdict, words: verdict } },
    { kind: 'list', look: 'reasons', items: reasons },
    { kind: 'text', look: 'facts', text: `profile ${profile}, seed ${seed}` },
    ...scoreBlocks(proof),
    ...sensitivityBlocks(proof),
    ...survivorBlocks(proof),
    ...suggestionBlocks(proof),
    ...unpromisedBlocks(proof),
  ]
}

const section = (id: string, text: string): Block => ({ kind: 'heading', id, text })

function scoreBlocks({ groups, mutants, score }: GateProof): readonly Block[] {
  if (score === null) return []
  const rows = [...groups, { group: 'all', ...noticedIn(mutants) }]
  return [
    section('score', 'Score'),
    {
      kind: 'table',
      folds: true,
      columns: [{ title: 'group' }, right('services'), right('never asked'), right('noticed'), right('score')],
      rows: rows.map(({ group, caught, neverAsked, all }) => ({
        cells: [group, count(all), count(neverAsked), count(caught), formatRatio(caught / all)],
      })),
    },
  ]
}

function sensitivityBlocks({ sensitivity }: GateProof): readonly Block[] {
  if (sensitivity.length === 0) return []
  return [
    section('sensitivity', 'Thresholds on times'),
    ...sensitivity.map(({ threshold, text }): Block => ({ kind: 'text', text: [code(threshold), `: ${text}`] })),
  ]
}

/** Those that survived for the same reason are together. */
function survivorBlocks({ mutants }: GateProof): readonly Block[] {
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
    section('not-noticed', 'Not noticed'),
    ...sorted.flatMap(({ survival: { kind, text }, mutants: same }): readonly Block[] => [
      { kind: 'text', text: `${titles[kind]}: ${text}` },
      {
        kind: 'text',
        look: 'small',
        isNested: true,
        text: `${plural(same.length, 'service')}: ${same.map(({ name }) => name).join(', ')}`,
      },
    ]),
  ]
}

/** The others are in the JSON. */
const maxSuggestions = 12

/** Lines for the scenario, the most useful first. */
function suggestionBlocks({ suggestions, untried, mutants }: GateProof): readonly Block[] {
  if (suggestions.length === 0 && untried.length === 0) return []
  const { caught, all } = noticedIn(mutants)
  const more = suggestions.slice(maxSuggestions)
  const further = `${plural(more.length, 'further addition')} for ${plural(noticesOf(more), 'service')}: --format json`
  const left = `For ${plural(untried.length, 'service')}, nothing was tried, since it would take too long.`
  return [
    section('suggestions', 'What would notice more'),
    ...suggestions.slice(0, maxSuggestions).flatMap(({ yaml, notices, ...cost }, index): readonly Block[] => [
      {
        kind: 'text',
        text: `${costOf(cost)}: the score is at least ${formatRatio((caught + notices.length) / all)}, since it notices ${notices.join(', ')}`,
        ...(index > 0 && { afterGap: true }),
      },
      { kind: 'code', language: 'yaml', lines: yaml },
    ]),
    ...(more.length === 0 ? [] : [{ kind: 'text', afterGap: true, text: further } as const]),
    ...(untried.length === 0 ? [] : [{ kind: 'text', afterGap: true, text: left } as const]),
  ]
}

const noticesOf = (all: readonly Suggestion[]): number => all.reduce((sum, { notices }) => sum + notices.length, 0)

/** What an addition costs at most. */
const costOf = ({ requests, usd }: Pick<Suggestion, 'requests' | 'usd'>): string =>
  requests === 0
    ? 'No further request'
    : `${plural(requests, 'request')}, ${usd === null ? 'unknown price' : `$${usd}`}`

function unpromisedBlocks({ unpromised: { clauses, lies } }: GateProof): readonly Block[] {
  if (lies === 0) return []
  const text = `The profile does not promise ${plural(clauses.length, 'clause')}, so ${plural(lies, 'lie')} about them were not told.`
  return [{ kind: 'text', look: 'small', afterGap: true, text }]
}
