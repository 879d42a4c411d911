import { whatCouldChange } from '../../judge/judge-so-far.ts'
import { count, formatDuration, formatRate, NO_VALUE, plural } from '../../lib/format.ts'
import { parsePico } from '../../lib/money.ts'
import { type Block, chart, code, type Tile, type Tone, toned } from '../../report/blocks.ts'
import type { Report } from '../../report/document.ts'
import { billingSection } from '../../report/sections/billing.ts'
import { callsSection } from '../../report/sections/calls.ts'
import { capacitySection } from '../../report/sections/capacity.ts'
import { clausesSection } from '../../report/sections/clauses.ts'
import { findingsSection } from '../../report/sections/findings.ts'
import { harnessSection } from '../../report/sections/harness.ts'
import { latencySection } from '../../report/sections/latency.ts'
import { limitsSection } from '../../report/sections/limits.ts'
import { loadSection } from '../../report/sections/load.ts'
import { thresholdsSection } from '../../report/sections/thresholds.ts'
import type { LiveWorker } from '../output.ts'
import type { ProgressSnapshot } from '../progress-snapshot.ts'

/** A run in progress: its report as if it were complete now, and where it is. */
export type RunNow = {
  readonly report: Report
  readonly progress: ProgressSnapshot
  readonly workers: readonly LiveWorker[]
}

/** The page of a run in progress. Below its head, it has the sections of the report. */
export const liveBlocks = (now: RunNow): readonly Block[] => [
  ...headBlocks(now),
  ...findingsSection(now.report).filter(block => block.kind !== 'text'),
  ...thresholdsSection(now.report),
  ...capacitySection(now.report),
  ...loadSection(now.report),
  ...callsSection(now.report),
  ...latencySection(now.report),
  ...limitsSection(now.report),
  ...billingSection(now.report),
  ...budgetBlocks(now),
  ...harnessSection(now.report),
  ...workerBlocks(now),
  // Without the lists by name, which would be the largest part of each frame.
  ...clausesSection(now.report).filter(({ kind }) => kind !== 'list' && kind !== 'details' && kind !== 'table'),
]

function headBlocks({ report, progress }: RunNow): readonly Block[] {
  const { verdict, reasons, run } = report
  return [
    { kind: 'heading', text: run.scenario, verdict: { status: verdict, words: `${verdict} so far` } },
    ...(run.question === null ? [] : [{ kind: 'text', look: 'question', text: run.question } as const]),
    { kind: 'text', text: toned('strong', whatCouldChange(report)) },
    { kind: 'list', look: 'reasons', items: reasons },
    {
      kind: 'text',
      look: 'facts',
      text: toned('quiet', ['run ', code(run.id), ' · target ', code(run.target), ` · from ${run.startedAt}`]),
    },
    chart({ draw: 'tiles', tiles: tiles(report, progress) }),
  ]
}

function tiles(report: Report, progress: ProgressSnapshot): readonly Tile[] {
  const { load, findings } = report
  const { stage, elapsedMs, totalMs, isAtMost, inFlight, maxInFlight, achievedPerSecond } = progress
  const violations = findings.reduce((sum, finding) => sum + finding.count, 0)
  const offered = stage.planned?.offeredPerSecond ?? null
  const position = stage.planned === null ? 'no stage' : `stage ${stage.planned.position} of ${stage.planned.of}`
  const left = `${isAtMost ? 'at most ' : ''}${formatDuration(Math.max(0, totalMs - elapsedMs))} left`
  return [
    { name: 'stage', value: stage.name, note: position, tone: null },
    { name: 'elapsed', value: formatDuration(elapsedMs), note: left, tone: null },
    {
      name: 'achieved',
      value: formatRate(achievedPerSecond),
      note: offered === null ? 'responses set the pace' : `${formatRate(offered)} offered`,
      tone: null,
    },
    { name: 'in flight', value: count(inFlight), note: `at most ${count(maxInFlight)}`, tone: null },
    {
      name: 'responses',
      value: count(load.answered),
      note: `${count(load.failed)} failed, ${count(load.dropped)} dropped`,
      tone: load.failed > 0 ? 'doubtful' : null,
    },
    {
      name: 'violations',
      value: count(violations),
      note: plural(findings.length, 'clause'),
      tone: violations > 0 ? 'bad' : null,
    },
    budgetTile(progress),
  ]
}

/** What is claimed so far, of the budget. */
function budgetTile({ claimedUsd, budgetUsd }: ProgressSnapshot): Tile {
  const share = spentShare(claimedUsd, budgetUsd)
  return {
    name: 'claimed',
    value: `$${shortUsd(claimedUsd)}`,
    note: budgetUsd === null ? 'no budget' : `of a budget of $${budgetUsd}`,
    tone: share === null ? null : toneOfShare(share),
  }
}

const shortUsd = (usd: string): string => String(Number(Number(usd).toPrecision(3)))

/** null: there is no budget. */
function spentShare(claimedUsd: string, budgetUsd: string | null): number | null {
  const budget = budgetUsd === null ? null : parsePico(budgetUsd)
  const claimed = parsePico(claimedUsd)
  if (budget === null || claimed === null || budget <= 0n) return null
  return Math.min(1, Number((claimed * 10_000n) / budget) / 10_000)
}

const toneOfShare = (share: number): Tone | null => (share >= 1 ? 'bad' : share >= 0.8 ? 'doubtful' : null)

/** The budget as it empties. */
function budgetBlocks({ progress: { claimedUsd, budgetUsd } }: RunNow): readonly Block[] {
  const share = spentShare(claimedUsd, budgetUsd)
  if (share === null) return []
  const left = `${Number(((1 - share) * 100).toFixed(1))} % left`
  return [
    chart({
      draw: 'lanes',
      title: 'Budget',
      note: 'claimed so far, of the budget',
      axis: { scale: 'plain', from: 0, to: 1 },
      height: 18,
      lanes: [
        {
          name: `$${budgetUsd}`,
          label: `Budget: ${left}`,
          end: left,
          marks: [
            { mark: 'shade', from: 0, to: 1 },
            { mark: 'bar', from: 0, to: share, share: 1, text: `$${claimedUsd} of $${budgetUsd}` },
          ],
        },
      ],
    }),
  ]
}

/** The health of each worker, if there are several or they are elsewhere. */
function workerBlocks({ report, workers }: RunNow): readonly Block[] {
  if (workers.length < 2 && workers.every(({ name }) => name === null)) return []
  return [
    {
      kind: 'table',
      folds: true,
      columns: [
        { title: 'worker', wraps: true },
        { title: 'state' },
        ...['callers', 'sent', 'in flight', 'lateness p99', 'event-loop delay p99'].map(
          title => ({ title, align: 'right' }) as const,
        ),
      ],
      rows: workers.map(({ worker, name, isLost, stage, inFlight }) => {
        const facts = report.load.workers.find(each => each.worker === worker)
        return {
          cells: [
            [String(worker), ...(name === null ? [] : [' ', code(name)])],
            isLost ? toned('bad', 'lost') : toned('good', stage),
            count(facts?.callers ?? null),
            count(facts?.sent ?? null),
            count(inFlight),
            formatDuration(facts?.latenessMs.p99 ?? null),
            facts?.eventLoopDelayMs == null ? NO_VALUE : formatDuration(facts.eventLoopDelayMs.p99),
          ],
        }
      }),
    },
  ]
}
