import type { Contract } from '../contract/contract.ts'
import type { Clock } from '../lib/clock.ts'
import { jsonLines, type Lines } from '../lib/log.ts'
import { UsageError } from '../lib/usage-error.ts'
import type { ExpositionSource } from '../metrics/exposition.ts'
import { createMeters, type Meters } from '../metrics/meters.ts'
import { serveMetrics } from '../metrics/metrics-server.ts'
import { createExposition } from '../metrics/prometheus.ts'
import type { LogHead } from '../observation/log.ts'
import type { Sink } from '../observation/observation.ts'
import { describePlan } from '../plan/describe-plan.ts'
import type { Plan } from '../plan/plan.ts'
import { offeredNow, snapshotProgress } from '../report/progress-snapshot.ts'
import { createProgressWriter, type ProgressWriter } from '../report/progress-writer.ts'
import type { Report } from '../report/report.ts'
import type { Live } from '../run/carry-out.ts'
import { text, type Values } from './command.ts'
import { createPush, type Push, type Receivers } from './push-run.ts'

/** What a person, or Prometheus, sees of a run while it goes. */
export type Watch = {
  readonly add: Sink
  readonly start: (live: Live) => void
  readonly log: (line: string) => void
  readonly stop: () => void
  readonly pushed: Push['tally']
  /** Pushes what the run came to, to whoever is to be told. */
  readonly conclude: (report: Report, quit: AbortSignal) => Promise<void>
  readonly close: () => Promise<void>
}

type Watched = {
  readonly plan: Plan
  readonly contract: Contract
  readonly head: LogHead
  readonly clock: Clock
  readonly values: Values
  readonly path: string
  readonly receivers: Receivers
}

export async function watchRun({ plan, contract, head, clock, values, path, receivers }: Watched): Promise<Watch> {
  const quiet = values.quiet === true
  const terminal = process.stderr
  const asJson = values.log === 'json'
  const stream: Lines = asJson ? jsonLines() : terminal
  const interactive = !asJson && terminal.isTTY === true && process.env.CI === undefined && process.env.TERM !== 'dumb'
  let source: ExpositionSource | null = null
  let writer: ProgressWriter | null = null
  const meters = createMeters(contract)
  const render = () => (source === null ? null : createExposition(source).render)
  const endpoint = await serveLive(text(values, 'metrics'), render)
  const log = (line: string) => {
    if (!quiet) writer === null ? stream.write(`${line}\n`) : writer.log(line)
  }
  if (plan.target !== null && !quiet) stream.write(`${describePlan(plan)}\n`)
  log(plan.target === null ? `Started a reference service at ${head.target}.` : `The target is ${head.target}.`)
  log(`Run ${head.runId}: ${plan.scenario}, seed ${plan.seed}, into ${path}`)
  if (endpoint !== null) log(`Metrics are at http://${endpoint.host}:${endpoint.port}/metrics`)

  const push = createPush({ receivers, plan, head, clock, log })

  const stop = () => {
    writer?.stop()
    writer = null
  }

  return {
    log,
    // Nobody looks at the meters but Prometheus.
    add: endpoint === null && !push.isAsked ? () => {} : meters.add,
    start: started => {
      source = expositionSource(started, meters, push, { plan, head, clock })
      push.start(source)
      if (quiet || values.progress === false) return
      writer = createProgressWriter({
        stream,
        interactive,
        columns: () => terminal.columns ?? 80,
        clock,
        snapshot: () =>
          snapshotProgress({
            plan,
            metrics: started.judgement.metrics,
            stage: started.stage(),
            loadElapsedMs: clock.nowMs() - (started.loadStartMs() ?? clock.nowMs()),
            inFlight: started.inFlight.count(),
            violations: started.judgement.docket.violations(),
            claimedUsd: started.judgement.audits.billing().claimedUsd,
          }),
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

type Endpoint = { readonly host: string; readonly port: number; readonly close: () => Promise<void> }

/** Serves `/metrics` at `[host]:port`. Before the first request there is nothing to show but that the run exists. */
async function serveLive(address: string | null, render: () => Render | null): Promise<Endpoint | null> {
  if (address === null) return null
  const match = /^([^\s]*):(\d{1,5})$/.exec(address)
  if (match === null)
    throw new UsageError({ where: '--metrics', got: JSON.stringify(address), expected: '[host]:port, such as :9464' })
  const host = match[1] || '127.0.0.1'
  let known: Render | null = null
  const server = await serveMetrics({
    host,
    port: Number(match[2]),
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

function expositionSource(
  { judgement, inFlight, stage, loadStartMs }: Live,
  meters: Meters,
  push: Push,
  { plan, head, clock }: Pick<Watched, 'plan' | 'head' | 'clock'>,
): ExpositionSource {
  const { metrics, audits, docket, thresholds, capacity, catchUp } = judgement
  const loadElapsedMs = () => clock.nowMs() - (loadStartMs() ?? clock.nowMs())
  return {
    catchUp,
    run: { id: head.runId, scenario: plan.scenario, seed: plan.seed, version: head.version },
    metrics,
    meters,
    inFlight: inFlight.count,
    stage: () => ({ name: stage(), offeredPerSecond: offeredNow(plan, stage(), loadElapsedMs()) }),
    billing: audits.billing,
    tallies: docket.tallies,
    limits: audits.limits,
    thresholds,
    capacity: () => capacity.results(false),
    pushed: push.tally,
  }
}
