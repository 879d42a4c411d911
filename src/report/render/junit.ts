import { discrepancyKinds } from '../../judge/audits/audit.ts'

import { plural } from '../../lib/format.ts'
import { requestList } from '../blocks.ts'
import type { Report, ReportedExample, ThresholdResult } from '../document.ts'
import { reasonOf } from '../sections/clauses.ts'
import { rowWords } from '../sections/comparison.ts'
import { evidenceLines, shownEvidence } from '../sections/findings.ts'
import { escaped, xmlElement } from './markup.ts'

/** `error`: inconclusive. CI tools do not count it as a pass. */
type Result = { readonly kind: 'failure' | 'error' | 'skipped'; readonly message: string; readonly text: string } | null

type Case = { readonly name: string; readonly result: Result }
type Suite = { readonly name: string; readonly cases: readonly Case[] }

const maxMessage = 500
const maxText = 12_000
/** Of all texts together; the cases after that have no text. */
const maxTexts = 2_000_000
/** Longer commands are only in the run directory. */
const maxCommand = 4_000

/** For CI tools, in the format of Jenkins: the verdict, clauses, thresholds and discrepancies as test cases. */
export function renderJunit(report: Report): string {
  const seconds = (report.run.durationMs / 1000).toFixed(3)
  const suites = bounded([
    runSuite(report),
    ...clauseSuites(report),
    thresholdSuite(report),
    billingSuite(report),
    ...comparisonSuites(report),
  ])
  const cases = suites.flatMap(suite => suite.cases)
  const elements = suites.map(({ name, cases: own }, index) => {
    const time = index === 0 ? seconds : '0.000'
    const timestamp = report.run.startedAt.slice(0, 19)
    const tallied = { name, ...tally(own), skipped: countOf(own, 'skipped'), time, timestamp }
    const classname = `${report.run.scenario}.${name}`
    const children = own.map(({ name: caseName, result }) => {
      const attributes = { name: caseName, classname, time: index === 0 ? seconds : '0.000' }
      return `\n    ${xmlElement('testcase', attributes, resultXml(result))}`
    })
    return `\n  ${xmlElement('testsuite', tallied, [...children, '\n  '])}`
  })
  const root = xmlElement('testsuites', { name: `turnpike ${report.run.scenario}`, ...tally(cases), time: seconds }, [
    ...elements,
    '\n',
  ])
  return `<?xml version="1.0" encoding="UTF-8"?>\n${root}\n`
}

const countOf = (cases: readonly Case[], kind: 'failure' | 'error' | 'skipped'): number =>
  cases.filter(({ result }) => result?.kind === kind).length

const tally = (cases: readonly Case[]) => ({
  tests: cases.length,
  failures: countOf(cases, 'failure'),
  errors: countOf(cases, 'error'),
})

function resultXml(result: Result): readonly string[] {
  if (result === null) return []
  const { kind, message, text } = result
  if (kind === 'skipped') return [xmlElement(kind, { message })]
  return [xmlElement(kind, { message, type: kind === 'error' ? 'inconclusive' : 'fail' }, [escaped(text)])]
}

function runSuite({ verdict, reasons, run }: Report): Suite {
  const kind = verdict === 'fail' ? 'failure' : 'error'
  const text = [run.question, ...reasons.map(reason => `- ${reason}`)].filter(line => line !== null).join('\n')
  const result: Result = verdict === 'pass' ? null : { kind, message: reasons[0] ?? verdict, text }
  return { name: 'run', cases: [{ name: 'verdict', result }] }
}

/** One suite for each chapter of the document. */
function clauseSuites(report: Report): readonly Suite[] {
  const chapterOf = (section: string) => section.split('.')[0] ?? section
  const chapters = [...new Set(report.clauses.map(({ section }) => chapterOf(section)))]
  return chapters.map(chapter => ({
    name: `clauses of §${chapter}`,
    cases: report.clauses
      .filter(({ section }) => chapterOf(section) === chapter)
      .map(({ id, verdict, violated, because }) => {
        if (verdict === 'pass') return { name: id, result: null }
        if (verdict === 'not-exercised' || verdict === 'not-promised')
          return { name: id, result: { kind: 'skipped', message: skipReason(verdict, because), text: '' } }
        const findings = report.findings.filter(finding => finding.clause === id)
        const message = `${plural(violated, 'violation')}: ${findings[0]?.message ?? ''}`
        const texts = findings.map(({ section, text, judge, count, message, examples }) =>
          [
            `documented (§${section}): ${text}`,
            `${plural(count, 'violation')}, judged by ${judge}`,
            `observed: ${message}`,
            ...exampleLines(examples[0], `${id} ${message}`),
          ].join('\n'),
        )
        return { name: id, result: { kind: 'failure', message, text: texts.join('\n\n') } }
      }),
  }))
}

