import type { Clock } from '../lib/clock.ts'
import { UsageError } from '../lib/usage-error.ts'
import { oneLine, visible } from '../lib/visible.ts'
import type { RunStart, RunWatch } from '../library/run-draft.ts'
import { type PushCounts, type RunInfo, sumPushes } from '../observation/log-lines.ts'
import { escapeWorkflowCommands, gitHubOutput, isGitHubActions } from '../outputs/github.ts'
import { type HttpServer, listen } from '../outputs/http-server.ts'
import { createLivePage } from '../outputs/live-page/live-page.ts'
import { createOtlp } from '../outputs/otlp/otlp.ts'
import { type OtlpReceiver, parseOtlpReceiver } from '../outputs/otlp/receiver.ts'
import type { LiveRun, Output } from '../outputs/output.ts'
import { createJsonLog, createProgress, type LineWriter, type TerminalSize } from '../outputs/progress.ts'
import { sourceOf } from '../outputs/prometheus/samples.ts'
import { createScrapeOutput } from '../outputs/prometheus/scrape.ts'
import { createPushgateway } from '../outputs/pushgateway.ts'
import { parseReceiver, type Receiver, type ReceiverLink } from '../outputs/remote-write/receiver.ts'
import { createRemoteWrite } from '../outputs/remote-write/remote-write.ts'
import { describeLimits, describePlan, differingLimits } from '../plan/describe-plan.ts'
import type { Plan } from '../plan/plan.ts'
import { undiciTransport } from '../produce/transport/undici.ts'
import { pushedWords } from '../report/sections/harness.ts'
import { text, type Values } from './flags.ts'
import { type Interrupts, listenForInterrupts } from './interrupts.ts'
import { listenMistake } from './listen.ts'
import { isColored, showReport } from './print.ts'
import { hidden, hiddenIn } from './secrets.ts'

/** The outputs that the flags request, besides the terminal; null for none. */
export type OutputFlags = {
  /** The address of `/metrics`. */
  readonly metrics: Address | null
  /** The address of the live page, and the token that allows other machines to end the run. */
  readonly ui: (Address & { readonly token: string | null }) | null
  readonly remoteWrite: Receiver | null
  readonly pushgateway: Receiver | null
  readonly otlp: OtlpReceiver | null
  /** Whether requests carry trace ids, and spans are exported. */
  readonly traces: boolean
}

type Address = { readonly host: string; readonly port: number }

/** Reads the flags, and credentials from the environment. Throws a UsageError. */
export function outputFlags(values: Values, environment: Readonly<Record<string, string | undefined>>): OutputFlags {
  const receiver = (flag: string, variable: string) => {
    const address = text(values, flag)
    return address === null ? null : parseReceiver(`--${flag}`, address, variable, environment[variable])
  }
  const otlp = text(values, 'otlp')
  const traces = values.traces === true
  if (traces && otlp === null)
    throw new UsageError({ where: '--traces', got: 'no receiver', expected: '--otlp with it, for the spans' })
  const ui = addressFlag(values, 'ui')
  return {
    metrics: addressFlag(values, 'metrics'),
    ui: ui && { ...ui, token: environment.TURNPIKE_UI_TOKEN || null },
    remoteWrite: receiver('remote-write', 'TURNPIKE_REMOTE_WRITE_CREDENTIALS'),
    pushgateway: receiver('push-gateway', 'TURNPIKE_PUSH_GATEWAY_CREDENTIALS'),
    otlp: otlp === null ? null : parseOtlpReceiver(otlp, environment),
    traces,
  }
}

function addressFlag(values: Values, flag: 'metrics' | 'ui'): Address | null {
  const given = text(values, flag)
  if (given === null) return null
  // The page is for people, who type the port.
  const address = flag === 'ui' && /^\d{1,5}$/.test(given) ? `:${given}` : given
  const match = /^([^\s:]*|\[[0-9a-f:.]+\]):(\d{1,5})$/i.exec(address)
  const port = Number(match?.[2])
  if (match !== null && port <= 65_535) return { host: match[1]?.replace(/^\[|\]$/g, '') || '127.0.0.1', port }
  const hint = /^\d{1,5}$/.test(address) ? { hint: `did you mean ":${address}"?` } : {}
  const expected = `[host]:port with a port of at most 65535, such as :${flag === 'ui' ? 8400 : 9464}`
  throw new UsageError({ where: `--${flag}`, got: JSON.stringify(given), expected, ...hint })
}

