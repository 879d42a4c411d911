import { isLoopback } from '../../lib/loopback.ts'
import { readText } from '../../lib/read-text.ts'
import { isIssued, type Mistake, UsageError } from '../../lib/usage-error.ts'
import { type CallersPlan, keyCallers, type Plan } from '../../plan/plan.ts'
import type { KeyCaller } from './caller.ts'

/**
 * Special accounts that some error cases need, each with its environment variable: a free user, and a user
 * with an empty balance. They are not callers.
 */
export const specialKeyVariables = {
  'free-user': 'TURNPIKE_FREE_USER_KEY',
  'zero-balance': 'TURNPIKE_ZERO_BALANCE_KEY',
} as const
export type SpecialAccount = keyof typeof specialKeyVariables

/** null: no key was given for the account. */
export type SpecialKeys = Readonly<Record<SpecialAccount, string | null>>

export type Keys = {
  readonly callers: readonly KeyCaller[]
  readonly specialKeys: SpecialKeys
  /** The keys to mask: all keys of the callers, and the first other ones of the file or the environment. */
  readonly given: readonly string[]
  /** Whether the keys are invented although the run does not start its own reference service. */
  readonly areInvented: boolean
}

/** The environment, in which the caller may have replaced variables. */
export type Variables = Readonly<Record<string, string | undefined>>

/**
 * The keys of a plan, from its file or the environment. If the run starts its own reference service (`target: null`),
 * it uses new accounts there and reads no keys. Throws a UsageError if a key is missing or invalid.
 */
export function loadKeys(
  { target, callers, fewerKeys }: Plan,
  { auth }: KeyTerms,
  runId: string,
  variables: Variables = process.env,
): Keys {
  const environment = target === null ? undefined : variables.TURNPIKE_KEYS
  const loopback = target === null || isLoopback(target)
  const options = { environment, loopback, areOptional: !auth.required, runId, areFewer: fewerKeys !== null }
  const variableOf = (account: SpecialAccount) => variables[specialKeyVariables[account]] ?? ''
  const given = { 'free-user': variableOf('free-user'), 'zero-balance': variableOf('zero-balance') }
  const accounts = givenKeys(callers, environment)
  const keyed = callersOf(callers, accounts, options)
  return {
    callers: keyed,
    specialKeys: loadSpecialKeys(target === null ? {} : given, callers, options),
    given:
      accounts === null
        ? []
        : secretKeys(
            keyed.flatMap(({ keys }) => keys),
            accounts.flat(),
          ),
    areInvented: target !== null && keyCallers(callers) > 0 && usesReferenceKeys(callers, options),
  }
}

/**
 * The number of unused keys that are masked. Preparing the mask of a key takes half a millisecond, and a target cannot
 * send back a key that it never got.
 */
const maxUnused = 100

/** The keys that are used, and the first of the other given ones. */
export function secretKeys(used: readonly string[], given: readonly string[]): readonly string[] {
  const known = new Set(used)
  return [...known, ...given.filter(key => !known.has(key)).slice(0, maxUnused)]
}

/** A hint if there are keys in a variable that looks like TURNPIKE_KEYS. */
function otherVariable(): { readonly hint?: string } {
  const other = ['TURNPIKE_KEY', 'TURNPIKE_API_KEY', 'TURNPIKE_API_KEYS'].find(name => process.env[name]?.trim())
  return other === undefined ? {} : { hint: `${other} is set; did you mean TURNPIKE_KEYS?` }
}

/**
 * Throws a UsageError if a scenario file would decide alone where keys go. Such a file may come from somebody else, so
 * keys leave this machine only for a target that the command line names.
 */
export function assertMaySendKeys({ target, scenario }: Plan, named: string | null): void {
  if (target === null || named !== null || isLoopback(target)) return
  throw new UsageError({
    where: `target of ${scenario}`,
    got: JSON.stringify(target),
    expected: 'a target on this machine, since keys are sent elsewhere only if the command line names the target',
    hint: `to allow it, add --target ${target}`,
  })
}

