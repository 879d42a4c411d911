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
  const [passed, failed, left, unpromised] = [of('pass'), of('fail'), of('not-exercised'), of('not-promised')]
  const counts: Words = [
    toned(passed.length > 0 ? 'good' : 'quiet', `${passed.length} passed`),
    ', ',
    toned(failed.length > 0 ? 'bad' : 'quiet', `${failed.length} failed`),
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
          .map(({ id, verdict, judged }) => ({
            tone: tones[verdict],
            text: `${id}: ${labels[verdict]}, ${plural(judged, 'check')}`,
          })),
      })),
    }),
    listed('Not exercised', left),
    listed('Not promised by the profile, so not judged', unpromised),
    {
      kind: 'details',
      in: ['html'],
      summary: 'All clauses',
      blocks: [
        {
          kind: 'table',
          columns: [{ title: 'clause' }, { title: '§' }, { title: '' }, right('checks'), right('violations')],
          rows: clauses.map(({ id, section, verdict, judged, violated }) => ({
            cells: [code(id), section, toned(tones[verdict], labels[verdict]), count(judged), count(violated)],
          })),
        },
      ],
    },
  ]
}

const listed = (summary: string, clauses: Report['clauses']): Block => ({
  kind: 'details',
  in: clauses.length === 0 ? [] : ['markdown'],
  summary,
  blocks: [{ kind: 'text', text: clauses.flatMap(({ id }, index) => (index === 0 ? [code(id)] : [' ', code(id)])) }],
})

/** 2.10 comes after 2.9. */
const bySection = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true })
