import type { Clock } from '../lib/clock.ts'
import type { PushTally, RunHead } from '../observation/log.ts'
import type { Plan } from '../plan/plan.ts'
import type { ExpositionSource } from '../push/exposition.ts'
import { createPushGateway } from '../push/push-gateway.ts'
import { type Line, type Receiver, receiverAt } from '../push/receiver.ts'
import { createRemoteWrite } from '../push/remote-write.ts'
import { pushedWords } from '../report/pushed-words.ts'
import type { Report } from '../report/report.ts'
import { type UndiciTransport, undiciTransport } from '../transport/undici.ts'
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
  /** Where notes are kept back, takes what has to be said all the same. */
  readonly warn: (line: string) => void
  readonly isQuiet: boolean
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

export function createPush({ receivers, plan, head, clock, log, warn, isQuiet }: Pushed): Push {
  const { remoteWrite, pushGateway } = receivers
  const transports: UndiciTransport[] = []
  const firstNotes = new Map<Receiver, string>()
  const lineTo = (receiver: Receiver, words: string): Line => {
    const { address } = receiver
    const transport = undiciTransport({ baseUrl: new URL(address).origin, clock, maxConnections: 1 })
    transports.push(transport)
    const note = (line: string) => {
      if (!firstNotes.has(receiver)) firstNotes.set(receiver, line)
      log(`${words} ${address}: ${line}`)
    }
    return { receiver, send: transport.send, clock, note }
  }
  const remote = remoteWrite && createRemoteWrite(lineTo(remoteWrite, 'Remote write to'), head.runId)
  const gateway = pushGateway && createPushGateway(lineTo(pushGateway, 'Pushgateway at'), plan.scenario)

  const tell = (receiver: Receiver | null, tally: PushTally | undefined) => {
    if (receiver === null || tally === undefined) return
    const words = `${pushedWords(tally)} (${receiver.address})`
    if (tally.lostSamples === 0) log(words)
    else warn(`Warning: ${words}${isQuiet ? why(receiver) : ''}`)
  }

  /** What a run that is not quiet has said long ago. */
  const why = (receiver: Receiver): string => {
    const note = firstNotes.get(receiver)
    return note === undefined ? '' : `. It began with: ${note}`
  }

  return {
    isAsked: remote !== null,
    tally: () => remote?.tally() ?? null,
    start: source => remote?.start(source),
    finish: async (report, quit) => {
      const over = new AbortController()
      const end = () => over.abort()
      const cancel = clock.at(clock.nowMs() + longestFinishMs, end)
      quit.addEventListener('abort', end, { once: true })
      if (quit.aborted) end()
      await Promise.all([remote?.finish(report, over.signal), gateway?.finish(report, over.signal)])
      cancel()
      tell(remoteWrite, remote?.tally())
      tell(pushGateway, gateway?.tally())
    },
    close: async () => {
      remote?.stop()
      await Promise.all(transports.map(transport => transport.close()))
    },
  }
}