const skipReason = (verdict: string, because: Report['clauses'][number]['because']): string =>
  because === null ? verdict.replace('-', ' ') : `${because.kind.replace('-', ' ')}: ${reasonOf(because)}`

const thresholdSuite = ({ thresholds }: Report): Suite => ({
  name: 'thresholds',
  cases: thresholds.map(threshold => ({ name: threshold.expression, result: thresholdResult(threshold) })),
})

function thresholdResult({ verdict, message, why }: ThresholdResult): Result {
  if (verdict === 'pass') return null
  const text = why === '' ? message : `${message}\nwhy: ${why}`
  return { kind: verdict === 'fail' ? 'failure' : 'error', message, text }
}

/** A case for each kind of discrepancy, found or not, so that CI tools show its history. */
function billingSuite({ billing, load, clauses }: Report): Suite {
  const ofBilling = clauses.filter(({ id }) => id.startsWith('billing.'))
  const isPromised = ofBilling.length === 0 || ofBilling.some(({ verdict }) => verdict !== 'not-promised')
  const silence = load.answered === 0 ? 'no request was answered' : isPromised ? null : 'not promised'
  const unexercised: Result = silence === null ? null : { kind: 'skipped', message: silence, text: '' }
  const cases = discrepancyKinds.map(kind => {
    const found = billing.discrepancies.find(discrepancy => discrepancy.kind === kind && discrepancy.count > 0)
    if (found === undefined) return { name: kind, result: unexercised }
    const message = `${plural(found.count, 'discrepancy', 'discrepancies')}, $${found.amountUsd} in total`
    const [example] = found.examples
    const observed =
      example === undefined ? [] : [`observed: ${example.message}`, ...exampleLines(example, `${kind} credits cost`)]
    return { name: kind, result: { kind: 'failure', message, text: [message, ...observed].join('\n') } as const }
  })
  return { name: 'billing', cases }
}

/** A case without a conclusion is skipped; whether too many are, the verdict decides. */
function comparisonSuites({ comparison }: Report): readonly Suite[] {
  if (comparison === null) return []
  const cases = comparison.rows.map((row): Case => {
    const name = `${row.call} in ${row.stage} ${row.measure}`
    const { base, run, effect, range } = rowWords(row)
    if (row.verdict === 'cannot-tell') return { name, result: { kind: 'skipped', message: row.reason, text: '' } }
    if (row.verdict !== 'regressed') return { name, result: null }
    const message = `regressed ${effect}: ${run}, baseline ${base}`
    return { name, result: { kind: 'failure', message, text: `${message}\n95 % interval: ${range}` } }
  })
  return [{ name: 'comparison', cases }]
}

function exampleLines(example: ReportedExample | undefined, about: string): readonly string[] {
  if (example === undefined) return []
  const evidence = shownEvidence(example).flatMap(shown => [
    '',
    ...evidenceLines(shown, about),
    ...command(shown.request?.curl),
  ])
  return [requestList(example.requestIds), ...evidence]
}

function command(curl: string | null | undefined): readonly string[] {
  if (curl === null || curl === undefined) return []
  return [curl.length > maxCommand ? '$ (see findings.ndjson for the command)' : `$ ${curl}`]
}

/** Makes the names unique, and bounds each text and their sum. */
function bounded(suites: readonly Suite[]): readonly Suite[] {
  let left = maxTexts
  return suites.map(({ name, cases }) => {
    const used = new Map<string, number>()
    return {
      name,
      cases: cases.map(({ name: caseName, result }) => {
        const times = (used.get(caseName) ?? 0) + 1
        used.set(caseName, times)
        const unique = times === 1 ? caseName : `${caseName} (${times})`
        if (result === null) return { name: unique, result }
        const text = shorten(result.text, Math.min(maxText, left))
        left -= text.length
        return { name: unique, result: { ...result, message: shorten(result.message, maxMessage), text } }
      }),
    }
  })
}

const shorten = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, Math.max(0, max))}… (the rest is in report.json)`
