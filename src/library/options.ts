import { z } from 'zod'
import { explainIssues } from '../lib/schemas.ts'
import { type Mistake, UsageError } from '../lib/usage-error.ts'

/** The state of a run at one instant. Later versions may add members. */
export type RunProgress = {
  readonly scenario: string
  /** Before and after the stages: `(opening)` or `(closing)`. */
  readonly stage: string
  /** Since the first stage started. */
  readonly elapsedMs: number
  readonly totalMs: number
  readonly inFlight: number
  /** Requests of calls. The report also counts Turnpike's own, such as balance checks. */
  readonly sent: number
  readonly failed: number
  readonly dropped: number
  /** Complete responses by status. */
  readonly statuses: Readonly<Record<string, number>>
  /** Complete responses per second, over the last seconds; null: too little time has passed. */
  readonly achievedPerSecond: number | null
  /** Of the current stage so far. */
  readonly latencyMs: RunPercentiles
  readonly ttftMs: RunPercentiles
  /** The clauses violated so far. */
  readonly violations: readonly {
    readonly clause: string
    readonly section: string
    readonly count: number
    readonly message: string
  }[]
  /** Decimal. */
  readonly claimedUsd: string
}

/** null: too few values. */
type RunPercentiles = { readonly p50: number | null; readonly p95: number | null; readonly p99: number | null }

/** How to run a scenario from a program. Every member may be left out. */
export type RunOptions = {
  /**
   * Base URL of the service under test, with its version. Default: the target of the scenario, or else a reference service
   * that the run starts and ends.
   */
  readonly target?: string | undefined
  /**
   * API keys, one for each caller, or a list of keys for each. They are in no artifact and no message. Default: the
   * variable TURNPIKE_KEYS.
   */
  readonly keys?: readonly (string | readonly string[])[] | undefined
  /** Private keys of wallets, one for each. Default: the variable TURNPIKE_WALLET_KEYS. */
  readonly walletKeys?: readonly string[] | undefined
  /** Maximum spend in USD. A target that is not on this machine needs it, here or in the scenario. */
  readonly budgetUsd?: string | number | undefined
  /** Maximum that wallets pay, in USD. Default: they only ask for offers. */
  readonly topUpUsd?: string | number | undefined
  /** The path or the shipped name of a profile. Default: the one in the scenario, or the documented one. */
  readonly profile?: string | undefined
  /** Judge limits by what the target publishes (default), or by the document. */
  readonly limitsFrom?: 'target' | 'documented' | undefined
  /** Names of the calls to send and of the clauses to judge, with `*`. Default: all of them. */
  readonly only?: readonly string[] | undefined
  /** Random seed. Default: the seed of the scenario. */
  readonly seed?: number | undefined
  /** Threads that share the callers. Default: 1. */
  readonly workers?: number | undefined
  /** Warm up, at most 3 s, before the load starts. Default: true. */
  readonly warmUp?: boolean | undefined
  /** Stop at the first violation. Default: false. */
  readonly failFast?: boolean | undefined
  /** End the load as soon as every threshold is decided. Default: at the end of the plan. */
  readonly until?: 'decided' | undefined
  /** Run directories that the run is compared with. Default: none. */
  readonly baselines?: readonly string[] | undefined
  /** Smallest change that matters in the comparison, as a ratio. Default: 0.05. */
  readonly minEffect?: number | undefined
  /** Minimum run-to-run noise to assume in the comparison, as a ratio. Default: 0.02. */
  readonly noiseFloor?: number | undefined
  /** A new or empty directory for the files of the run. Default: none, so that no file remains. */
  readonly directory?: string | undefined
  /** Ends the run as ^C does: requests in flight may end, and the report says `interrupted`. */
  readonly signal?: AbortSignal | undefined
  /** Gets the state of the run about once per second, and once at its end. If it throws, the run ends, and rejects. */
  readonly onProgress?: ((progress: RunProgress) => void) | undefined
  /** Gets sentences about the run that are in no report, such as a warning about unencrypted keys. */
  readonly onNote?: ((note: string) => void) | undefined
}

/** The state of both runs of a diff. */
export type DiffProgress = { readonly old: RunProgress; readonly new: RunProgress }

/** How many of the runs of a proof have ended, and how many of the services so far the scenario noticed. */
export type ProveProgress = { readonly done: number; readonly all: number; readonly caught: number }

