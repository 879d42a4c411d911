import { count, plural } from '../../lib/format.ts'
import { type Block, chart, code, right, type Tone, toned, type Words } from '../blocks.ts'
import type { Report } from '../document.ts'

type Verdict = Report['clauses'][number]['verdict']

const labels: Readonly<Record<Verdict, string>> = { pass: 'kept', fail: 'broken', 'not-exercised': 'not exercised' }
const tones: Readonly<Record<Verdict, Tone>> = { pass: 'good', fail: 'bad', 'not-exercised': 'quiet' }

/** How much of the interface document the run covered: each clause as a dot by section, then all by name. */
export function clausesSection({ clauses }: Report): readonly Block[] {
  const of = (verdict: Verdict) => clauses.filter(clause => clause.verdict === verdict)
  const judgements = plural(
    clauses.reduce((sum, clause) => sum + clause.judged, 0),
    'judgement',
  )
  const [passed, failed, left] = [of('pass'), of('fail'), of('not-exercised')]
  const counts = `${passed.length} kept, ${failed.length} broken, ${left.length} not exercised`
  const pageCounts: Words = [
    toned(passed.length > 0 ? 'good' : 'quiet', `${passed.length} kept`),
    ', ',
    toned(failed.length > 0 ? 'bad' : 'quiet', `${failed.length} broken`),
    `, ${left.length} not exercised by this run, in ${judgements}.`,
  ]
  const sections = [...new Set(clauses.map(({ section }) => section))].toSorted(bySection)
  return [
    {
      kind: 'heading',
      id: 'clauses',
      text: { text: 'Clauses', markdown: 'Clauses', html: 'Clauses of the interface document' },
      beside: `${passed.length} pass, ${failed.length} fail, ${left.length} not exercised (${judgements})`,
    },
    { kind: 'text', look: 'small', text: { markdown: `${counts} (${judgements})`, html: pageCounts } },
    chart({
      draw: 'dots',
      rows: sections.map(section => ({
        name: `§${section}`,
        dots: clauses
          .filter(clause => clause.section === section)
          .map(({ id, verdict, judged }) => ({
            tone: tones[verdict],
            text: `${id}: ${labels[verdict]}, ${plural(judged, 'judgement')}`,
          })),
      })),
    }),
    {
      kind: 'details',
      in: left.length === 0 ? [] : ['markdown'],
      summary: 'Not exercised',
      blocks: [{ kind: 'text', text: left.flatMap(({ id }, index) => (index === 0 ? [code(id)] : [' ', code(id)])) }],
    },
    {
      kind: 'details',
      in: ['html'],
      summary: 'All clauses',
      blocks: [
        {
          kind: 'table',
          columns: [{ title: 'clause' }, { title: '§' }, { title: '' }, right('judged'), right('violated')],
          rows: clauses.map(({ id, section, verdict, judged, violated }) => ({
            cells: [code(id), section, toned(tones[verdict], labels[verdict]), count(judged), count(violated)],
          })),
        },
      ],
    },
  ]
}

/** 2.10 comes after 2.9. */
const bySection = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true })
