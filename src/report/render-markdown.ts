import type { LimitResult } from '../audits/audit.ts'
import { capacityLabel } from '../capacity/result.ts'
import { count, formatDuration, formatExact, formatRatio, NO_VALUE, plural } from '../lib/format.ts'
import { comparisonMarkdown } from './comparison/comparison-markdown.ts'
import { code, codeBlock, details, markdownTable, plainText, signs } from './markdown.ts'
import { evidenceLines, requestList, shownEvidence } from './plain-evidence.ts'
import { pushedWords } from './pushed-words.ts'
import { recordGap } from './record-gap.ts'
import type { CallFacts, Report, ReportedExample, Status } from './report.ts'
import { trialColumns, trialWords } from './trial-table.ts'
import { workerLines } from './worker-lines.ts'

type Lines = readonly string[]

/** GitHub takes no summary of a step that is larger than 1 MiB. */
export const longestMarkdownBytes = 1024 * 1024
/** The rest of what is said and shown must fit behind the findings. */
const longestFindingsBytes = 700_000
/** A longer command is in the run directory. */
const longestCommand = 4_000
const mostRows = 200

/** For the summary of a CI step and for pasting: the verdict, why, and what it rests on. At most `longestMarkdownBytes`. */
export function renderMarkdown(report: Report): string {
  const sections = [
    fitting(findingSections(report), longestFindingsBytes, 'findings'),
    comparisonMarkdown(report),
    thresholds(report),
    capacity(report),
    calls(report),
    money(report),
    limits(report),
    coverage(report),
    harness(report),
  ]
  return text(fitting([verdict(report), ...sections], longestMarkdownBytes - 1_000, 'sections'))
}

/** The verdict and why, where there is no room for more. */
export const renderMarkdownHead = (report: Report): string => text(verdict(report))

const text = (lines: Lines): string => `${lines.join('\n')}\n`

const words: Readonly<Record<Status, string>> = { pass: 'pass', fail: 'FAIL', inconclusive: 'INCONCLUSIVE' }

function verdict({ verdict: status, because, run }: Report): Lines {
  const facts = [
    `run ${code(run.id)}`,
    `target ${code(run.target)}`,
    `profile ${code(run.profile)}`,
    `seed ${run.seed}`,
    `${formatDuration(run.durationMs)} from ${run.startedAt}`,
    `turnpike ${run.version}`,
  ]
  return [
    `## ${signs[status]} ${words[status]}: ${plainText(run.scenario)}`,
    '',
    ...(run.question === null ? [] : [`_${plainText(run.question)}_`, '']),
    ...because.slice(0, mostRows).map(reason => `- ${plainText(reason)}`),
    ...omitted(because.length),
    '',
    facts.join(' · '),
  ]
}

/** A section is left out where it would be too much, and the reader is told. */
function fitting(sections: readonly Lines[], mostBytes: number, noun: string): Lines {
  const kept: string[] = []
  let left = mostBytes
  let lost = 0
  for (const section of sections.filter(lines => lines.length > 0)) {
    const bytes = Buffer.byteLength(text(section)) + 1
    if (bytes > left) lost++
    else {
      left -= bytes
      kept.push(...(kept.length === 0 ? [] : ['']), ...section)
    }
  }
  return lost === 0 ? kept : [...kept, '', `_${lost} more ${noun}: see report.html or report.json._`]
}

function findingSections({ findings, billing }: Report): readonly Lines[] {
  if (findings.length + billing.discrepancies.length === 0) return []
  return [
    ['### Findings'],
    ...findings.map(({ clause, section, says, check, count: times, because, examples }) => [
      `**${code(clause)}** §${section}: ${plural(times, 'violation')}, judged by ${check}`,
      '',
      `- says: ${plainText(says)}`,
      `- seen: ${plainText(because)}`,
      '',
      ...proof(examples[0], `${clause} ${because}`),
    ]),
    ...billing.discrepancies.map(({ kind, count: times, amountUsd, examples }) => [
      `**${code(kind)}** in the ledger: ${plural(times, 'discrepancy', 'discrepancies')}, $${amountUsd} in all`,
      '',
      ...(examples[0] === undefined ? [] : [`- seen: ${plainText(examples[0].because)}`, '']),
      ...proof(examples[0], `${kind} credits cost`),
    ]),
  ]
}

function proof(example: ReportedExample | undefined, about: string): Lines {
  if (example === undefined || example.evidence.length === 0) return []
  const blocks = shownEvidence(example).flatMap(evidence => {
    const curl = evidence.request?.curl ?? null
    return [
      ...codeBlock(evidenceLines(evidence, about), 'text'),
      ...(curl === null ? [] : codeBlock([curl.length > longestCommand ? '# see findings.ndjson' : curl], 'sh')),
    ]
  })
  return details(`Evidence: ${requestList(example.seqs)}`, blocks)
}

function thresholds({ thresholds: all }: Report): Lines {
  if (all.length === 0) return []
  const rows = all
    .slice(0, mostRows)
    .map(({ verdict: status, expression, value, operator, bound, unit, because, why }) => [
      signs[status],
      code(expression),
      value === null ? NO_VALUE : formatExact(value, unit),
      plainText(`${operator} ${formatExact(bound, unit)}`),
      status === 'pass' ? '' : plainText([because, why].filter(Boolean).join('. ')),
    ])
  const table = markdownTable(['', 'threshold', 'value', 'bound', ''], ['left', 'left', 'right', 'left', 'left'], rows)
  return ['### Thresholds', '', ...table, ...omitted(all.length)]
}

