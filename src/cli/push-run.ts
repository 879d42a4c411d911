import type { Clock } from '../lib/clock.ts'
import type { ExpositionSource } from '../metrics/exposition.ts'
import { watchProcess } from '../metrics/prometheus.ts'
import type { PushTally, RunHead } from '../observation/log.ts'
import type { Plan } from '../plan/plan.ts'
import { createOutbox, type Outbox } from '../push/outbox.ts'
import { createPushGateway } from '../push/push-gateway.ts'
import { createReadings, ofFamily } from '../push/readings.ts'
import { postTo, type Receiver, receiverAt } from '../push/receiver.ts'
import { type RemoteWriter, remoteWriteRequest, startRemoteWriter } from '../push/remote-writer.ts'
import { verdictFamilies } from '../push/verdict-families.ts'
import { pushedWords } from '../report/pushed-words.ts'
import type { Report } from '../report/report.ts'
import { type UndiciTransport, undiciTransport } from '../transport/undici-transport.ts'
import { text, type Values } from './command.ts'

/** Who is told of a run; null: nobody. */
export type Receivers = { readonly remoteWrite: Receiver | null; readonly pushGateway: Receiver | null }

/** Pushes what is known of a run. Whatever becomes of it, the verdict stays what it is. */
export type Push = {
  readonly isAsked: boolean
  readonly start: (source: ExpositionSource) => void
  /** Of the remote write; null where there is none. */
  readonly tally: () => PushTally | null
  /** Pushes what the run came to. Resolves soon, and at once when `quit` aborts. */
  readonly finish: (report: Report, quit: AbortSignal) => Promise<void>
  readonly close: () => Promise<void>
}

type Pushed = {
  readonly receivers: Receivers
  readonly plan: Plan
  readonly head: RunHead
  readonly clock: Clock
  readonly log: (line: string) => void
}

/** How long the end of a run waits for receivers. */
const longestFinishMs = 10_000

/** The receivers that the flags name, with credentials from the environment. Throws a UsageError. */
export function receiversOf(values: Values, environment: Readonly<Record<string, string | undefined>>): Receivers {
  const receiver = (flag: string, variable: string) => {
    const address = text(values, flag)
    return address === null ? null : receiverAt(`--${flag}`, address, variable, environment[variable])
  }
  return {
    remoteWrite: receiver('remote-write', 'TURNPIKE_REMOTE_WRITE_CREDENTIALS'),
    pushGateway: receiver('push-gateway', 'TURNPIKE_PUSH_GATEWAY_CREDENTIALS'),
  }
}

export function createPush({ receivers, plan, head, clock, log }: Pushed): Push {
  const { remoteWrite, pushGateway } = receivers
  const transports: UndiciTransport[] = []
  const sendTo = ({ address }: Receiver): UndiciTransport['send'] => {
    const transport = undiciTransport({ baseUrl: new URL(address).origin, clock, maxConnections: 1 })
    transports.push(transport)
    return transport.send
  }
  const remote = remoteWrite === null ? null : openRemoteWrite(remoteWrite)
  const gateway = pushGateway === null ? null : openGateway(pushGateway)
  let writer: RemoteWriter | null = null

  function openRemoteWrite(receiver: Receiver): { receiver: Receiver; outbox: Outbox; note: (line: string) => void } {
    const note = (line: string) => log(`Remote write to ${receiver.address}: ${line}`)
    const post = postTo(receiver, remoteWriteRequest, sendTo(receiver), clock)
    return { receiver, outbox: createOutbox({ clock, post, note }), note }
  }

  function openGateway(receiver: Receiver) {
    const note = (line: string) => log(`Pushgateway at ${receiver.address}: ${line}`)
    return {
      receiver,
      ...createPushGateway(receiver, { scenario: plan.scenario, clock, send: sendTo(receiver), note }),
    }
  }

  const conclude = ({ address }: Receiver, tally: PushTally) =>
    log(`${tally.lostSamples > 0 ? 'Warning: ' : ''}${pushedWords(tally)} (${address})`)

  return {
    isAsked: remote !== null,
    tally: () => remote?.outbox.tally() ?? null,
    start: source => {
      if (remote === null) return
      const identity = { job: 'turnpike', instance: head.runId }
      const readings = createReadings(source)
      writer = startRemoteWriter({ ...remote, clock, readings, readProcess: watchProcess(), identity })
    },
    finish: async (report, quit) => {
      const over = new AbortController()
      const end = () => over.abort()
      const cancel = clock.at(clock.nowMs() + longestFinishMs, end)
      quit.addEventListener('abort', end, { once: true })
      if (quit.aborted) end()
      const last = verdictFamilies(report).map(ofFamily)
      await Promise.all([writer?.finish(last, over.signal), gateway?.putVerdict(report, over.signal)])
      cancel()
      if (remote !== null) conclude(remote.receiver, remote.outbox.tally())
      if (gateway !== null) conclude(gateway.receiver, gateway.tally())
    },
    close: async () => {
      writer?.stop()
      await Promise.all(transports.map(transport => transport.close()))
    },
  }
}
