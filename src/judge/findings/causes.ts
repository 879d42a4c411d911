/** One example of a violation. */
export type Example = {
  readonly message: string
  /** The requests that show it, in the order of sending as far as the judge knows it. */
  readonly requestIds: readonly number[]
  /** Those of them whose responses contradict the clause. The others led to it. At least one. */
  readonly decidedBy: readonly number[]
  /** Earlier requests that led to it and are not listed. */
  readonly omitted: number
}

/** An example, and the number of violations with the same cause. */
export type CountedExample = Example & { readonly count: number }

/** The violations of one clause by cause, as plain data that can be merged. */
export type CausesSnapshot = {
  readonly counts: ReadonlyMap<string, number>
  readonly examples: readonly Example[]
}

/** Counts violations by cause. Its size does not grow with the violations. */
export type Causes = {
  readonly add: (message: string, requestIds: readonly number[], decidedBy?: readonly number[]) => void
  readonly merge: (other: CausesSnapshot) => void
  /** One for each of the first causes, from the earliest on. */
  readonly examples: () => readonly CountedExample[]
  readonly snapshot: () => CausesSnapshot
}

/** The maximum number of causes with an example, and of causes with their own count. */
const maxExamples = 5
const maxCauses = 64
/** The target influences the length of messages and request lists, so both are limited. */
const maxMessageLength = 600
const maxIds = 1_000
const maxDeciding = 8

/** `onKeep` and `onDrop` follow the stored examples. */
export function createCauses(
  onKeep: (example: Example) => void = () => {},
  onDrop: (example: Example) => void = () => {},
): Causes {
  const counts = new Map<string, number>()
  let kept: readonly { readonly cause: string; readonly example: Example }[] = []

  const count = (cause: string, by: number) => {
    const known = counts.get(cause)
    if (known !== undefined || counts.size < maxCauses) counts.set(cause, (known ?? 0) + by)
  }

  function keep(cause: string, example: Example) {
    const same = kept.find(each => each.cause === cause)
    if (same !== undefined && byLastRequest(same.example, example) <= 0) return
    const last = kept.at(-1)
    if (same === undefined && kept.length === maxExamples && last && byLastRequest(last.example, example) <= 0) return
    const candidates = [...kept.filter(each => each !== same), { cause, example }]
    const next = candidates.toSorted((a, b) => byLastRequest(a.example, b.example)).slice(0, maxExamples)
    onKeep(example)
    for (const each of kept) {
      if (next.includes(each)) continue
      onDrop(each.example)
      if (counts.size > maxCauses && each !== same) counts.delete(each.cause)
    }
    kept = next
    // The cause of a stored example is always counted.
    if (!counts.has(cause)) counts.set(cause, 0)
  }

  return {
    add: (message, requestIds, decidedBy = requestIds.slice(-1)) => {
      const shown = truncated(message)
      const cause = causeOf(shown)
      const same = kept.find(each => each.cause === cause)
      // Most violations repeat an earlier one.
      if (same === undefined || (requestIds.at(-1) ?? -1) <= (same.example.requestIds.at(-1) ?? -1))
        keep(cause, { message: shown, ...truncatedIds(requestIds, decidedBy) })
      count(cause, 1)
    },
    merge: other => {
      for (const example of other.examples) keep(causeOf(example.message), example)
      for (const [cause, more] of other.counts) count(cause, more)
    },
    examples: () => kept.map(({ cause, example }) => ({ ...example, count: counts.get(cause) ?? 1 })),
    snapshot: () => ({ counts: new Map(counts), examples: kept.map(({ example }) => example) }),
  }
}

/**
 * The message without what differs between violations of the same kind: words with digits, and quoted texts that have
 * some or are long. A status is part of the cause.
 */
export const causeOf = (message: string): string =>
  message
    .replace(/"(?:[^"\\]|\\.)*"/g, text => (text.length > maxNameLength || /\d/.test(text) ? '"#"' : text))
    .replace(/(?<!\b(?:status|an?) )(?<![\w.,:/-])[\w.,:/-]*\d[\w.,:/-]*/g, '#')

/** Longer quoted texts are not names. */
const maxNameLength = 32

const truncated = (message: string): string =>
  message.length > maxMessageLength ? `${message.slice(0, maxMessageLength)}...` : message

/** The deciding requests always stay, and of the others the latest. */
function truncatedIds(requestIds: readonly number[], deciding: readonly number[]): Omit<Example, 'message'> {
  const decidedBy = deciding.slice(0, maxDeciding)
  if (requestIds.length <= maxIds) return { requestIds, decidedBy, omitted: 0 }
  const others = requestIds.filter(id => !decidedBy.includes(id)).slice(decidedBy.length - maxIds)
  const listed = new Set([...decidedBy, ...others])
  return {
    requestIds: requestIds.filter(id => listed.has(id)),
    decidedBy,
    omitted: requestIds.length - listed.size,
  }
}

/**
 * Orders examples by the last request that each cites. So the result depends neither on the order in which workers
 * found them, nor on the number of workers.
 */
function byLastRequest(a: Example, b: Example): number {
  const last = (a.requestIds.at(-1) ?? -1) - (b.requestIds.at(-1) ?? -1)
  if (last !== 0) return last
  const [ofA, ofB] = [a, b].map(({ requestIds, message }) => `${requestIds.join()} ${message}`)
  return ofA === ofB ? 0 : (ofA ?? '') < (ofB ?? '') ? -1 : 1
}

/** A report shows at most this many requests of an example. */
const maxEvidence = 24

/** The requests of an example that a report shows: first those that decide, then the latest that led to it, in order. */
export function shownIds({ requestIds, decidedBy }: Pick<Example, 'requestIds' | 'decidedBy'>): readonly number[] {
  const others = requestIds.filter(id => !decidedBy.includes(id))
  return [...decidedBy, ...others.slice(Math.max(0, others.length + decidedBy.length - maxEvidence))]
}
