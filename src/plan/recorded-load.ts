import { deflateSync, inflateSync } from 'node:zlib'
import { UsageError } from '../lib/usage-error.ts'
import type { Scenario } from '../scenario/schema.ts'
import type { Recorded } from '../scenario/stage-schema.ts'
import type { Load, Mix, StagePlan } from './plan.ts'

/** A stage repeats at most this many arrivals, because the plan contains them all. */
export const maxRecorded = 5_000_000

/** The arrivals that a recorded stage repeats, read from the directory of their run, or from a trace. */
export type Recording = {
  /** The id of the run, or the file of the trace. */
  readonly runId: string
  /** Duration of the repeated part. */
  readonly durationMs: number
  /** Number of arrivals. The functions below take an index, in the order of due times. */
  readonly count: number
  readonly offsetMs: (index: number) => number
  readonly call: (index: number) => string
  /** Index of the caller in its run. */
  readonly caller: (index: number) => number
  /** What a trace says about prompts. Missing: their calls decide them. */
  readonly prompts?: {
    readonly blockTokens: number
    /** null: the call of this arrival decides its prompt. */
    readonly at: (index: number) => TracePrompt | null
    readonly texts: readonly string[]
  }
}

/** Recordings by the name of the stage that repeats them. */
export type Recordings = ReadonlyMap<string, Recording>

/** What a trace says about a prompt. */
export type TracePrompt = {
  readonly promptTokens: number
  readonly maxCompletionTokens: number
  /** Number of its session from 1; 0: none. The prompts of a session begin with the same text. */
  readonly session: number
  /** Tokens at its beginning that it shares with all others of its call. */
  readonly sharedTokens: number
  /** Its blocks: prompts with the same blocks have the same text there. */
  readonly blocks: readonly number[]
  /** Its own text: a position in the texts from 1; 0: none, so that it is made of words. */
  readonly text: number
}

/** The prompt of an arrival, and all that its words depend on. */
export type RecordedPrompt = Omit<TracePrompt, 'text'> & {
  /** Position of its arrival in its stage. */
  readonly index: number
  readonly stage: string
  readonly blockTokens: number
  readonly text: string | null
}

/**
 * The load of a recorded stage. The weights of its mix count the arrivals of each call. Throws UsageError if the scenario
 * lacks some of the calls or callers.
 */
export function recordedLoad(
  name: string,
  { stage, speed }: Recorded,
  recording: Recording,
  { calls, callers }: Pick<Scenario, 'calls' | 'callers'>,
): Load {
  const { runId, count, offsetMs, call, caller } = recording
  const source = sourceOf(recording)
  const counts = new Map<string, number>()
  let callersNeeded = 0
  for (let index = 0; index < count; index++) {
    counts.set(call(index), (counts.get(call(index)) ?? 0) + 1)
    callersNeeded = Math.max(callersNeeded, caller(index) + 1)
  }
  const mix: Mix = [...counts]
  const unknown = mix.flatMap(([known]) => (Object.hasOwn(calls, known) ? [] : [known]))
  const where = `stage ${name}`
  if (count === 0) throw new UsageError({ where, got: `no arrivals in ${source}`, expected: 'a run with requests' })
  if (unknown.length > 0)
    throw new UsageError({
      where,
      got: `calls in ${source} that the scenario lacks: ${unknown.join(', ')}`,
      expected: 'each of them under "calls"',
    })
  if (callersNeeded > callers.count)
    throw new UsageError({
      where,
      got: `${callersNeeded} callers in ${source}`,
      expected: `at most ${callers.count}, the value of callers.count`,
    })
  const means = recording.prompts && checkedMeans(where, recording, calls)
  const positions = new Map(mix.map(([known], position) => [known, position]))
  const packed = packArrivals(
    (function* () {
      for (let index = 0; index < count; index++) {
        const prompt = recording.prompts?.at(index) ?? null
        const at = { offsetMs: offsetMs(index) / speed, call: positions.get(call(index)) ?? 0, caller: caller(index) }
        yield recording.prompts === undefined ? at : { ...at, prompt }
      }
    })(),
  )
  const prompts = recording.prompts && {
    blockTokens: recording.prompts.blockTokens,
    texts: pack(Buffer.from(JSON.stringify(recording.prompts.texts))),
    means: means ?? {},
  }
  return {
    model: 'open',
    shape: { kind: 'recorded', run: runId, stage, speed, packed, ...(prompts && { prompts }) },
    mix,
  }
}

/** A name for messages. */
const sourceOf = ({ runId, prompts }: Recording): string => (prompts === undefined ? `run ${runId}` : runId)

type Lengths = Pick<TracePrompt, 'promptTokens' | 'maxCompletionTokens'>

