import { count, formatDuration, formatRate, formatRatio, NO_VALUE, plural } from '../lib/format.ts'
import { clip, oneLine } from '../lib/text-layout.ts'
import type { ProgressSnapshot } from './progress-snapshot.ts'

/** A few lines for a terminal, none wider than it. */
export function progressBlock(snapshot: ProgressSnapshot, columns: number): readonly string[] {
  const { inFlight, latencyP95Ms, ttftP95Ms, violations, claimedUsd } = snapshot
  const planned = snapshot.stage.planned
  const offered = planned === null ? NO_VALUE : formatRate(planned.offeredPerSecond)
  const achieved = planned === null ? NO_VALUE : formatRate(planned.achievedPerSecond)
  const lines = [
    stageLine(snapshot, columns),
    `rate ${offered} offered, ${achieved} answered   in flight ${count(inFlight)}`,
    `p95 latency ${formatDuration(latencyP95Ms)}, ttft ${formatDuration(ttftP95Ms)}   ${answers(snapshot)}`,
    `${plural(violations, 'violation')}   $${claimedUsd} spent`,
  ]
  return lines.map(line => clip(line, columns))
}

const BAR_WIDTH = 20

function stageLine({ scenario, stage, elapsedMs, totalMs }: ProgressSnapshot, columns: number): string {
  const { name, planned } = stage
  if (planned === null) return `${scenario} ${name}`
  const share = planned.durationMs === 0 ? 1 : planned.elapsedMs / planned.durationMs
  const done = Math.floor(share * BAR_WIDTH)
  const bar = columns < 60 ? '' : ` ${'█'.repeat(done)}${'░'.repeat(BAR_WIDTH - done)}`
  const left = formatDuration(Math.max(0, totalMs - elapsedMs))
  const of = `${planned.position}/${planned.of}`
  return `${scenario} ${of} ${name}${bar} ${formatRatio(Math.floor(share * 100) / 100)}   ${formatDuration(elapsedMs)} gone, ${left} left`
}

function answers({ statuses, failed, dropped }: ProgressSnapshot): string {
  const ends = [...Object.entries(statuses), ['failed', failed] as const, ['dropped', dropped] as const]
  return ends
    .filter(([, n]) => n > 0)
    .map(([end, n]) => `${end} × ${count(n)}`)
    .join(', ')
}

/** One line for a pipe or a log of CI: `key=value`, and no key where there is no value. */
export function progressLine(snapshot: ProgressSnapshot): string {
  const { stage, statuses } = snapshot
  const fields: readonly (readonly [string, string | number | null])[] = [
    ['elapsed_s', Math.round(snapshot.elapsedMs / 1000)],
    ['remaining_s', Math.round((snapshot.totalMs - snapshot.elapsedMs) / 1000)],
    ['stage', stage.name],
    ['offered_per_s', stage.planned?.offeredPerSecond ?? null],
    ['answered_per_s', stage.planned?.achievedPerSecond ?? null],
    ['in_flight', snapshot.inFlight],
    ['sent', snapshot.sent],
    ['failed', snapshot.failed],
    ['dropped', snapshot.dropped],
    ...Object.entries(statuses).map(([status, n]) => [`status_${status}`, n] as const),
    ['latency_p95_ms', snapshot.latencyP95Ms],
    ['ttft_p95_ms', snapshot.ttftP95Ms],
    ['violations', snapshot.violations],
    ['spent_usd', snapshot.claimedUsd],
  ]
  return fields
    .filter(([, value]) => value !== null)
    .map(([key, value]) => `${key}=${typeof value === 'number' ? Number(value.toFixed(2)) : quoted(String(value))}`)
    .join(' ')
}

const quoted = (text: string): string => (/[\s"=]/.test(text) ? JSON.stringify(oneLine(text)) : oneLine(text))
