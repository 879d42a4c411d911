import type { Clock } from '../lib/clock.ts'
import { UsageError } from '../lib/usage-error.ts'
import { oneLine, visible } from '../lib/visible.ts'
import type { PushCounts, RunInfo } from '../observation/log.ts'
import { escapeWorkflowCommands, gitHubOutput, isGitHubActions } from '../outputs/github.ts'
import { startHttpServer } from '../outputs/http-server.ts'
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
import { listenMistake } from './listen.ts'
import { isColored, showReport } from './print.ts'
import { hidden, hiddenIn } from './secrets.ts'

/** The outputs that the flags request, besides the terminal; null for none. */
export type OutputFlags = {
  /** The address of `/metrics`. */
  readonly metrics: Address | null
  readonly remoteWrite: Receiver | null
  readonly pushgateway: Receiver | null
}

type Address = { readonly host: string; readonly port: number }

/** Reads the flags, and credentials from the environment. Throws a UsageError. */
export function outputFlags(values: Values, environment: Readonly<Record<string, string | undefined>>): OutputFlags {
  const receiver = (flag: string, variable: string) => {
    const address = text(values, flag)
    return address === null ? null : parseReceiver(`--${flag}`, address, variable, environment[variable])
  }
  return {
    metrics: metricsAddress(values),
    remoteWrite: receiver('remote-write', 'TURNPIKE_REMOTE_WRITE_CREDENTIALS'),
    pushgateway: receiver('push-gateway', 'TURNPIKE_PUSH_GATEWAY_CREDENTIALS'),
  }
}

function metricsAddress(values: Values): Address | null {
  const address = text(values, 'metrics')
  if (address === null) return null
  const match = /^([^\s:]*|\[[0-9a-f:.]+\]):(\d{1,5})$/i.exec(address)
  const port = Number(match?.[2])
  if (match !== null && port <= 65_535) return { host: match[1]?.replace(/^\[|\]$/g, '') || '127.0.0.1', port }
  const hint = /^\d{1,5}$/.test(address) ? { hint: `did you mean ":${address}"?` } : {}
  const expected = '[host]:port with a port of at most 65535, such as :9464'
  throw new UsageError({ where: '--metrics', got: JSON.stringify(address), expected, ...hint })
}

/** All outputs of one run. */
export type RunOutputs = {
  readonly outputs: readonly Output[]
  /** Whether one of them reads the gauges. */
  readonly gauges: boolean
  /** Writes a note, unless `--quiet` is set. */
  readonly log: (line: string) => void
  readonly close: () => Promise<void>
}

/** Creates the outputs that the flags request, and writes notes about the run. Throws a UsageError. */
export async function createOutputs(
  plan: Plan,
  info: RunInfo,
  clock: Clock,
  path: string,
  values: Values,
  flags: OutputFlags,
): Promise<RunOutputs> {
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
  if (plan.target !== null && !isQuiet) stream.write(`${visible(describePlan(plan))}\n`)
  for (const line of openingNotes(plan, info, path)) log(line)
  if (scrape !== null) log(`Metrics are at http://${flags.metrics?.host}:${scrape.port}/metrics`)

  const notes: Notes = { log, warn, isQuiet }
  const remoteWrite =
    flags.remoteWrite &&
    createRemoteWrite(linkTo(flags.remoteWrite, 'Remote write to', clock, notes), info.runId, source)
  pushCounts = remoteWrite?.pushCounts ?? pushCounts
  const pushgateway =
    flags.pushgateway && createPushgateway(linkTo(flags.pushgateway, 'Pushgateway at', clock, notes), plan.scenario)
  const print: Output = {
    start: () => {},
    finish: async report => showReport(report, path, values),
    close: async () => {},
  }
  // The order matters: progress is erased before the report is printed.
  const all = [isShown ? progress : null, print, gitHubOutput, scrape, remoteWrite, pushgateway]
  const outputs = all.filter(output => output !== null)
  return {
    outputs,
    // Only Prometheus reads gauges.
    gauges: scrape !== null || remoteWrite !== null,
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
    throw metricsMistake(cause, address)
  })

const metricsMistake = (cause: unknown, address: Address): UsageError =>
  listenMistake(cause, { ...address, hostFlag: '--metrics', portFlag: '--metrics' })

/** Throws a UsageError if the metrics cannot be served at the address, before anything is sent. */
export async function assertCanListen({ metrics }: OutputFlags): Promise<void> {
  if (metrics === null) return
  const server = await startHttpServer({ ...metrics, contentType: '', render: async () => '' }).catch(cause => {
    throw metricsMistake(cause, metrics)
  })
  await server.close()
}

type Notes = {
  readonly log: RunOutputs['log']
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
    reportCounts: counts => {
      const words = `${pushedWords(counts)} (${address})`
      // Without --quiet, the first note was already written.
      const why = isQuiet && firstNote !== null ? `. First problem: ${firstNote}` : ''
      if (counts.lostSamples === 0) log(words)
      else warn(`Warning: ${words}${why}`)
    },
    close: transport.close,
  }
}
