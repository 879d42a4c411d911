import { count, plural } from '../../lib/format.ts'
import { type Block, chart, code, right, type Tone, toned, type Words } from '../blocks.ts'
import type { Report } from '../document.ts'

type Verdict = Report['clauses'][number]['verdict']

const labels: Readonly<Record<Verdict, string>> = {
  pass: 'passed',
  fail: 'failed',
  'not-exercised': 'not exercised',
  'not-promised': 'not promised',
}
const tones: Readonly<Record<Verdict, Tone>> = {
  pass: 'good',
  fail: 'bad',
  'not-exercised': 'quiet',
  'not-promised': 'quiet',
}

/** How much of the interface document the run exercised: each clause as a dot by section, then all by name. */
export function clausesSection({ clauses }: Report): readonly Block[] {
  const of = (verdict: Verdict) => clauses.filter(clause => clause.verdict === verdict)
  const checks = plural(
    clauses.reduce((sum, clause) => sum + clause.judged, 0),
    'check',
  )
  const [passed, failed, silent, unpromised] = [of('pass'), of('fail'), of('not-exercised'), of('not-promised')]
  const unjudged = silent.filter(({ because }) => because?.kind === 'not-judged')
  const left = silent.filter(clause => !unjudged.includes(clause))
  const inPart = passed.filter(({ because }) => because !== null)
  const counts: Words = [
    toned(passed.length > 0 ? 'good' : 'quiet', `${passed.length} passed`),
    ', ',
    toned(failed.length > 0 ? 'bad' : 'quiet', `${failed.length} failed`),
    ...(unjudged.length === 0 ? [] : [', ', toned('doubtful', `${unjudged.length} not judged`)]),
    `, ${left.length} not exercised${unpromised.length === 0 ? '' : `, ${unpromised.length} not promised`}; ${checks}.`,
  ]
  const sections = [...new Set(clauses.map(({ section }) => section))].toSorted(bySection)
  return [
    { kind: 'heading', id: 'clauses', text: 'Clauses' },
    { kind: 'text', look: 'small', text: counts },
    chart({
      draw: 'dots',
      rows: sections.map(section => ({
        name: `§${section}`,
        dots: clauses
          .filter(clause => clause.section === section)
          .map(({ id, verdict, because, judged }) => ({
            tone: toneOf({ verdict, because }),
            text: `${id}: ${labelOf({ verdict, because })}, ${plural(judged, 'check')}`,
          })),
      })),
    }),
    reasonList(unjudged, 'not judged'),
    reasonList(inPart, 'judged in part'),
    {
      kind: 'details',
      in: left.length === 0 ? [] : ['markdown', 'html'],
      summary: 'Not exercised',
      blocks: [reasonList(left, null)],
    },
    listed('Not promised by the profile, so not judged', unpromised),
    {
      kind: 'details',
      in: ['html'],
      summary: 'All clauses',
      blocks: [
        {
          kind: 'table',
          columns: [{ title: 'clause' }, { title: '§' }, { title: '' }, right('checks'), right('violations')],
          rows: clauses.map(({ id, section, verdict, because, judged, violated }) => ({
            cells: [
              code(id),
              section,
              toned(toneOf({ verdict, because }), labelOf({ verdict, because })),
              count(judged),
              count(violated),
            ],
          })),
        },
      ],
    },
  ]
}

type Clause = Report['clauses'][number]

const labelOf = ({ verdict, because }: Pick<Clause, 'verdict' | 'because'>): string => {
  if (because === null || verdict === 'fail') return labels[verdict]
  return verdict === 'pass' ? 'passed in part' : because.kind.replace('-', ' ')
}

const toneOf = ({ verdict, because }: Pick<Clause, 'verdict' | 'because'>): Tone =>
  because === null || because.kind === 'not-exercised' ? tones[verdict] : 'doubtful'

/** Each reason with its clauses, those with a violation first. `label`: what the clauses are; null: the title says so. */
function reasonList(clauses: readonly Clause[], label: string | null): Block {
  const groups = new Map<string, readonly Clause[]>()
  const byCause = clauses.toSorted((a, b) => Number(b.because?.clause != null) - Number(a.because?.clause != null))
  for (const clause of byCause) {
    const reason = reasonOf(clause.because)
    groups.set(reason, [...(groups.get(reason) ?? []), clause])
  }
  const items = [...groups].map(([reason, all]): Words => {
    const lead = label === null ? reason : `${label}: ${reason}`
    return [`${lead}: `, ...all.flatMap(({ id }, index) => (index === 0 ? [code(id)] : [', ', code(id)]))]
  })
  return { kind: 'list', look: 'counts', items }
}

/** `resets are unusable, see limit.requests.reset` */
export function reasonOf(because: Clause['because']): string {
  if (because === null) return 'an earlier version of Turnpike wrote no reason'
  return because.clause === null ? because.text : `${because.text}, see ${because.clause}`
}

const listed = (summary: string, clauses: Report['clauses']): Block => ({
  kind: 'details',
  in: clauses.length === 0 ? [] : ['markdown'],
  summary,
  blocks: [{ kind: 'text', text: clauses.flatMap(({ id }, index) => (index === 0 ? [code(id)] : [' ', code(id)])) }],
})

/** 2.10 comes after 2.9. */
const bySection = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true })