/** How to test a scenario from a program. Every member may be left out. */
export type ProveOptions = Pick<RunOptions, 'profile' | 'limitsFrom' | 'only' | 'seed' | 'signal'> & {
  /** The score below which the verdict is `fail`, from 0 to 1. Default: none. */
  readonly minScore?: number | undefined
  /** Measure what thresholds on times notice. Default: true. */
  readonly sensitivity?: boolean | undefined
  /** Look for calls and thresholds that would notice more, and check them. Default: true. */
  readonly suggestions?: boolean | undefined
  /** Threads that share the runs. Default: one per core, at most 8. */
  readonly workers?: number | undefined
  /** Gets the progress after each run. If it throws, the proof ends, and rejects. */
  readonly onProgress?: ((progress: ProveProgress) => void) | undefined
}

/** How many runs there were, what the smallest scenario so far sends, and what it left out last; null: nothing yet. */
export type ShrinkProgress = {
  readonly runs: number
  readonly arrivals: number
  readonly cut: string | null
  /** A decimal. */
  readonly spentUsd: string
}

/** How to shrink a finding from a program. The budget is for all runs together. Every member may be left out. */
export type ShrinkRunOptions = Pick<
  RunOptions,
  'target' | 'keys' | 'walletKeys' | 'profile' | 'budgetUsd' | 'topUpUsd' | 'directory' | 'signal'
> & {
  /** The number of a finding, such as 1 or `1.2`. Default: the only one. */
  readonly finding?: string | number | undefined
  /** The maximum time of all runs in milliseconds. Default: 600,000. */
  readonly maxMs?: number | undefined
  /** Gets the state after each smaller scenario. If it throws, shrinking ends, and rejects. */
  readonly onProgress?: ((progress: ShrinkProgress) => void) | undefined
}

/** How to compare two targets from a program. The budget is for both together. Every member may be left out. */
export type DiffOptions = Pick<
  RunOptions,
  'keys' | 'profile' | 'limitsFrom' | 'only' | 'seed' | 'budgetUsd' | 'warmUp' | 'directory' | 'signal' | 'onNote'
> & {
  /** How much worse the second may be, as a ratio by measure: `{ ttft: 0.05, 'p95.ttft': 0.1 }`. */
  readonly margin?: Readonly<Record<string, number>> | undefined
  /** Recorded traffic to send in place of a scenario, which is null then: a run directory, or a file as for an import. */
  readonly shadow?: string | undefined
  /** Whether prompts of `shadow` keep their text. Default: false. */
  readonly keepsText?: boolean | undefined
  /** The keys of the second target, if it knows others. Default: the variable TURNPIKE_NEW_KEYS, or the same keys. */
  readonly newKeys?: RunOptions['keys']
  /** Gets the state of both runs about once per second. If it throws, both end, and the diff rejects. */
  readonly onProgress?: ((progress: DiffProgress) => void) | undefined
}

const text = z.string({ error: 'a text' })
const key = text.regex(/^[^\s,]+$/, { error: 'a key without spaces and commas' })
const aFunction = z.custom(value => typeof value === 'function', { error: 'a function' })
/** Also of another realm, as in a test runner. */
const aSignal = z.custom(value => typeof value === 'object' && value !== null && 'aborted' in value, {
  error: 'an AbortSignal',
})
const amount = z.union([z.string(), z.number()], { error: 'an amount of dollars such as 0.25' })

/** As in the flags of a comparison. */
function ratio(min: number) {
  const error = `a ratio from ${min} to 0.5`
  return z.number({ error }).min(min, { error }).max(0.5, { error })
}

const optionsSchema = z.strictObject(
  {
    target: text.optional(),
    keys: z
      .array(z.union([key, z.array(key).min(1)], { error: 'a key without spaces and commas, or a list of them' }), {
        error: 'a list of keys',
      })
      .min(1, { error: 'a list of keys, at least one' })
      .optional(),
    walletKeys: z.array(key, { error: 'a list of private keys' }).min(1).optional(),
    budgetUsd: amount.optional(),
    topUpUsd: amount.optional(),
    profile: text.optional(),
    limitsFrom: z.enum(['target', 'documented'], { error: 'target or documented' }).optional(),
    only: z.array(text, { error: 'a list of names' }).optional(),
    seed: z.number({ error: 'a whole number from 0' }).optional(),
    workers: z.number({ error: 'a whole number from 1' }).optional(),
    warmUp: z.boolean({ error: 'true or false' }).optional(),
    failFast: z.boolean({ error: 'true or false' }).optional(),
    until: z.literal('decided', { error: 'decided' }).optional(),
    baselines: z.array(text, { error: 'a list of run directories' }).optional(),
    minEffect: ratio(0.001).optional(),
    noiseFloor: ratio(0).optional(),
    directory: text.min(1, { error: 'the path of a directory' }).optional(),
    signal: aSignal.optional(),
    onProgress: aFunction.optional(),
    onNote: aFunction.optional(),
  },
  { error: 'an object of options' },
)

