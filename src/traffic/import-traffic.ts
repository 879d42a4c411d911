import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { randomStream } from '../lib/random.ts'
import { whyUnreadable } from '../lib/read-text.ts'
import { hideLikelySecrets, type Mistake, oneOf, UsageError } from '../lib/usage-error.ts'
import { maxRecorded } from '../plan/recorded-load.ts'
import { type FormatName, formatNames, formatOf, formats } from './formats.ts'
import { tooManyRequests } from './read-trace.ts'
import { chunksOf } from './text-source.ts'
import { type TraceRow, type TrafficItem, traceLine } from './trace-row.ts'
import { type CallLengths, scenarioNameFor, traceFileFor, trafficScenario } from './traffic-scenario.ts'

/** How traffic becomes a scenario. */
export type ImportOptions = {
  /** The scenario to write, a path that ends in `.yaml`. The trace gets a name after it. */
  readonly out: string
  /** Default: as its content says. */
  readonly from?: FormatName | undefined
  /** How many times as fast as recorded. Default: 1. */
  readonly speed?: number | undefined
  /** Mean requests per second, in place of `speed`. */
  readonly perSecond?: number | undefined
  /** The share of requests to keep, of whole sessions if there are some. Default: 1. */
  readonly sample?: number | undefined
  /** Decides the sample, and is the seed of the scenario. Default: 1. */
  readonly seed?: number | undefined
  /** Only the requests of this time from the first one on. Default: all. */
  readonly durationMs?: number | undefined
  /** The largest share of bad lines. Default: 0.01. */
  readonly maxBad?: number | undefined
  /** Tokens of the blocks that `hash_ids` name. Default: as usual in the format. */
  readonly blockTokens?: number | undefined
  /** Whether to keep the text of prompts. Default: false. */
  readonly keepsText?: boolean | undefined
  /** Whether the calls of the scenario name the models of the traffic. Default: false. */
  readonly keepsModels?: boolean | undefined
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined
}

/** Where each option has its number, for messages. */
const bounds = {
  speed: [0.001, 1_000],
  perSecond: [0.000001, 1_000_000],
  sample: [0.000001, 1],
  maxBad: [0, 1],
  durationMs: [1, Number.MAX_SAFE_INTEGER],
  blockTokens: [1, 100_000],
} as const

/** Throws a UsageError for a number out of its bounds, and for two options of which one decides. */
function checkOptions(options: ImportOptions): void {
  for (const [name, [min, max]] of Object.entries(bounds)) {
    const value = options[name as keyof typeof bounds]
    if (value === undefined || (value >= min && value <= max)) continue
    throw new UsageError({ where: `import: ${name}`, got: String(value), expected: `a number from ${min} to ${max}` })
  }
  if (options.speed !== undefined && options.perSecond !== undefined)
    throw new UsageError({ where: 'import', got: 'both a speed and a rate', expected: 'one of them' })
  if (!/\.ya?ml$/.test(options.out))
    throw new UsageError({ where: 'import: out', got: options.out, expected: 'a file that ends in .yaml' })
}

export type ImportProgress = { readonly bytes: number; readonly ofBytes: number; readonly requests: number }

/** What became of the traffic. */
export type ImportedTraffic = {
  readonly format: FormatName
  readonly scenario: string
  readonly trace: string
  readonly requests: number
  /** null: more than a million. */
  readonly sessions: number | null
  /** Of the trace, before the speed of the scenario. */
  readonly durationMs: number
  readonly speed: number
  readonly promptTokens: number
  readonly completionTokens: number
  /** Requests that the sample does not keep. */
  readonly notSampled: number
  /** What is not a request to a model, by its reason. */
  readonly leftOut: Readonly<Record<string, number>>
  /** Bad lines, and what is wrong with the first ones. */
  readonly bad: number
  readonly badLines: readonly ({ readonly line: number } & Omit<Mistake, 'where'>)[]
}

/** Mistakes that are explained; more are counted. */
const maxExplained = 10
/** A file that begins with this number of bad lines is of another kind. */
const maxBadAtFirst = 1_000
/** Requests that wait to be sorted: spans are written when they end. */
const maxWaiting = 10_000
/** Bytes of their texts and of the numbers of their blocks. */
const maxWaitingSize = 2_097_152
const bytesPerNumber = 8

