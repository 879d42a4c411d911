import { clauses as contractClauses } from '../../contract/clauses.ts'
import { discrepancyKinds } from '../../judge/audits/audit.ts'
import { isConclusive } from '../../judge/capacity/result.ts'
import { outcomeStatus } from '../../judge/compare/comparison.ts'
import { obstacleLines } from '../../judge/compare/conclusion.ts'
import { plural } from '../../lib/format.ts'
import type { FindingBlock } from '../blocks.ts'
import type { Report, ThresholdResult } from '../document.ts'
import { toleranceTexts } from '../sections/billing.ts'
import { reasonOf } from '../sections/clauses.ts'
import { rowWords } from '../sections/comparison.ts'
import { aboutDiscrepancy, causesOf } from '../sections/findings.ts'
import { isOfClauses } from '../sections/load.ts'
import { escaped, xmlElement } from './markup.ts'

/** `error`: inconclusive. CI tools do not count it as a pass. */
type Result = { readonly kind: 'failure' | 'error' | 'skipped'; readonly message: string; readonly text: string } | null

/** `output`: what a case states although it passed. */
type Case = { readonly name: string; readonly result: Result; readonly output?: string }
type Suite = { readonly name: string; readonly cases: readonly Case[] }

const maxMessage = 500
const maxText = 12_000
/** Of all texts together; the cases after that have no text. */
const maxTexts = 2_000_000
/** Longer commands are only in the run directory. */
const maxCommand = 4_000

/**
 * For CI tools, in the format of Jenkins: the verdict, clauses, thresholds, discrepancies and compared numbers as test
 * cases. Names stay the same from run to run, because CI tools show the history of a name.
 */
