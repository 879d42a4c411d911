import { sleepUntil } from '../../lib/clock.ts'
import { type RunInfo, sumPushes } from '../../observation/log-lines.ts'
import { traceIdsOf } from '../../observation/trace-id.ts'
import type { Plan } from '../../plan/plan.ts'
import type { LiveRun, Output } from '../output.ts'
import type { ExpositionSource } from '../prometheus/samples.ts'
import { type PushLoop, startPushLoop } from '../remote-write/push-loop.ts'
import { createPost, finishInTime, type ReceiverLink } from '../remote-write/receiver.ts'
import { createSendQueue } from '../remote-write/send-queue.ts'
import type { ReadOutput } from '../requested-output.ts'
import { type Attributes, createMetricsEncoder } from './encoder.ts'
import { type Metric, readMetrics, verdictMetrics } from './metrics.ts'
import { otlpRules, parseOtlpReceiver } from './receiver.ts'
import { spanBatches } from './spans.ts'

const request = {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'content-encoding': 'gzip', 'user-agent': 'turnpike' },
} as const

/** `--otlp`: the address of a receiver, which also gets spans with `--traces`. */
export const otlpOutput: ReadOutput = (given, { values, environment }) => {
  const receiver = parseOtlpReceiver(given, environment)
  return {
    create: ({ plan, info, sourceOf, linkTo }) => {
      const traces = values.traces === true ? linkTo(receiver.traces, 'OTLP to') : null
      const output = createOtlp({ metrics: linkTo(receiver.metrics, 'OTLP to'), traces }, info, plan, sourceOf)
      return { ...output, needs: 'gauges' }
    },
  }
}

/** The links to the receivers of the two signals; `traces` is null without spans. */
export type OtlpLinks = { readonly metrics: ReceiverLink; readonly traces: ReceiverLink | null }

/**
 * Exports all metrics of a run over OTLP/HTTP during the run, and its verdict at the end. With `traces`, also spans of
 * the requests that were chosen for them.
 */
export function createOtlp(
  links: OtlpLinks,
  info: RunInfo,
  plan: Pick<Plan, 'scenario' | 'seed'>,
  sourceOf: (live: LiveRun) => ExpositionSource,
): Output & Required<Pick<Output, 'pushCounts'>> {
  const { clock, note } = links.metrics
  const { runId, version, startedAtMs, target } = info
  const resource = resourceOf(info, plan)
  const encoder = createMetricsEncoder(resource, { version, startMs: startedAtMs }, () =>
    sleepUntil(clock, clock.nowMs()),
  )
  const metrics = queueTo(links.metrics)
  const spans = links.traces && queueTo(links.traces)
  const terms = { resource, version, traceIds: traceIdsOf(runId), target, startedAtMs }
  let loop: PushLoop<readonly Metric[]> | null = null

  return {
    start: live => {
      const read = readMetrics(sourceOf(live))
      const putSpans = () => {
        for (const batch of spanBatches(live.takeTraced(), terms)) spans?.put(batch)
      }
      loop = startPushLoop<readonly Metric[]>({
        clock,
        queue: metrics,
        note,
        read: async last => {
          const all = chain(await read(), last ?? [])
          // Reading has polled the workers.
          putSpans()
          return atMs => encoder.write(all, atMs)
        },
        end: atMs => encoder.write([], atMs),
      })
    },
    finish: async (report, quit) => {
      await finishInTime(clock, quit, async until => {
        await loop?.finish(verdictMetrics(report), until)
        await spans?.flush(until)
      })
      links.metrics.reportCounts(metrics.tally())
      if (spans !== null) links.traces?.reportCounts(spans.tally(), 'span')
    },
    pushCounts: () =>
      sumPushes(spans === null ? [metrics.tally()] : [metrics.tally(), spans.tally()]) ?? metrics.tally(),
    close: async () => {
      loop?.stop()
      await links.metrics.close()
      await links.traces?.close()
    },
  }
}

const queueTo = (link: ReceiverLink) => {
  const { clock, note } = link
  return createSendQueue({ clock, note, post: createPost(link, request, otlpRules) })
}

/** Prometheus makes `job` and `instance` of name and instance id: the same labels as of remote write. */
const resourceOf = ({ runId, version }: RunInfo, { scenario, seed }: Pick<Plan, 'scenario' | 'seed'>): Attributes => ({
  'service.name': 'turnpike',
  'service.version': version,
  'service.instance.id': runId,
  'turnpike.run.id': runId,
  'turnpike.scenario': scenario,
  'turnpike.seed': { int: seed },
})

function* chain<Item>(...lists: readonly Iterable<Item>[]): Iterable<Item> {
  for (const list of lists) yield* list
}