/** Reads traffic of any size, and writes a trace and a scenario that repeats it. Throws a UsageError. */
export async function importTraffic(file: string, options: ImportOptions): Promise<ImportedTraffic> {
  checkOptions(options)
  const { out, onProgress, durationMs, seed = 1, sample = 1, maxBad = 0.01, keepsText = false } = options
  const name = options.from ?? (await detect(file))
  const format = formats[name]
  const trace = traceFileFor(out)
  for (const path of [out, trace]) assertFree(path)
  const tally = createTally(file, { sample, seed, maxBad })
  let writer: ReturnType<typeof openTrace> | null = null
  try {
    const opened = openTrace(trace)
    writer = opened
    const sorted = createSorter((row, model) => {
      const startMs = tally.startMs ?? row.timeMs
      if (durationMs !== undefined && row.timeMs - startMs >= durationMs) return false
      opened.write(tally.take(row, model))
      return true
    })
    const ofBytes = sizeOf(file)
    let bytes = 0
    const onBytes = (more: number) => {
      bytes += more
      onProgress?.({ bytes, ofBytes, requests: tally.requests() })
    }
    for await (const batch of format.read(file, { keepsText, onBytes })) {
      for (const item of batch) if (tally.see(item)) sorted.add(item.row, item.model)
      if (sorted.isDone()) break
    }
    sorted.flush()
    const counted = tally.end()
    opened.close()
    const speed = speedOf(options, counted)
    const scenario = trafficScenario({
      ...{ name: scenarioNameFor(out), title: format.title, source: basename(file), trace: basename(trace), speed },
      ...{ blockTokens: options.blockTokens ?? format.blockTokens, calls: tally.calls(), ...counted },
      ...{ seed, keepsModels: options.keepsModels ?? false },
    })
    writeFileSync(out, scenario, { flag: 'wx' })
    renameSync(opened.path, trace)
    return { format: name, scenario: out, trace, speed, ...counted }
  } catch (cause) {
    if (cause instanceof UsageError || !isOfFile(cause)) throw cause
    throw new UsageError({ where: out, got: whyUnreadable(cause), expected: 'files that can be written' })
  } finally {
    writer?.discard()
  }
}

const isOfFile = (cause: unknown): boolean => cause instanceof Error && 'code' in cause && 'syscall' in cause

/** Whether traffic is a run directory, and not a file. */
export const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

async function detect(file: string): Promise<FormatName> {
  if (isDirectory(file)) return 'run'
  let head = ''
  for await (const chunk of chunksOf(file)) {
    head += chunk
    if (head.length >= headLength) break
  }
  const found = formatOf(head)
  if (found !== null) return found
  throw new UsageError({
    where: file,
    got: head === '' ? 'an empty file' : 'traffic of an unknown format',
    expected: formatNames.map(name => formats[name].title).join(', '),
    hint: `turnpike import says what is wrong with it, if --from names its format (${oneOf(formatNames)})`,
  })
}

const headLength = 16_384

/** The bytes of a file, or of the files of a directory. */
function sizeOf(path: string): number {
  const stats = statSync(path)
  if (!stats.isDirectory()) return stats.size
  return readdirSync(path).reduce((sum, name) => sum + statSync(join(path, name)).size, 0)
}

function assertFree(path: string): void {
  if (existsSync(path))
    throw new UsageError({ where: path, got: 'an existing file', expected: 'a new one', hint: 'name another one' })
  if (existsSync(dirname(path))) return
  throw new UsageError({ where: path, got: 'a path in a folder that does not exist', expected: 'an existing folder' })
}

/** Sorts by time what is out of order by at most half of the requests that wait. */
function createSorter(take: (row: TraceRow, model: string | null) => boolean) {
  let waiting: { readonly row: TraceRow; readonly model: string | null }[] = []
  let size = 0
  let isDone = false
  const release = (count: number) => {
    waiting.sort((a, b) => a.row.timeMs - b.row.timeMs)
    for (const { row, model } of waiting.slice(0, count)) isDone ||= !take(row, model)
    waiting = waiting.slice(count)
    size = waiting.reduce((sum, { row }) => sum + sizeOfRow(row), 0)
  }
  return {
    add: (row: TraceRow, model: string | null) => {
      waiting.push({ row, model })
      size += sizeOfRow(row)
      if (waiting.length === maxWaiting || size > maxWaitingSize) release(Math.ceil(waiting.length / 2))
    },
    flush: () => release(waiting.length),
    /** Whether all further requests are too late. */
    isDone: () => isDone,
  }
}

const sizeOfRow = ({ hashIds, text }: TraceRow): number => hashIds.length * bytesPerNumber + (text?.length ?? 0)

const bufferLength = 1_048_576

/** Writes beside the file, which appears only once it is complete. */
function openTrace(path: string) {
  const partial = join(dirname(path), `.${basename(path)}.partial`)
  let descriptor: number | null = openSync(partial, 'w')
  let buffer: string[] = []
  let length = 0
  const flush = () => {
    if (descriptor !== null && length > 0) writeSync(descriptor, buffer.join(''))
    buffer = []
    length = 0
  }
  const close = () => {
    flush()
    if (descriptor !== null) closeSync(descriptor)
    descriptor = null
  }
  return {
    path: partial,
    write: (line: string) => {
      buffer.push(line, '\n')
      length += line.length
      if (length > bufferLength) flush()
    },
    close,
    discard: () => {
      buffer = []
      length = 0
      close()
      rmSync(partial, { force: true })
    },
  }
}

const maxSessions = 1_000_000
/** A scenario with more calls is hard to read; further models share one. */
const maxCalls = 50

type Seen = { startMs: number | null; last: number; requests: number; seen: number }