function capacity({ capacity: all }: Report): Lines {
  if (all.length === 0) return []
  const titles = [...trialColumns.map(({ title }) => title), '']
  const sides = titles.map((_, index) => (index < trialColumns.length ? 'right' : 'left'))
  return [
    '### Capacity',
    ...all.flatMap(result => {
      const rows = result.trials.map(trial => [...trialColumns.map(({ text }) => text(trial)), trialWords(trial)])
      const said = `**${code(result.stage)}: ${plainText(capacityLabel(result))}.** ${plainText(result.because)}`
      return ['', said, '', ...markdownTable(titles, sides, rows)]
    }),
  ]
}

const callTitles = ['call', 'sent', 'latency p50', 'p95', 'p99', 'TTFT p50', 'p95', 'good', 'ended']

function calls({ calls: all }: Report): Lines {
  const rows = all
    .filter(({ stage }) => stage === null)
    .slice(0, mostRows)
    .map(callRow)
  if (rows.length === 0) return []
  const sides = callTitles.map((_, index) => (index === 0 || index === callTitles.length - 1 ? 'left' : 'right'))
  return ['### Calls', '', ...markdownTable(callTitles, sides, rows)]
}

function callRow(facts: CallFacts): Lines {
  const { call, count: sent, statuses, failed, dropped, latencyMs, ttftMs, goodRatio } = facts
  const ends = [
    ...Object.entries(statuses).map(([status, times]) => `${status} × ${count(times)}`),
    ...(failed > 0 ? [`failed × ${count(failed)}`] : []),
    ...(dropped > 0 ? [`dropped × ${count(dropped)}`] : []),
  ]
  const times = [latencyMs.p50, latencyMs.p95, latencyMs.p99, ttftMs.p50, ttftMs.p95].map(formatDuration)
  return [code(call), count(sent), ...times, goodRatio === null ? NO_VALUE : formatRatio(goodRatio), ends.join(', ')]
}

function money({ billing }: Report): Lines {
  const { expectedCredits, expectedUsd, claimedCredits, claimedUsd, billedUsd } = billing
  const rows = [
    ['expected, by our tariff', expectedCredits, `$${expectedUsd}`],
    ['claimed by the answers', claimedCredits, `$${claimedUsd}`],
    ['billed, by the balances', '', billedUsd === null ? NO_VALUE : `$${billedUsd}`],
  ].map(row => row.map(plainText))
  return ['### Credits and money', '', ...markdownTable(['', 'credits', 'USD'], ['left', 'right', 'right'], rows)]
}

function limits({ limits: all }: Report): Lines {
  if (all.length === 0) return []
  const scopes = [...new Set(all.map(({ scope, tier }) => `${scope}\n${tier}`))]
  const rows = scopes.slice(0, mostRows).map(key => {
    const uses = all.filter(({ scope, tier }) => `${scope}\n${tier}` === key)
    const sum = (of: (use: LimitResult) => number) => count(uses.reduce((total, use) => total + of(use), 0))
    const [scope = '', tier = ''] = key.split('\n')
    return [
      code(scope),
      plainText(tier),
      count(new Set(uses.map(({ caller }) => caller)).size),
      sum(use => use.accepted),
      sum(use => use.rejected),
      sum(use => use.unexpected429),
      sum(use => use.missing429),
    ]
  })
  const titles = ['limit', 'tier', 'callers', 'accepted', '429', 'unexpected 429', 'missing 429']
  const sides = titles.map((_, index) => (index < 2 ? 'left' : 'right'))
  return ['### Limits', '', ...markdownTable(titles, sides, rows), ...omitted(scopes.length)]
}

function coverage({ clauses }: Report): Lines {
  const of = (status: Report['clauses'][number]['verdict']) => clauses.filter(clause => clause.verdict === status)
  const judged = clauses.reduce((sum, clause) => sum + clause.judged, 0)
  const left = of('not-exercised')
  const counts = `${of('pass').length} kept, ${of('fail').length} broken, ${left.length} not exercised`
  const names = left.map(({ id }) => code(id)).join(' ')
  return [
    '### Clauses',
    '',
    `${counts} (${plural(judged, 'judgement')})`,
    ...(left.length === 0 ? [] : ['', ...details('Not exercised', [names])]),
  ]
}

function harness({ load }: Report): Lines {
  const { planned, sent, answered, failed, dropped, latenessMs, eventLoopDelayMs } = load
  const ends = `${count(answered)} answered, ${count(failed)} failed, ${count(dropped)} dropped`
  const { p50, p99, max } = latenessMs
  const gap = recordGap(load)
  const delay =
    eventLoopDelayMs === null
      ? NO_VALUE
      : `p99 ${formatDuration(eventLoopDelayMs.p99)}, max ${formatDuration(eventLoopDelayMs.max)}`
  return [
    '### The harness itself',
    '',
    `${plural(sent, 'request')} sent, ${count(planned)} forecast; ${ends}.`,
    `Lateness p50 ${formatDuration(p50)}, p99 ${formatDuration(p99)}, max ${formatDuration(max)}; event loop delay ${delay}.`,
    ...(gap === null ? [] : ['', `${gap}.`]),
    ...(load.pushed === null ? [] : [`${pushedWords(load.pushed)}.`]),
    ...workerLines(load).flatMap(line => ['', `${line}.`]),
  ]
}

const omitted = (length: number): Lines =>
  length > mostRows ? ['', `_${length - mostRows} more: see report.json._`] : []
