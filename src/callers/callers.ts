import { readFileSync } from 'node:fs'
import { type Mistake, UsageError } from '../lib/usage-error.ts'
import type { CallersPlan } from '../plan/plan.ts'

/** Who is calling: an account, and its keys. They stay in here and in the headers that are made of them. */
export type Caller = { readonly name: string; readonly keys: readonly string[] }

/** The headers that prove who is calling, by the key at this position. */
export function credentials({ name, keys }: Caller, position: number): Readonly<Record<string, string>> {
  const key = keys[position % keys.length]
  if (key === undefined) throw new RangeError(`${name} has no key`)
  return bearer(key)
}

export const bearer = (key: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${key}` })

export type KeySource = {
  /** What `TURNPIKE_KEYS` holds. */
  readonly environment: string | undefined
  readonly loopback: boolean
  readonly runId: string
}

/**
 * One caller for each name of the plan. Keys come from the plan's file, else from `TURNPIKE_KEYS`, else, where the
 * target is on this machine, they are accounts of a reference service that this run alone uses. Throws a UsageError
 * when there are too few keys, or one that cannot stand in a header.
 */
export function loadCallers(plan: CallersPlan, source: KeySource): readonly Caller[] {
  const { names, keysEach, keysFile } = plan
  const given = givenKeys(plan, source.environment)
  if (given === null && source.loopback) return names.map(name => ({ name, keys: referenceKeys(plan, name, source) }))
  const where = keysFile ?? 'TURNPIKE_KEYS'
  if (given === null) {
    throw new UsageError({
      where,
      got: 'nothing',
      expected: `${names.length} keys, one a line or separated by commas`,
    })
  }
  const all = given.flat()
  const unfit = given.findIndex(keys => keys.some(key => !isKey(key)))
  const short = given.slice(0, names.length).findIndex(keys => keys.length < keysEach)
  const mistakes: Mistake[] = []
  if (unfit >= 0) mistakes.push({ where, got: `a special character in key ${unfit + 1}`, expected: 'a plain key' })
  if (new Set(all).size < all.length) {
    mistakes.push({ where, got: 'a key twice', expected: 'one key for each caller' })
  }
  if (given.length < names.length) {
    mistakes.push({
      where,
      got: `${given.length} keys`,
      expected: `${names.length}, one for each caller of the scenario`,
    })
  }
  if (short >= 0) {
    const got = `${given[short]?.length} of account ${short + 1}`
    mistakes.push({ where, got, expected: `${keysEach} keys of each account, separated by spaces` })
  }
  if (mistakes.length > 0) throw new UsageError(mistakes)
  return names.map((name, index) => ({ name, keys: given[index]?.slice(0, keysEach) ?? [] }))
}

/** The keys of an account that only this run knows. */
function referenceKeys({ accountTier, keysEach }: CallersPlan, name: string, { runId }: KeySource): readonly string[] {
  const key = `ref_${accountTier}_${accountOfRun(runId)}-${name}`
  return Array.from({ length: keysEach }, (_, index) => (index === 0 ? key : `${key}_${index + 1}`))
}

/** The part of the names of reference accounts that tells a run from every other. */
export const accountOfRun = (runId: string): string => runId.replace(/[^A-Za-z0-9]/g, '')

export const isKey = (key: string): boolean => /^[\x21-\x7e]+$/.test(key)

/** By account. null when nobody has given any. A file that the plan names has been given, even if it is empty. */
function givenKeys(plan: CallersPlan, environment: string | undefined): readonly (readonly string[])[] | null {
  const text = plan.keysFile === null ? (environment ?? '') : readKeys(plan.keysFile)
  if (plan.keysFile === null && text.trim() === '') return null
  return text
    .split(/[\r\n,]+/)
    .map(account => account.trim())
    .filter(account => account !== '')
    .map(account => account.split(/[ \t]+/))
}

function readKeys(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new UsageError({
      where: file,
      got: (cause as NodeJS.ErrnoException).code ?? 'an error',
      expected: 'a readable file of keys',
    })
  }
}
