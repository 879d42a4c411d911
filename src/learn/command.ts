import type { Contract } from '../contract/contract.ts'
import { documentedContract } from '../contract/documented.ts'
import { loadAddedSecrets } from '../contract/requests/additions.ts'
import { systemClock } from '../lib/clock.ts'
import { formatDuration } from '../lib/format.ts'
import { isLoopback } from '../lib/loopback.ts'
import { formatPico, pico } from '../lib/money.ts'
import { UsageError } from '../lib/usage-error.ts'
import { oneLine, visibleJson } from '../lib/visible.ts'
import { type KeyOptions, loadCallers, loadSpecialKeys, plainTextWarning } from '../produce/callers/api-keys.ts'
import { asker, notThere, suggestTarget } from '../produce/transport/suggest-target.ts'
import { undiciTransport } from '../produce/transport/undici.ts'
import { checkTarget } from '../scenario/load-scenario.ts'
import { parseBudget } from '../scenario/units.ts'
import { type AskerOptions, counting, maxBodyBytes, timeouts } from './asker.ts'
import { type Lesson, learn, maxCalls } from './learn.ts'
import { type LearnedProfile, learnedProfile } from './profile-text.ts'

export type LearnFlags = {
  readonly target: string | null
  readonly budgetUsd: string | null
  /** The profile with what the target demands of each request; null: none. */
  readonly demanded: Contract | null
  readonly asJson: boolean
}

/** What it writes as JSON. */
type Learned = {
  /** The profile, as YAML. */
  readonly profile: string
  readonly differences: readonly string[]
  readonly calls: number
  readonly spentUsd: string
}

/** Writes the profile to stdout, and what differs from the document to stderr. False if nothing could be learned. */
export async function learnCommand(flags: LearnFlags): Promise<boolean> {
  const found = await learnTarget({ ...flags, isBrief: false })
  if (typeof found === 'string') {
    process.stderr.write(`${found}\n`)
    return false
  }
  const { lesson, yaml, differences } = found
  const spentUsd = formatPico(lesson.spentPico)
  const learned: Learned = { profile: yaml, differences, calls: lesson.replies.length, spentUsd }
  process.stdout.write(flags.asJson ? visibleJson(`${JSON.stringify(learned, null, 2)}\n`) : yaml)
  process.stderr.write(differencesText(found))
  return true
}

/** What was learned, and the profile that it makes. */
export type LearnedTarget = LearnedProfile & { readonly target: string; readonly lesson: Lesson }

export function differencesText({ lesson, differences }: LearnedTarget): string {
  const calls = `${lesson.replies.length} calls, at most $${formatPico(lesson.spentPico)}`
  return differences.length === 0
    ? `No difference from the document was found (${calls}).\n`
    : `Differences from the document (${calls}):\n${differences.map(each => `  - ${each}\n`).join('')}`
}

/** Asks the target, after it has said on stderr what that costs at most. A text says why nothing could be learned. */
export async function learnTarget(
  flags: Omit<LearnFlags, 'asJson'> & Pick<Lesson, 'isBrief'>,
): Promise<LearnedTarget | string> {
  const target = targetOf(flags.target)
  const budgetPico = budgetOf(flags.budgetUsd, target)
  const warning = plainTextWarning({ target })
  if (warning !== null) process.stderr.write(`${warning}\n`)
  const keys = keysOf(target)
  const { demanded, isBrief } = flags
  const addedSecrets = demanded === null ? {} : loadAddedSecrets(demanded, process.env, false)
  // Similar addresses get nothing that only this target should get.
  const suggested = demanded === null ? await betterTarget(target) : null
  if (suggested !== null) return notThere(target, suggested)
  const cost = budgetPico === null ? 'no budget' : `at most $${formatPico(budgetPico)}`
  process.stderr.write(`Learning from ${target}: at most ${maxCalls + counting.calls} calls, ${cost}.\n`)
  const lesson = await learnAt(target, keys, budgetPico, { demanded, addedSecrets, isBrief })
  if (lesson.nothing !== null) {
    const isInvented = (process.env.TURNPIKE_KEYS ?? '').trim() === ''
    const hint = isInvented && lesson.nothing.includes('the key') ? ' No key was given; set TURNPIKE_KEYS.' : ''
    return `Nothing was learned from ${target}: ${oneLine(lesson.nothing)}.${hint}`
  }
  return { target, lesson, ...learnedProfile(lesson, target) }
}

/** A similar address, if the target does not know the list of models. */
async function betterTarget(target: string): Promise<string | null> {
  const ask = asker(systemClock(), { timeouts: { control: timeouts }, maxBodyBytes })
  const path = documentedContract.paths.models
  return await suggestTarget(target, [{ path, exchange: await ask(target, path) }], ask)
}

type LearnKeys = Pick<AskerOptions, 'caller' | 'otherCaller' | 'zeroBalanceKey'>

/** Throws a UsageError before anything is sent. */
function keysOf(target: string): LearnKeys {
  const runId = `learn${systemClock().wallMs().toString(36).replace('.', '')}`
  const environment = process.env.TURNPIKE_KEYS
  const options: KeyOptions = { environment, loopback: isLoopback(target), areOptional: false, runId }
  // A second account tells whether it has limits of its own.
  const names = ['learn', ...((environment ?? '').trim().split(/[\r\n,]+/).length > 1 ? ['other'] : [])]
  const plan = { names, accountTier: 'default', keysEach: 1, wallets: null, keysFile: null, shared: false } as const
  const [caller = { kind: 'key' as const, name: 'learn', keys: [] }, otherCaller = null] = loadCallers(plan, options)
  const special = loadSpecialKeys({ 'zero-balance': process.env.TURNPIKE_ZERO_BALANCE_KEY ?? '' }, plan, options)
  return { caller, otherCaller, zeroBalanceKey: special['zero-balance'] }
}

async function learnAt(
  target: string,
  keys: LearnKeys,
  budgetPico: bigint | null,
  additions: Pick<Parameters<typeof learn>[0], 'demanded' | 'addedSecrets' | 'isBrief'>,
): Promise<Lesson> {
  const clock = systemClock()
  const transport = undiciTransport({ baseUrl: target, clock, maxConnections: 2 })
  try {
    const onWait = (waitMs: number) =>
      process.stderr.write(`Waiting ${formatDuration(waitMs)}, so that no limit of the target is exceeded.\n`)
    return await learn({ send: transport.send, clock, target, ...keys, budgetPico, onWait, ...additions })
  } finally {
    await transport.close()
  }
}

function targetOf(target: string | null): string {
  if (target === null)
    throw new UsageError({ where: '--target', got: 'nothing', expected: 'the base URL of the service' })
  const checked = checkTarget(target, problem => {
    throw new UsageError({ where: '--target', ...problem })
  })
  return checked ?? target
}

/** As in a run: a target that is not on this machine needs a budget. null: none binds. */
function budgetOf(flag: string | null, target: string): bigint | null {
  if (flag === null) {
    if (isLoopback(target)) return null
    const expected = `a budget such as 0.05, because ${new URL(target).host} is not on this machine`
    throw new UsageError({ where: '--budget-usd', got: 'nothing', expected })
  }
  const amount = parseBudget(flag, mistake => {
    throw new UsageError({ where: '--budget-usd', ...mistake })
  })
  return amount === null ? null : pico(amount)
}