export function renderJunit(report: Report): string {
  const { scenario, startedAt, durationMs } = report.run
  const seconds = (durationMs / 1000).toFixed(3)
  const timestamp = startedAt.slice(0, 19)
  const suites = bounded(
    [
      runSuite(report),
      clauseSuite(report),
      thresholdSuite(report),
      ...capacitySuites(report),
      billingSuite(report),
      ...comparisonSuites(report),
    ].filter(({ cases }) => cases.length > 0),
  )
  const cases = suites.flatMap(suite => suite.cases)
  const elements = suites.map(({ name, cases: own }, index) => {
    // Only the run itself takes time, so the sum is right.
    const time = index === 0 ? seconds : '0.000'
    const tallied = { name, ...tally(own), skipped: countOf(own, 'skipped'), time, timestamp }
    const classname = `turnpike.${scenario}.${name}`
    const children = own.map(({ name: caseName, result, output }) => {
      const attributes = { name: caseName, classname, time }
      return `\n    ${xmlElement('testcase', attributes, [...resultXml(result), ...outputXml(output)])}`
    })
    return `\n  ${xmlElement('testsuite', tallied, [...children, '\n  '])}`
  })
  const root = xmlElement('testsuites', { name: `turnpike ${scenario}`, ...tally(cases), time: seconds }, [
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

const outputXml = (output: string | undefined): readonly string[] =>
  output === undefined ? [] : [xmlElement('system-out', {}, [escaped(output)])]

function runSuite({ verdict, reasons, run }: Report): Suite {
  const kind = verdict === 'fail' ? 'failure' : 'error'
  const text = [run.question, ...reasons.map(reason => `- ${reason}`)].filter(line => line !== null).join('\n')
  const result: Result = verdict === 'pass' ? null : { kind, message: reasons[0] ?? verdict, text }
  return { name: 'run', cases: [{ name: `verdict of ${run.scenario}`, result }] }
}

type Clause = Report['clauses'][number]

/** A case for each clause that was judged, or that something prevented from it; the others are counted. */
function clauseSuite(report: Report): Suite {
  const judged = report.clauses.filter(
    ({ verdict, because }: Clause) => verdict === 'pass' || verdict === 'fail' || because?.kind === 'not-judged',
  )
  const silent = new Map<string, Clause[]>()
  for (const clause of report.clauses.filter(each => !judged.includes(each))) {
    const why = clause.verdict.replace('-', ' ')
    silent.set(why, [...(silent.get(why) ?? []), clause])
  }
  const counted = [...silent].map(([why, clauses]): Case => {
    const message = `${plural(clauses.length, 'clause')}: ${clauses.map(({ id }) => id).join(', ')}`
    return { name: `clauses ${why}`, result: { kind: 'skipped', message, text: '' } }
  })
  return { name: 'clauses', cases: [...judged.map(clause => clauseCase(clause, report)), ...counted] }
}

function clauseCase({ id, verdict, violated, because }: Clause, report: Report): Case {
  const sentence = (contractClauses as Readonly<Record<string, { readonly text: string } | undefined>>)[id]?.text
  const name = sentence === undefined ? id : `${id}: ${sentence}`
  if (verdict === 'pass') return { name, result: null }
  if (verdict !== 'fail') {
    return { name, result: { kind: 'skipped', message: skipReason(verdict, because), text: '' } }
  }
  const findings = report.findings.filter(finding => finding.clause === id)
  const message = `${plural(violated, 'violation')}: ${findings[0]?.message ?? ''}`
  const texts = findings.map(({ section, text, judge, count, message, examples }) =>
    [
      `documented (§${section}): ${text}`,
      `${plural(count, 'violation')}, judged by ${judge}`,
      ...causeLines(causesOf(examples, { count, about: `${id} ${message}`, message })),
    ].join('\n'),
  )
  return { name, result: { kind: 'failure', message, text: texts.join('\n\n') } }
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

/** A case for each search. Like the verdict, it is an error if something other than the target bounded the search. */
function capacitySuites({ capacity }: Report): readonly Suite[] {
  if (capacity.length === 0) return []
  const cases = capacity.map((search): Case => {
    const { stage, reason } = search
    const result = isConclusive(search) ? null : ({ kind: 'error', message: reason, text: reason } as const)
    return { name: stage, result, output: reason }
  })
  return [{ name: 'capacity', cases }]
}

/** A case for each kind of discrepancy, found or not, so that CI tools show its history; or one if nothing was judged. */
function billingSuite({ billing, load, clauses, plan }: Report): Suite {
  const name = 'billing'
  const ofBilling = clauses.filter(({ id }) => id.startsWith('billing.'))
  const isPromised = ofBilling.length === 0 || ofBilling.some(({ verdict }) => verdict !== 'not-promised')
  const isSelected = ofBilling.length > 0 || !isOfClauses(plan)
  const unjudged = isPromised ? (isSelected ? null : 'not selected by --only') : 'not promised'
  const silence = load.answered === 0 ? 'no request was answered' : unjudged
  if (silence !== null && billing.discrepancies.every(({ count }) => count === 0))
    return { name, cases: [{ name: 'discrepancies', result: { kind: 'skipped', message: silence, text: '' } }] }
  const cases = discrepancyKinds.map((kind): Case => {
    const caseName = `no discrepancy: ${kind}`
    const found = billing.discrepancies.find(discrepancy => discrepancy.kind === kind && discrepancy.count > 0)
    const output = kind === 'wrong-amount' && silence === null ? { output: toleranceTexts(billing).join('\n') } : {}
    if (found === undefined) return { name: caseName, result: null, ...output }
    const message = `${plural(found.count, 'discrepancy', 'discrepancies')}, $${found.amountUsd} in total`
    const { count, examples } = found
    const observed = causeLines(causesOf(examples, { count, about: aboutDiscrepancy(kind), message: null }))
    return { name: caseName, result: { kind: 'failure', message, text: [message, ...observed].join('\n') } }
  })
  return { name, cases }
}

/** The result, each number that could be compared, and one case for all others. */
function comparisonSuites({ comparison }: Report): readonly Suite[] {
  if (comparison === null) return []
  const { verdict, reasons, rows } = comparison
  const text = reasons.join('\n')
  const kind = ({ fail: 'failure', inconclusive: 'error', pass: null } as const)[outcomeStatus[verdict]]
  const result: Case = {
    name: 'no regression',
    result: kind === null ? null : { kind, message: reasons[0] ?? verdict, text },
  }
  const compared = rows
    .filter(row => row.verdict !== 'cannot-tell')
    .map((row): Case => {
      const name = `${row.measure} of ${row.call} in ${row.stage}`
      const { base, run, effect, range } = rowWords(row)
      if (row.verdict !== 'regressed') return { name, result: null }
      const message = `regressed ${effect}: ${run}, baseline ${base}`
      return { name, result: { kind: 'failure', message, text: `${message}\n95 % interval: ${range}` } }
    })
  const open = obstacleLines(rows)
  const uncompared: Case = {
    name: 'numbers not compared',
    result: { kind: 'skipped', message: open.join(' '), text: '' },
  }
  return [{ name: 'comparison', cases: [result, ...compared, ...(open.length === 0 ? [] : [uncompared])] }]
}

function causeLines({ causes, others }: Pick<FindingBlock, 'causes' | 'others'>): readonly string[] {
  const lines = causes.flatMap(({ seen, tally, requests, evidence, rest }) => [
    `observed: ${seen}${tally === null ? '' : ` (${tally})`}`,
    ...(requests === '' ? [] : [requests]),
    ...evidence.flatMap(shown => ['', ...shown.lines, ...command(shown.curl)]),
    ...(rest === null ? [] : ['', rest]),
  ])
  return others === null ? lines : [...lines, others]
}

function command(curl: string | null): readonly string[] {
  if (curl === null) return []
  return [curl.length > maxCommand ? '$ (see findings.ndjson for the command)' : `$ ${curl}`]
}

/** Makes the names unique, and bounds each text and their sum. */
function bounded(suites: readonly Suite[]): readonly Suite[] {
  let left = maxTexts
  return suites.map(({ name, cases }) => {
    const used = new Map<string, number>()
    return {
      name,
      cases: cases.map(({ name: caseName, result, ...rest }) => {
        const times = (used.get(caseName) ?? 0) + 1
        used.set(caseName, times)
        const unique = times === 1 ? caseName : `${caseName} (${times})`
        if (result === null) return { ...rest, name: unique, result }
        const text = shorten(result.text, Math.min(maxText, left))
        left -= text.length
        return { ...rest, name: unique, result: { ...result, message: shorten(result.message, maxMessage), text } }
      }),
    }
  })
}

const shorten = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, Math.max(0, max))}… (the rest is in report.json)`