/** The mean lengths by call. Throws a UsageError for a call that is not a chat, or whose maximum a prompt exceeds. */
function checkedMeans(where: string, recording: Recording, calls: Scenario['calls']): Record<string, Lengths> {
  const { count, call: callOf, prompts } = recording
  const source = sourceOf(recording)
  const sums = new Map<string, { prompts: number; promptTokens: number; maxCompletionTokens: number }>()
  for (let index = 0; index < count; index++) {
    const prompt = prompts?.at(index) ?? null
    if (prompt === null) continue
    const name = callOf(index)
    const call = calls[name]
    if (call?.kind !== 'chat')
      throw new UsageError({
        where,
        got: `lengths of prompts for ${name} in ${source}`,
        expected: `that ${name} is a chat call`,
      })
    for (const key of ['promptTokens', 'maxCompletionTokens'] as const)
      if (prompt[key] > call[key])
        throw new UsageError({
          where,
          got: `${prompt[key]} ${key === 'promptTokens' ? 'prompt' : 'completion'} tokens in ${source}`,
          expected: `at most ${call[key]}, the ${key === 'promptTokens' ? 'prompt-tokens' : 'max-completion-tokens'} of ${name}`,
        })
    const sum = sums.get(name) ?? { prompts: 0, promptTokens: 0, maxCompletionTokens: 0 }
    sums.set(name, sum)
    sum.prompts++
    sum.promptTokens += prompt.promptTokens
    sum.maxCompletionTokens += prompt.maxCompletionTokens
  }
  return Object.fromEntries(
    [...sums].map(([name, { prompts: of, promptTokens, maxCompletionTokens }]) => [
      name,
      { promptTokens: promptTokens / of, maxCompletionTokens: maxCompletionTokens / of },
    ]),
  )
}

/**
 * One arrival of a recording. `call` is an index into the mix, `caller` one into the callers. `prompt`: missing without a
 * trace, null if its call decides it.
 */
export type PackedArrival = {
  readonly offsetMs: number
  readonly call: number
  readonly caller: number
  readonly prompt?: TracePrompt | null
}

/**
 * Packs arrivals into a string for the plan: for each the microseconds since the previous one, the call and the caller,
 * as compressed varints. Offsets are rounded from the start of the stage, so rounding errors do not add up. A prompt
 * follows as its lengths, session, shared tokens and text, and its blocks as runs of consecutive numbers.
 */
export function packArrivals(arrivals: Iterable<PackedArrival>): string {
  let bytes = Buffer.alloc(4_096)
  let length = 0
  const put = (value: number) => {
    if (length + maxNumberBytes > bytes.length) bytes = Buffer.concat([bytes, Buffer.alloc(bytes.length)])
    let rest = value
    for (; rest >= 128; rest = Math.floor(rest / 128)) bytes[length++] = 128 + (rest % 128)
    bytes[length++] = rest
  }
  let beforeUs = 0
  for (const { offsetMs, call, caller, prompt } of arrivals) {
    const offsetUs = Math.round(offsetMs * 1_000)
    put(offsetUs - beforeUs)
    put(call)
    put(caller)
    beforeUs = offsetUs
    if (prompt === undefined) continue
    put(prompt === null ? 0 : prompt.promptTokens + 1)
    if (prompt === null) continue
    for (const value of [prompt.maxCompletionTokens, prompt.session, prompt.sharedTokens, prompt.text]) put(value)
    const starts = prompt.blocks.flatMap((block, at) => (block === (prompt.blocks[at - 1] ?? -2) + 1 ? [] : [at]))
    put(starts.length)
    for (const [run, at] of starts.entries()) {
      put(prompt.blocks[at] ?? 0)
      put((starts[run + 1] ?? prompt.blocks.length) - at)
    }
  }
  return pack(bytes.subarray(0, length))
}

const pack = (bytes: Buffer): string => deflateSync(bytes).toString('base64')

/** Bytes of a varint of 2⁵³. */
const maxNumberBytes = 8

type RecordedShape = {
  readonly packed: string
  readonly prompts?: { readonly blockTokens: number; readonly texts: string } | undefined
}

/** Reverses `packArrivals`, lazily and in order. */
export function* unpackArrivals({ packed, prompts }: RecordedShape): Iterable<PackedArrival> {
  const bytes = inflateSync(Buffer.from(packed, 'base64'))
  let position = 0
  const take = () => {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[position++] ?? 0
      if (byte < 128) return value + byte * scale
      value += (byte - 128) * scale
    }
  }
  const takePrompt = (): TracePrompt | null => {
    const promptTokens = take() - 1
    if (promptTokens < 0) return null
    const [maxCompletionTokens, session, sharedTokens, text] = [take(), take(), take(), take()]
    const blocks: number[] = []
    for (let runs = take(); runs > 0; runs--) {
      const first = take()
      for (let count = take(), at = 0; at < count; at++) blocks.push(first + at)
    }
    return { promptTokens, maxCompletionTokens, session, sharedTokens, text, blocks }
  }
  let offsetUs = 0
  while (position < bytes.length) {
    offsetUs += take()
    const [call, caller] = [take(), take()]
    const arrival = { offsetMs: offsetUs / 1_000, call, caller }
    yield prompts === undefined ? arrival : { ...arrival, prompt: takePrompt() }
  }
}

/** Completes the prompts of a stage, in the order of its arrivals. */
export function promptReader({ prompts }: RecordedShape, stage: string) {
  const texts = prompts === undefined ? [] : textsIn(prompts.texts)
  const blockTokens = prompts?.blockTokens ?? 0
  return (prompt: TracePrompt | null | undefined, index: number): RecordedPrompt | null =>
    prompt == null ? null : { ...prompt, index, stage, blockTokens, text: texts[prompt.text - 1] ?? null }
}

const textsIn = (packed: string): readonly string[] =>
  JSON.parse(inflateSync(Buffer.from(packed, 'base64')).toString()) as readonly string[]

/** The prompt at this position of a recorded stage; null if its call decides it. */
export function promptAt(stages: readonly StagePlan[], stage: string, index: number): RecordedPrompt | null {
  const load = stages.find(({ name }) => name === stage)?.load
  if (load?.model !== 'open' || load.shape.kind !== 'recorded') return null
  let at = 0
  for (const { prompt } of unpackArrivals(load.shape))
    if (at++ === index) return promptReader(load.shape, stage)(prompt, index)
  return null
}
