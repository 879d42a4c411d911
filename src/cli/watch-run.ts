import type { Cancel, Clock } from '../lib/clock.ts'
import { createJsonLog, type LineWriter } from '../lib/log.ts'
import { UsageError } from '../lib/usage-error.ts'
import type { RunHead } from '../observation/log.ts'
import { describeLimits, differingLimits } from '../plan/describe-limits.ts'
import { describePlan } from '../plan/describe-plan.ts'
import type { Plan } from '../plan/plan.ts'
import { type ExpositionSource, inSteadyOrder } from '../push/exposition.ts'
import { serveMetrics } from '../push/metrics-server.ts'
import { createExposition } from '../push/prometheus.ts'
import { offeredNow, snapshotProgress } from '../report/progress-snapshot.ts'
import { createProgressWriter, type ProgressWriter } from '../report/progress-writer.ts'
import type { Report } from '../report/report.ts'
import type { Live } from '../run/live.ts'
import { text, type Values } from './command.ts'
import { createPush, type Push, type Receivers } from './push-run.ts'

/** What a person, or Prometheus, sees of a run while it goes. */
export type Watch = {
  /** Whether anybody may scrape it. */
  readonly isMetered: boolean
  readonly start: (live: Live) => void
  readonly log: (line: string) => void
  readonly stop: () => void
  readonly pushed: Push['tally']
  /** Pushes what the run came to, to whoever is to be told. */
  readonly conclude: (report: Report, quit: AbortSignal) => Promise<void>
  readonly close: () => Promise<void>
}

/** Progress is as old as this at most. */
const freshMs = 1_000

type Watched = {
  readonly plan: Plan
  readonly head: RunHead
  readonly clock: Clock
  readonly values: Values
  readonly path: string
  readonly receivers: Receivers
}

export async function watchRun({ plan, head, clock, values, path, receivers }: Watched): Promise<Watch> {
  const quiet = values.quiet === true
  const terminal = process.stderr
  const isShown = !quiet && values.progress !== false
  const asJson = values.log === 'json'
  const stream: LineWriter = asJson ? createJsonLog() : terminal
  const interactive = !asJson && terminal.isTTY === true && process.env.CI === undefined && process.env.TERM !== 'dumb'
  let source: ExpositionSource | null = null
  let writer: ProgressWriter | null = null
  const render = () => (source === null ? null : createExposition(source).render)
  const endpoint = await serveLive(metricsAddress(values), render)
  const warn = (line: string) => {
    writer === null ? stream.write(`${line}\n`) : writer.log(line)
  }
  const log = (line: string) => {
    if (!quiet) warn(line)
  }
  if (plan.target !== null && !quiet) stream.write(`${describePlan(plan)}\n`)
  log(plan.target === null ? `Started a reference service at ${head.target}.` : `The target is ${head.target}.`)
  log(`Run ${head.runId}: ${plan.scenario}, seed ${plan.seed}, into ${path}`)
  for (const line of limitNotes(plan)) log(line)
  if (endpoint !== null) log(`Metrics are at http://${endpoint.host}:${endpoint.port}/metrics`)

  const push = createPush({ receivers, plan, head, clock, log, warn, isQuiet: quiet })
  let cancel: Cancel | null = null
  let isOpen = true
  const keepFresh = (started: Live) => {
    cancel = clock.at(clock.nowMs() + freshMs, () => void started.refresh().then(() => isOpen && keepFresh(started)))
  }

  const stop = () => {
    isOpen = false
    cancel?.()
    writer?.stop()
    writer = null
  }

  return {
    log,
    // Nobody looks at the meters but Prometheus.
    isMetered: endpoint !== null || push.isAsked,
    start: started => {
      source = expositionSource(started, push, { plan, head, clock })
      push.start(source)
      if (isShown || push.isAsked) keepFresh(started)
      if (!isShown) return
      writer = createProgressWriter({
        stream,
        interactive,
        columns: () => terminal.columns ?? 80,
        clock,
        snapshot: () => {
          const { metrics, docket, audits, capacity } = started.readings()
          return snapshotProgress({
            plan,
            metrics,
            stage: started.stage(),
            loadElapsedMs: loadElapsedMs(started, clock),
            inFlight: started.inFlight(),
            violations: docket.violations(),
            claimedUsd: audits.billing().claimedUsd,
            capacity: capacity(false),
          })
        },
      })
    },
    stop,
    pushed: push.tally,
    conclude: push.finish,
    close: async () => {
      stop()
      await push.close()
      await endpoint?.close()
    },
  }
}

type Endpoint = Address & { readonly close: () => Promise<void> }

/** What a reader of the rates should know, whoever the target is. */
function limitNotes({ limits }: Plan): readonly string[] {
  const others = differingLimits(limits)
  if (limits.asked.kind === 'failed') return [`Limits are ${describeLimits(limits)}.`]
  return others.length === 0
    ? []
    : [`The target grants other limits than the profile: ${others.join(', ')} a minute. Rates go by the ${limits.by}.`]
}

type Address = { readonly host: string; readonly port: number }

/** Where `/metrics` is to be served; null: nowhere. Throws a UsageError when the flag names no address. */
export function metricsAddress(values: Values): Address | null {
  const address = text(values, 'metrics')
  if (address === null) return null
  const match = /^([^\s]*):(\d{1,5})$/.exec(address)
  if (match === null)
    throw new UsageError({ where: '--metrics', got: JSON.stringify(address), expected: '[host]:port, such as :9464' })
  return { host: match[1] || '127.0.0.1', port: Number(match[2]) }
}

/** Serves `/metrics`. Before the first request there is nothing to show but that the run exists. */
async function serveLive(address: Address | null, render: () => Render | null): Promise<Endpoint | null> {
  if (address === null) return null
  const { host, port } = address
  let known: Render | null = null
  const server = await serveMetrics({
    host,
    port,
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
    render: () => {
      known ??= render()
      return known?.() ?? Promise.resolve('')
    },
  }).catch(cause => {
    throw new UsageError({
      where: '--metrics',
      got: String((cause as NodeJS.ErrnoException).code),
      expected: 'a free port',
    })
  })
  return { host, port: server.port, close: server.close }
}

type Render = () => Promise<string>

/** Milliseconds since the first stage began; 0 before. */
const loadElapsedMs = ({ loadStartMs }: Live, clock: Clock): number =>
  Math.max(0, clock.nowMs() - (loadStartMs() ?? clock.nowMs()))

function expositionSource(
  live: Live,
  push: Push,
  { plan, head, clock }: Pick<Watched, 'plan' | 'head' | 'clock'>,
): ExpositionSource {
  const { readings, meters, inFlight, stage } = live
  return {
    catchUp: live.refresh,
    run: { id: head.runId, scenario: plan.scenario, seed: plan.seed, version: head.version },
    metrics: inSteadyOrder({ cells: () => readings().metrics.cells() }),
    meters: {
      charges: () => meters().charges,
      balances: () => meters().balances,
      remaining: () => meters().remaining,
      blocks: () => meters().blocks,
    },
    inFlight,
    stage: () => ({ name: stage(), offeredPerSecond: offeredNow(plan, stage(), loadElapsedMs(live, clock)) }),
    billing: () => readings().audits.billing(),
    tallies: () => readings().docket.tallies(),
    limits: () => readings().audits.limits(),
    thresholds: () => readings().thresholds(),
    capacity: () => readings().capacity(false),
    pushed: push.tally,
  }
}