/** A warning if keys cross a network unencrypted; null if not. */
export function plainTextWarning({ target }: Pick<Plan, 'target'>): string | null {
  if (target === null || isLoopback(target) || new URL(target).protocol !== 'http:') return null
  return `Keys are sent to ${new URL(target).host} unencrypted, because its address starts with http:.`
}

/** Whether requests need a key. */
type KeyTerms = { readonly auth: { readonly required: boolean } }

export type KeyOptions = {
  /** The value of `TURNPIKE_KEYS`. */
  readonly environment: string | undefined
  /** Whether the target is on this machine. */
  readonly loopback: boolean
  /** Whether requests go without credentials if no keys are given. */
  readonly areOptional: boolean
  readonly runId: string
  /** Whether the callers are fewer than those of the scenario, as many as there are keys. */
  readonly areFewer?: boolean
}

/**
 * The callers of the plan that have no wallet. Keys come from the key file of the plan, or else from `TURNPIKE_KEYS`. If there
 * are none, the callers have none where keys are optional. Elsewhere, if the target is on this machine, the keys are new
 * accounts of a reference service.
 * Throws a UsageError if there are too few keys, or if a key is invalid in a header.
 */
export const loadCallers = (plan: CallersPlan, options: KeyOptions): readonly KeyCaller[] =>
  callersOf(plan, givenKeys(plan, options.environment), options)

function callersOf(
  plan: CallersPlan,
  accounts: ReturnType<typeof givenKeys>,
  options: KeyOptions,
): readonly KeyCaller[] {
  const { keysEach, keysFile } = plan
  const names = plan.names.slice(0, keyCallers(plan))
  if (names.length === 0) return []
  const callerWith = (name: string, keys: readonly string[]): KeyCaller => ({ kind: 'key', name, keys })
  if (accounts === null && options.areOptional) return names.map(name => callerWith(name, []))
  if (accounts === null && options.loopback)
    return names.map(name => callerWith(name, referenceKeys(plan, name, options)))
  const where = keysFile ?? 'TURNPIKE_KEYS'
  if (accounts === null) {
    const expected = `${names.length === 1 ? '1 key' : `${names.length} keys`}, one per line or separated by commas`
    throw new UsageError({ where, got: 'nothing', expected, ...otherVariable() })
  }
  const all = accounts.flat()
  const invalid = accounts.flatMap((keys, index) => {
    const problem = keys.map(keyProblem).find(each => each !== null)
    return problem === undefined ? [] : [`${problem} in key ${index + 1}`]
  })[0]
  // With an invalid key, the number and the order of the keys are unreliable.
  if (invalid !== undefined) throw new UsageError({ where, got: invalid, expected: keyText })
  const half = halfKey(accounts, options.areFewer === true ? 0 : names.length)
  if (half !== null) {
    const got = `key ${half + 1} without the prefix of key ${half}`
    throw new UsageError({ where, got, expected: keyText, hint: `is there a line break in key ${half}?` })
  }
  const short = accounts.slice(0, names.length).findIndex(keys => keys.length < keysEach)
  const mistakes: Mistake[] = []
  if (new Set(all).size < all.length) {
    mistakes.push({ where, got: 'a key twice', expected: 'one key for each caller' })
  }
  if (accounts.length < names.length) {
    mistakes.push({
      where,
      got: `${accounts.length} ${accounts.length === 1 ? 'key' : 'keys'}`,
      expected: `${names.length}, one for each caller of the scenario`,
      hint: '"turnpike init --target URL" writes a scenario for one key',
    })
  }
  if (short >= 0) {
    const got = `${accounts[short]?.length} of account ${short + 1}`
    mistakes.push({ where, got, expected: `${keysEach} keys of each account, separated by spaces` })
  }
  if (mistakes.length > 0) throw new UsageError(mistakes)
  return names.map((name, index) => callerWith(name, accounts[index]?.slice(0, keysEach) ?? []))
}