/** The outputs of a run that this terminal watches, and the signals that end it. Throws a UsageError. */
export async function watchRun(start: RunStart, path: string, values: Values, flags: OutputFlags): Promise<RunWatch> {
  const interrupts = listenForInterrupts()
  const { stop, quit, onFirst, dispose } = interrupts
  const made = createOutputs(start, path, values, flags, interrupts)
  made.catch(dispose)
  const outputs = await made
  onFirst(() => outputs.log('Interrupted. Waiting for requests in flight; press ^C again to quit now.'))
  return { ...outputs, stop, quit, close: () => outputs.close().finally(dispose) }
}

/** Creates the outputs that the flags request, and writes notes about the run. Throws a UsageError. */
async function createOutputs(
  { plan, info, clock }: RunStart,
  path: string,
  values: Values,
  flags: OutputFlags,
  interrupts: Pick<Interrupts, 'stop' | 'interrupt'>,
): Promise<Omit<RunWatch, 'stop' | 'quit'>> {
  const isQuiet = values.quiet === true
  const asJson = values.log === 'json'
  const { stderr } = process
  const stream: LineWriter = asJson ? maskedLines(createJsonLog()) : { write: text => stderr.write(forRunner(text)) }
  const interactive = !asJson && stderr.isTTY === true && process.env.CI === undefined && process.env.TERM !== 'dumb'
  const isShown = !isQuiet && values.progress !== false
  const size = () => sizeOf(stderr)
  const progress = createProgress(plan, { stream, interactive, size, color: isColored(stderr), clock })
  const write = isShown ? progress.log : (line: string) => void stream.write(`${line}\n`)
  const warn = (line: string) => write(oneLine(line))
  const log = (line: string) => {
    if (!isQuiet) warn(line)
  }
  let pushCounts: () => PushCounts | null = () => null
  const source = (live: LiveRun) => sourceOf(live, plan, info, clock, () => pushCounts())
  const scrape = flags.metrics && (await scrapeOutput(flags.metrics, source))
  const page = flags.ui && (await livePage(plan, flags.ui, clock, interrupts))
  if (plan.target !== null && !isQuiet) stream.write(`${visible(describePlan(plan))}\n`)
  for (const line of openingNotes(plan, info, path)) log(line)
  if (page !== null) log(`Watch the run at ${pageAddress(flags.ui, page.port)}`)
  if (scrape !== null) log(`Metrics are at http://${flags.metrics?.host}:${scrape.port}/metrics`)

  const notes: Notes = { log, warn, isQuiet }
  const remoteWrite =
    flags.remoteWrite &&
    createRemoteWrite(linkTo(flags.remoteWrite, 'Remote write to', clock, notes), info.runId, source)
  const otlpLinks = flags.otlp && {
    metrics: linkTo(flags.otlp.metrics, 'OTLP to', clock, notes),
    traces: flags.traces ? linkTo(flags.otlp.traces, 'OTLP to', clock, notes) : null,
  }
  const otlp = otlpLinks && createOtlp(otlpLinks, info, plan, source)
  pushCounts = () => sumPushes([remoteWrite, otlp].flatMap(output => output?.pushCounts() ?? []))
  const pushgateway =
    flags.pushgateway && createPushgateway(linkTo(flags.pushgateway, 'Pushgateway at', clock, notes), plan.scenario)
  const print: Output = {
    start: () => {},
    finish: async report => showReport(report, path, values),
    close: async () => {},
  }
  // The order matters: progress is erased before the report is printed.
  const all = [isShown ? progress : null, print, gitHubOutput, scrape, page, remoteWrite, otlp, pushgateway]
  const outputs = all.filter(output => output !== null)
  return {
    outputs,
    // Only exported metrics need gauges.
    gauges: scrape !== null || remoteWrite !== null || otlp !== null,
    details: page !== null,
    log,
    close: async () => {
      for (const output of outputs) await output.close()
    },
  }
}

