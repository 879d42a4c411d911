import { lstatSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseProfile } from '../../contract/profile.ts'
import { differencesText, learnTarget } from '../../learn/command.ts'
import { firstScenario, leftOutOf } from '../../learn/first-scenario.ts'
import type { Lesson } from '../../learn/learn.ts'
import type { LearnedProfile } from '../../learn/profile-text.ts'
import { isLoopback } from '../../lib/loopback.ts'
import { cent, formatPico, pico, wholeCents } from '../../lib/money.ts'
import { whyUnreadable } from '../../lib/read-text.ts'
import { UsageError } from '../../lib/usage-error.ts'
import { oneLine } from '../../lib/visible.ts'
import { unpricedIn } from '../../plan/cost.ts'
import { makePlan } from '../../plan/make-plan.ts'
import { nothingDiscovered } from '../../run/discovery.ts'
import { parseScenario } from '../../scenario/load-scenario.ts'
import { limitsFor, tierRatePerMinute } from '../../scenario/tier-rate.ts'
import { exitCodes, text, type Values } from '../flags.ts'
import { demandedIn } from '../load-plan.ts'
import { printJson, wantsJson } from '../print.ts'

/** The folder of the package with the files that `init` copies. */
const examples = fileURLToPath(new URL('../../../docs/examples/', import.meta.url))

/** Where a file of the examples belongs in a project. */
const forAll = {
  'scenario.yaml': 'turnpike/scenario.yaml',
  'profile.yaml': 'turnpike/profile.yaml',
  'env.example': '.env.example',
} as const

const forCi: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  github: { 'github-nightly.yml': '.github/workflows/turnpike.yml' },
  gitlab: { 'gitlab-ci.yml': '.gitlab-ci.yml' },
  jenkins: { Jenkinsfile: 'Jenkinsfile' },
  none: {},
}

const nextSteps = `
Next steps:
  npx turnpike plan turnpike/scenario.yaml    what it will send and cost
  npx turnpike run turnpike/scenario.yaml     against a reference service here
Then write the values of your service into turnpike/profile.yaml, copy
.env.example to .env, and add .env and runs/ to .gitignore. Add --target to run
it against your service.
`

/** Writes the first files of a project into a folder, and overwrites no file. With a target, they are for that target. */
export async function initCommand(values: Values): Promise<number> {
  const folder = text(values, 'dir') ?? '.'
  const [target, budgetUsd] = [text(values, 'target'), text(values, 'budget-usd')]
  const profile = text(values, 'profile')
  if (target === null && profile !== null)
    throw new UsageError({
      where: '--profile',
      got: profile,
      expected: '--target with it, since a profile describes a target',
    })
  if (target === null && budgetUsd !== null)
    throw new UsageError({
      where: '--budget-usd',
      got: budgetUsd,
      expected: '--target with it, since nothing is sent without a target',
    })
  const isThorough = values.thorough === true
  if (target === null && isThorough)
    throw new UsageError({
      where: '--thorough',
      got: 'true',
      expected: '--target with it, since only a target is learned',
    })
  const places = Object.entries({ ...forAll, ...forCi[text(values, 'ci') ?? 'github'] })
  const written = places.map(([, to]) => join(folder, to))
  assertNothingExists(written)
  const learned =
    target === null
      ? null
      : await filesForTarget(
          { target, budgetUsd, profile, demanded: demandedIn(profile), isBrief: !isThorough },
          folder,
        )
  const texts: Readonly<Record<string, string>> = learned?.files ?? {}
  for (const [from, to] of places) create(join(folder, to), texts[to] ?? readFileSync(join(examples, from)))
  if (learned !== null) process.stderr.write(learned.notes)
  if (wantsJson(values)) {
    printJson(learned === null ? { written } : { written, next: learned.next, later: learned.later })
    return exitCodes.pass
  }
  const listed = places.map(([, to]) => `  ${to}\n`).join('')
  const steps = learned === null ? nextSteps : `\nNext:\n${learned.next}\n${laterText(learned)}`
  process.stdout.write(`Written${folder === '.' ? '' : ` to ${oneLine(folder)}`}:\n${listed}${steps}`)
  return exitCodes.pass
}

/** Throws a UsageError if one of the files exists, or if something else is where a folder must be. */
function assertNothingExists(files: readonly string[]): void {
  const existing = new Set(files.flatMap(file => obstacle(file) ?? []))
  if (existing.size === 0) return
  throw new UsageError({
    where: 'init',
    got: `existing files: ${[...existing].join(', ')}`,
    expected: 'a folder without these files; nothing was written',
    hint: 'move them away, or name another folder: turnpike init <dir>',
  })
}

/** What blocks a file: a file or a broken link in its place, or a parent that is not a folder. */
function obstacle(file: string): string | null {
  if (exists(() => lstatSync(file))) return file
  let folder = dirname(file)
  while (folder !== dirname(folder) && !exists(() => statSync(folder))) folder = dirname(folder)
  return !exists(() => statSync(folder)) || statSync(folder).isDirectory() ? null : folder
}