/** The given keys. If the callers use accounts of a reference service, missing keys become such accounts, too. */
export function loadSpecialKeys(
  given: Readonly<Partial<Record<SpecialAccount, string>>>,
  plan: CallersPlan,
  options: KeyOptions,
): SpecialKeys {
  const usesReference = usesReferenceKeys(plan, options)
  const keyOf = (account: SpecialAccount): string | null => {
    const key = given[account]?.trim() ?? ''
    if (key === '') return usesReference ? `ref_${account}_${accountNameOf(options.runId)}` : null
    const problem = /\s/.test(key) ? 'a space or a line break' : keyProblem(key)
    if (problem === null) return key
    throw new UsageError({ where: specialKeyVariables[account], got: problem, expected: 'a key as it was issued' })
  }
  return { 'free-user': keyOf('free-user'), 'zero-balance': keyOf('zero-balance') }
}

const usesReferenceKeys = ({ keysFile }: CallersPlan, { loopback, areOptional, environment }: KeyOptions): boolean =>
  loopback && !areOptional && keysFile === null && (environment ?? '').trim() === ''

/** The keys of an account of the reference service, unique to this run. */
function referenceKeys({ accountTier, keysEach }: CallersPlan, name: string, { runId }: KeyOptions): readonly string[] {
  const key = `ref_${accountTier}_${accountNameOf(runId)}-${name}`
  return Array.from({ length: keysEach }, (_, index) => (index === 0 ? key : `${key}_${index + 1}`))
}

/** The part of a reference account's name that is unique to the run. */
const accountNameOf = (runId: string): string => runId.replace(/[^A-Za-z0-9]/g, '')

const keyText = 'each key as it was issued, one per line or separated by commas'

/** Servers refuse headers of this length. */
const longKey = /^.{8193}/

/** What a key cannot contain, because of HTTP, or because people then wrote something else than a key. */
const keyProblems: readonly (readonly [pattern: RegExp, problem: string])[] = [
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
  [/[\x00-\x1f\x7f]/, 'a control character'],
  [/[^\x21-\x7e]/, 'a character outside ASCII'],
  [/^["'`]/, 'a quotation mark'],
  [/\\[nrt]/, 'a backslash'],
  [/^(bearer|authorization:?)$/i, 'the word Bearer or Authorization'],
  [/^export$|^[A-Z][A-Z0-9_]*=[^=]/, 'the name of a variable'],
  [/^[<$]|^\{\{/, 'a placeholder'],
  [/^[[{]/, 'a bracket'],
  [/^#/, 'a comment'],
  [longKey, 'more than 8192 characters'],
]

/** Why a text is not a key; null if it is one. Never shows the text. */
const keyProblem = (key: string): string | null => keyProblems.find(([pattern]) => pattern.test(key))?.[1] ?? null

/**
 * The position of an account that looks like the second half of the key before it: there are more keys than `callers`, and
 * it lacks the prefix of its issuer, such as `sk-`. Null if there is none.
 */
function halfKey(accounts: readonly (readonly string[])[], callers: number): number | null {
  if (accounts.length <= callers) return null
  const begins = accounts.map(([key = '']) => ({ isIssued: isIssued(key), hasPrefix: /^[A-Za-z]{2,16}[-_]/.test(key) }))
  const at = begins.findIndex(({ isIssued, hasPrefix }, index) => {
    const before = begins[index - 1]
    return (before?.isIssued === true && !isIssued) || (before?.hasPrefix === true && !hasPrefix)
  })
  return at < 0 ? null : at
}

/** The keys of each account; null if none were given. A key file counts as given even if it is empty. */
function givenKeys(plan: CallersPlan, environment: string | undefined): readonly (readonly string[])[] | null {
  const text =
    plan.keysFile === null ? (environment ?? '') : readText(plan.keysFile, maxKeysBytes, 'a readable file of keys')
  return plan.keysFile === null && text.trim() === '' ? null : accountsIn(text)
}

const accountsIn = (text: string): readonly (readonly string[])[] =>
  text
    .split(/[\r\n,]+/)
    .map(account => account.trim())
    .filter(account => account !== '')
    .map(account => account.split(/[ \t]+/))

/** How many keys each account of the environment has; null: it has none. */
export function countKeys({ TURNPIKE_KEYS: text = '' }: Variables = process.env): readonly number[] | null {
  const accounts = accountsIn(text)
  return accounts.length === 0 ? null : accounts.map(keys => keys.length)
}

/** Enough for the keys of ten thousand accounts. */
const maxKeysBytes = 16_777_216