/** The logger writes past the stream of the process, which is masked. */
const maskedLines = ({ write }: LineWriter): LineWriter => ({
  write: (line, entry) => write(hidden(line), entry === undefined ? entry : hiddenIn(entry)),
})

/** Lines about violations quote the target, and GitHub's runner reads commands from stderr, too. */
const forRunner = (text: string): string => (isGitHubActions() ? escapeWorkflowCommands(text) : text)

/** A terminal that does not know its size says 0. */
const sizeOf = ({ columns, rows }: typeof process.stderr): TerminalSize => ({
  columns: columns || 80,
  rows: rows || 24,
})

/** The target, the run and its limits. */
function openingNotes(plan: Plan, info: RunInfo, path: string): readonly string[] {
  const { target, scenario, seed, limits } = plan
  const differing = differingLimits(limits)
  const aboutLimits =
    limits.discovery.kind === 'failed'
      ? [`Limits are ${describeLimits(limits)}.`]
      : differing.length === 0
        ? []
        : [
            `The target publishes different limits than the profile: ${differing.join(', ')} per minute. Rates use those of the ${limits.by}.`,
          ]
  return [
    target === null ? `Started a reference service at ${info.target}.` : `The target is ${info.target}.`,
    `Run ${info.runId}: ${scenario}, seed ${seed}, into ${path}`,
    ...aboutLimits,
  ]
}

const scrapeOutput = (address: Address, source: Parameters<typeof createScrapeOutput>[1]) =>
  createScrapeOutput(address, source).catch(cause => {
    throw addressMistake('--metrics', cause, address)
  })

const livePage = (
  plan: Plan,
  address: NonNullable<OutputFlags['ui']>,
  clock: Clock,
  { stop, interrupt }: Pick<Interrupts, 'stop' | 'interrupt'>,
) =>
  createLivePage(plan, { ...address, clock, end: interrupt, isEnding: () => stop.aborted }).catch(cause => {
    throw addressMistake('--ui', cause, address)
  })

const addressMistake = (flag: '--metrics' | '--ui', cause: unknown, address: Address): UsageError =>
  listenMistake(cause, { ...address, hostFlag: flag, portFlag: flag })

/** An address that a browser on this machine can open. */
const pageAddress = (address: Address | null, port: number): string => {
  const host = address?.host ?? ''
  const name = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}/`
}

/** Throws a UsageError if the metrics or the page cannot be served at their addresses, before anything is sent. */
export async function assertCanListen({ metrics, ui }: OutputFlags): Promise<void> {
  const addresses = [['--metrics', metrics] as const, ['--ui', ui] as const]
  const servers: HttpServer[] = []
  for (const [flag, address] of addresses) {
    if (address === null) continue
    const server = await listen(address, () => {}).catch(cause => {
      throw addressMistake(flag, cause, address)
    })
    servers.push(server)
  }
  for (const server of servers) await server.close()
}

type Notes = {
  /** Writes a line, unless `--quiet` is set. */
  readonly log: RunWatch['log']
  /** Writes a line, even with `--quiet`. */
  readonly warn: (line: string) => void
  readonly isQuiet: boolean
}

/** Problems with a receiver never change the verdict. */
function linkTo(receiver: Receiver, name: string, clock: Clock, { log, warn, isQuiet }: Notes): ReceiverLink {
  const { address } = receiver
  const transport = undiciTransport({ baseUrl: new URL(address).origin, clock, maxConnections: 1 })
  let firstNote: string | null = null
  return {
    receiver,
    send: transport.send,
    clock,
    note: line => {
      firstNote ??= line
      log(`${name} ${address}: ${line}`)
    },
    reportCounts: (counts, unit) => {
      const words = `${pushedWords(counts, unit)} (${address})`
      // Without --quiet, the first note was already written.
      const why = isQuiet && firstNote !== null ? `. First problem: ${firstNote}` : ''
      if (counts.lostSamples === 0) log(words)
      else warn(`Warning: ${words}${why}`)
    },
    close: transport.close,
  }
}