const { profile, limitsFrom, only, seed, signal, onProgress } = optionsSchema.shape
const { target, keys, walletKeys, budgetUsd, topUpUsd, directory } = optionsSchema.shape
const positive = 'a number of milliseconds above 0'
const shrinkOptionsSchema = z.strictObject(
  {
    ...{ target, keys, walletKeys, profile, budgetUsd, topUpUsd, directory, signal, onProgress },
    finding: z.union([z.string(), z.number()], { error: 'the number of a finding' }).optional(),
    maxMs: z.number({ error: positive }).positive({ error: positive }).optional(),
  },
  { error: 'an object of options' },
)
const shareError = 'a share from 0 to 1'
const threadsError = 'a whole number from 1 to 64'
const proveOptionsSchema = z.strictObject(
  {
    ...{ profile, limitsFrom, only, seed, signal, onProgress },
    minScore: z.number({ error: shareError }).min(0, { error: shareError }).max(1, { error: shareError }).optional(),
    sensitivity: z.boolean({ error: 'true or false' }).optional(),
    suggestions: z.boolean({ error: 'true or false' }).optional(),
    workers: z.int({ error: threadsError }).min(1, { error: threadsError }).max(64, { error: threadsError }).optional(),
  },
  { error: 'an object of options' },
)

const diffOptionsSchema = z.strictObject(
  {
    ...{ keys, newKeys: keys, profile, limitsFrom, only, seed, budgetUsd, directory, signal, onProgress },
    ...{ warmUp: optionsSchema.shape.warmUp, onNote: optionsSchema.shape.onNote },
    shadow: text.min(1, { error: 'a run directory or a file' }).optional(),
    keepsText: z.boolean({ error: 'true or false' }).optional(),
    margin: z
      .record(z.string(), z.number({ error: 'a ratio, such as 0.05' }), { error: 'margins by measure' })
      .optional(),
  },
  { error: 'an object of options' },
)

/** Throws a UsageError for options that no type checker has seen. It never shows a key. */
export const assertOptions = (options: RunOptions): void => assertFits(optionsSchema, options)

/** The same for a proof. */
export const assertProveOptions = (options: ProveOptions): void => assertFits(proveOptionsSchema, options)

/** The same for shrinking. */
export const assertShrinkOptions = (options: ShrinkRunOptions): void => assertFits(shrinkOptionsSchema, options)

/** The same for a diff. */
export const assertDiffOptions = (options: DiffOptions): void => assertFits(diffOptionsSchema, options)

function assertFits(schema: z.ZodType, options: RunOptions | ProveOptions | ShrinkRunOptions | DiffOptions): void {
  const mistakes = explainIssues(schema, options).map(({ path, at: _, got, ...mistake }) => ({
    where: ['options', ...path].join('.'),
    got: ['keys', 'newKeys', 'walletKeys'].includes(String(path[0])) ? 'another value' : got,
    ...mistake,
  }))
  if (mistakes.length > 0) throw new UsageError(mistakes)
}

/** The names of flags in messages, and the names of the same options. */
const optionNames: Readonly<Record<string, string>> = {
  'budget-usd': 'budgetUsd',
  'top-up': 'topUpUsd',
  'limits-from': 'limitsFrom',
  'warm-up': 'warmUp',
  'fail-fast': 'failFast',
  baseline: 'baselines',
  out: 'directory',
  text: 'keepsText',
  lie: 'lies',
}

/**
 * The same work. Its mistakes name options in place of the flags of the command line, and of the variables that `given`
 * replaces.
 */
export async function withOptionNames<Value>(
  work: () => Promise<Value>,
  given: Pick<RunOptions, 'keys' | 'walletKeys'> = {},
): Promise<Value> {
  try {
    return await work()
  } catch (cause) {
    throw cause instanceof UsageError ? new UsageError(cause.mistakes.map(mistake => inOptions(mistake, given))) : cause
  }
}

function inOptions(
  { where, got, expected, hint }: Mistake,
  { keys, walletKeys }: Pick<RunOptions, 'keys' | 'walletKeys'>,
): Mistake {
  const variables: Readonly<Record<string, string | undefined>> = {
    TURNPIKE_KEYS: keys && 'keys',
    TURNPIKE_WALLET_KEYS: walletKeys && 'walletKeys',
  }
  return {
    where: variables[where] ?? named(where),
    got: named(got),
    expected: named(expected),
    ...(hint !== undefined && { hint: named(hint) }),
  }
}

const named = (words: string): string =>
  words.replaceAll(/(?<!\S)--([a-z]+(?:-[a-z]+)*)\b/g, (_, flag: string) => optionNames[flag] ?? flag)