/** Counts what was read and what is written, and gives each request its place in the trace. */
function createTally(
  file: string,
  { sample, seed, maxBad }: { readonly sample: number; readonly seed: number; readonly maxBad: number },
) {
  const at: Seen = { startMs: null, last: 0, requests: 0, seen: 0 }
  const tokens = { prompt: 0, completion: 0 }
  let [bad, notSampled] = [0, 0]
  const badLines: ({ readonly line: number } & Omit<Mistake, 'where'>)[] = []
  const leftOut: Record<string, number> = {}
  const sessions = new Set<string>()
  const calls = new Map<string, CallLengths>()
  const chance = randomStream(seed, 'sample')
  const isKept = ({ session }: TraceRow): boolean =>
    sample === 1 || (session === null ? chance : randomStream(seed, `sample/${session}`)).next() < sample
  const mistakes = () => badLines.map(({ line, ...mistake }) => ({ where: `${file}:${line}`, ...mistake }))
  return {
    get startMs() {
      return at.startMs
    },
    requests: () => at.requests,
    calls: () => calls,
    /** Whether an item is a request that the sample keeps. */
    see: (item: TrafficItem): item is Extract<TrafficItem, { readonly row: TraceRow }> => {
      if ('leftOut' in item) {
        leftOut[item.leftOut] = (leftOut[item.leftOut] ?? 0) + 1
        return false
      }
      if ('mistake' in item) {
        bad++
        if (badLines.length < maxExplained) badLines.push({ line: item.line, ...item.mistake })
        if (at.seen === 0 && bad === maxBadAtFirst) throw new UsageError(mistakes())
        return false
      }
      at.seen++
      if (isKept(item.row)) return true
      notSampled++
      return false
    },
    /** The line of a request in the trace: without text and names that could tell who sent it. */
    take: (row: TraceRow, model: string | null): string => {
      at.startMs ??= row.timeMs
      at.last = Math.max(at.last, row.timeMs)
      at.requests++
      if (at.requests > maxRecorded) throw tooManyRequests(file, `more than ${maxRecorded} requests`)
      const session = row.session === null ? null : pseudonym(row.session, seed)
      if (session !== null && sessions.size <= maxSessions) sessions.add(session)
      const call = callOf(row, model, calls)
      if (row.lengths !== null) {
        tokens.prompt += row.lengths.input
        tokens.completion += row.lengths.output
      }
      const text = row.text === null ? null : hideLikelySecrets(row.text)
      return traceLine({ ...row, timeMs: row.timeMs - at.startMs, session, call, text })
    },
    end: () => {
      const share = bad / Math.max(1, bad + at.seen)
      if (share > maxBad)
        throw new UsageError([
          {
            where: file,
            got: `${bad} bad of ${bad + at.seen} lines`,
            expected: `at most ${Number((maxBad * 100).toPrecision(6))}% of them`,
            hint: 'turnpike import --max-bad allows a larger share',
          },
          ...mistakes(),
        ])
      if (at.requests === 0)
        throw new UsageError({
          where: file,
          got: ['no request', ...Object.entries(leftOut).map(([what, count]) => `${count} ${what}`)].join(', '),
          expected: `at least one request${notSampled > 0 ? '; the sample has left all out' : ''}`,
        })
      return {
        requests: at.requests,
        sessions: sessions.size > maxSessions ? null : sessions.size,
        durationMs: at.last - (at.startMs ?? 0),
        ...{ promptTokens: tokens.prompt, completionTokens: tokens.completion },
        ...{ notSampled, leftOut, bad, badLines },
      }
    },
  }
}

/** The call of a request, after its model. Notes the longest lengths of the call. */
function callOf({ call, lengths }: TraceRow, model: string | null, calls: Map<string, CallLengths>): string | null {
  const wanted = slug(call ?? model ?? 'chat')
  const name = calls.has(wanted) || calls.size < maxCalls ? wanted : 'others'
  const known = calls.get(name) ?? { model, input: 1, output: 1 }
  if (lengths !== null || !calls.has(name))
    calls.set(name, {
      model: known.model,
      input: Math.max(known.input, lengths?.input ?? 1),
      output: Math.max(known.output, lengths?.output ?? 1),
    })
  return name === 'chat' ? null : name
}

const slug = (model: string): string =>
  model
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 64) || 'chat'

/** The same name for the same session, which does not tell what it is. */
function pseudonym(session: string, seed: number): string {
  const random = randomStream(seed, `session/${session}`)
  return `s${Math.floor(random.next() * 2 ** 32).toString(36)}${Math.floor(random.next() * 2 ** 32).toString(36)}`
}

/** The speed factor of the scenario: as given, or what gives the mean rate. */
function speedOf(
  { speed = 1, perSecond }: ImportOptions,
  { requests, durationMs }: { readonly requests: number; readonly durationMs: number },
): number {
  if (perSecond === undefined) return speed
  const own = (requests * 1_000) / Math.max(1, durationMs)
  const factor = Number((perSecond / own).toPrecision(6))
  if (factor >= 0.001 && factor <= 1_000) return factor
  throw new UsageError({
    where: 'import: rate',
    got: `${perSecond}/s, which is ${factor} times as fast as the traffic`,
    expected: 'from 0.001 to 1000 times as fast',
  })
}