function exists(look: () => unknown): boolean {
  try {
    look()
    return true
  } catch (cause) {
    // Whatever the reason, writing fails for it too, and says so.
    if (!(cause instanceof Error && 'code' in cause)) throw cause
    return false
  }
}

function create(path: string, content: string | Uint8Array): void {
  try {
    createFolder(dirname(path))
    writeFileSync(path, content, { flag: 'wx' })
  } catch (cause) {
    throw new UsageError({ where: path, got: whyUnreadable(cause), expected: 'a file that can be created' })
  }
}

/** Node.js has an option for this, which never returns for a folder of `/proc`. */
function createFolder(path: string): void {
  if (exists(() => statSync(path))) return
  createFolder(dirname(path))
  mkdirSync(path)
}

const laterText = ({ leftOut, later }: TargetFiles): string =>
  later === null
    ? ''
    : `\nLeft out, since it would take longer than a minute: ${leftOut.join(', ')}.\nIt is learned by:\n${later}\n`

/** The files for one target, by their place in a project, and the command that runs them. */
type TargetFiles = {
  readonly files: Readonly<Record<'turnpike/profile.yaml' | 'turnpike/scenario.yaml', string>>
  readonly next: string
  readonly leftOut: readonly string[]
  /** The command that learns what was left out; null: nothing was. */
  readonly later: string | null
  /** What the target does differently, and what the next command may cost. */
  readonly notes: string
}

/** Learns the target. Throws a UsageError if nothing could be learned. */
async function filesForTarget(
  flags: Parameters<typeof learnTarget>[0] & { readonly target: string; readonly profile: string | null },
  folder: string,
): Promise<TargetFiles> {
  const learned = await learnTarget(flags)
  if (typeof learned === 'string')
    throw new UsageError({
      where: '--target',
      got: flags.target,
      expected: 'a target that can be learned; nothing was written',
      hint: learned,
    })
  const { target, yaml } = learned
  const { scenario, worstUsd, unpriced } = scenarioFor(learned, learned.lesson, target)
  const isUnpriced = worstUsd === null && !isLoopback(target)
  const leftOut = leftOutOf(learned.lesson)
  const { budgetUsd, profile } = flags
  const same = [
    ...(profile === null ? [] : ['--profile', profile]),
    ...(budgetUsd === null ? [] : ['--budget-usd', budgetUsd]),
  ]
  const words = ['run', join(folder, 'turnpike/scenario.yaml'), '--target', target]
  const cost =
    worstUsd === null
      ? `The price of these calls is unknown: ${unpriced.join(', ')}. So no budget can be enforced. State prices in the profile if the target has some.`
      : `The next command costs at most $${worstUsd} by the prices of the profile.`
  return {
    files: { 'turnpike/profile.yaml': yaml, 'turnpike/scenario.yaml': scenario },
    next: commandOf([...words, ...(isUnpriced ? ['--budget-usd', 'unlimited'] : [])]),
    leftOut,
    later:
      leftOut.length === 0
        ? null
        : commandOf([
            'init',
            join(folder, 'turnpike/thorough'),
            '--thorough',
            '--ci',
            'none',
            '--target',
            target,
            ...same,
          ]),
    notes: `${differencesText(learned)}${cost}\n`,
  }
}

/** The scenario, with rates and a budget by its own plan, and its calls without a known price. */
export function scenarioFor(
  { yaml }: Pick<LearnedProfile, 'yaml'>,
  lesson: Lesson,
  target: string,
): { readonly scenario: string; readonly worstUsd: string | null; readonly unpriced: readonly string[] } {
  const contract = parseProfile(yaml, 'profile.yaml')
  const parsed = (text: string) => parseScenario(text, 'scenario.yaml', contract, () => true)
  const { calls, stages, callers } = parsed(firstScenario(lesson, { tierPerMinute: null, budgetUsd: null }))
  const mixed = stages.find(stage => 'mix' in stage)
  const limitOf = limitsFor(callers.accountTier, 'target', contract)
  const tierPerMinute = mixed && 'mix' in mixed ? tierRatePerMinute(mixed.mix, calls, limitOf) : null
  const unbounded = parsed(firstScenario(lesson, { tierPerMinute, budgetUsd: null }))
  const own = { seed: null, target, budgetUsd: null, topUp: null, only: [] }
  const known = { recordings: new Map(), publishedLimits: nothingDiscovered.limits }
  const { worstUsd } = makePlan(unbounded, contract, own, known).forecast
  const budgetUsd = worstUsd === null ? null : formatPico(atLeastOneCent(2n * pico(worstUsd)))
  const scenario = firstScenario(lesson, { tierPerMinute, budgetUsd })
  return { scenario, worstUsd, unpriced: unpricedIn(calls, contract) }
}

const atLeastOneCent = (amount: bigint): bigint => (amount > 0n ? wholeCents(amount) : cent)

const commandOf = (words: readonly string[]): string => `turnpike ${words.map(shellWord).join(' ')}`

/** A word of a command line, in quotes where a shell would change it. */
const shellWord = (word: string): string =>
  /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
