import { UsageError } from '../lib/usage-error.ts'
import type { CallersPlan } from '../plan/plan.ts'
import { accountOfRun, isKey, type KeySource } from './callers.ts'

/** Who no caller is, and some refusals need: a user who does not pay, and one whose balance is empty. */
export const spareHolders = ['unpaying', 'empty'] as const
export type SpareHolder = (typeof spareHolders)[number]

/** null where nobody has given one. */
export type SpareKeys = Readonly<Record<SpareHolder, string | null>>

/** The environment variable that holds each. */
export const spareVariables = {
  unpaying: 'TURNPIKE_UNPAYING_KEY',
  empty: 'TURNPIKE_EMPTY_KEY',
} as const satisfies Record<SpareHolder, string>

/** As given, else, where the target is on this machine and the callers are its own, accounts of a reference service. */
export function loadSpareKeys(
  given: Readonly<Partial<Record<SpareHolder, string>>>,
  { keysFile }: CallersPlan,
  { environment, loopback, runId }: KeySource,
): SpareKeys {
  const hasOwn = loopback && keysFile === null && (environment ?? '').trim() === ''
  const keyOf = (holder: SpareHolder): string | null => {
    const key = given[holder]?.trim() ?? ''
    if (key === '') return hasOwn ? `ref_${holder}_${accountOfRun(runId)}` : null
    if (isKey(key)) return key
    throw new UsageError({
      where: spareVariables[holder],
      got: 'a space or a special character',
      expected: 'a plain key',
    })
  }
  return { unpaying: keyOf('unpaying'), empty: keyOf('empty') }
}
