import type { Clock } from '../lib/clock.ts'
import { oneLine, visible } from '../lib/visible.ts'
import type { RunWatch, WatchRun } from '../library/run-draft.ts'
import type { RunInfo } from '../observation/log-lines.ts'
import { escapeWorkflowCommands, gitHubOutput, isGitHubActions } from '../outputs/github.ts'
import type { Output } from '../outputs/output.ts'
import { createJsonLog, createProgress, type LineWriter, type TerminalSize } from '../outputs/progress.ts'
import { sourceOf } from '../outputs/prometheus/samples.ts'
import type { Receiver, ReceiverLink } from '../outputs/remote-write/receiver.ts'
import type { RequestedOutput, WatchedRun } from '../outputs/requested-output.ts'
import { describeLimits, describePlan, differingLimits } from '../plan/describe-plan.ts'
import type { Plan } from '../plan/plan.ts'
import { undiciTransport } from '../produce/transport/undici.ts'
import { pushedWords } from '../report/sections/harness.ts'
import { pushCounts } from '../run/run.ts'
import type { Values } from './flags.ts'
import { type Interrupts, listenForInterrupts } from './interrupts.ts'
import { isColored, isInteractive, layoutOf, showReport } from './print.ts'
import { hidden, hiddenIn } from './secrets.ts'

/** The outputs of a run that this terminal watches, and the signals that end it. Throws a UsageError. */
export async function watchRun(
  run: Parameters<WatchRun>[0],
  path: string,
  values: Values,
  requested: readonly RequestedOutput[],
): Promise<RunWatch> {
  const interrupts = listenForInterrupts()
  const { stop, quit, onFirst, dispose } = interrupts
  const made = createOutputs(run, path, values, requested, interrupts)
  made.catch(dispose)
  const outputs = await made
  onFirst(() => outputs.log('Interrupted. Waiting for requests in flight; press ^C again to quit now.'))
  return { ...outputs, stop, quit, close: () => outputs.close().finally(dispose) }
}

/** Creates the outputs that the flags request, and writes notes about the run. Throws a UsageError. */
async function createOutputs(
  { plan, info, clock }: Parameters<WatchRun>[0],
  path: string,
  values: Values,
  requested: readonly RequestedOutput[],
  interrupts: Pick<Interrupts, 'stop' | 'interrupt'>,
): Promise<Omit<RunWatch, 'stop' | 'quit'>> {
  const isQuiet = values.quiet === true
  const asJson = values.log === 'json'
  const { stderr } = process
  const stream: LineWriter = asJson ? maskedLines(createJsonLog()) : { write: text => stderr.write(forRunner(text)) }
  const interactive = !asJson && isInteractive(stderr)
  const isShown = !isQuiet && values.progress !== false
  const size = () => sizeOf(stderr)
  const progress = createProgress(plan, { stream, interactive, size, color: isColored(stderr), clock })
  const write = isShown ? progress.log : (line: string) => void stream.write(`${line}\n`)
  const warn = (line: string) => write(oneLine(line))
  const log = (line: string) => {
    if (!isQuiet) warn(line)
  }
  const print: Output = {
    start: () => {},
    finish: async report => showReport(report, path, values),
    close: async () => {},
  }
  const watched: WatchedRun = {
    ...{ plan, info, clock, ...interrupts },
    sourceOf: live => sourceOf(live, plan, info, clock, () => pushCounts(outputs)),
    linkTo: (receiver, name) => linkTo(receiver, name, clock, { log, warn, isQuiet }),
  }
  const created: Output[] = []
  for (const { create } of requested) created.push(await create(watched))
  // The order matters: progress is erased before the report is printed.
  const outputs = [...(isShown ? [progress] : []), print, gitHubOutput, ...created]
  if (plan.target !== null && !isQuiet)
    stream.write(`${visible(describePlan(plan, undefined, layoutOf(stderr).columns))}\n`)
  for (const line of [...openingNotes(plan, info, path), ...created.flatMap(({ note }) => note ?? [])]) log(line)
  return {
    outputs,
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
            `The target publishes different limits than the profile: ${differing.join(', ')} per minute. Rates use the limits of the ${limits.by}.`,
          ]
  return [
    target === null ? `Started a reference service at ${info.target}.` : `The target is ${info.target}.`,
    `Run ${info.runId}: ${scenario}, seed ${seed}, into ${path}`,
    ...aboutLimits,
  ]
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
