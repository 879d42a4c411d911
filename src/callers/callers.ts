import { readFileSync } from 'node:fs'
import { type Mistake, UsageError } from '../lib/usage-error.ts'
import type { CallersPlan } from '../plan/plan.ts'

/** Who is calling. The key stays in here and in the header that is made of it. */
export type Caller = { readonly name: string; readonly key: string }

/** The headers that prove who is calling. */
export const credentials = (caller: Caller): Readonly<Record<string, string>> => ({
  authorization: `Bearer ${caller.key}`,
})

/**
 * One caller for each name of the plan. Keys come from the plan's file, else from `TURNPIKE_KEYS`, else, where the
 * target is on this machine, they are accounts of a reference service that this run alone uses. Throws a UsageError
 * when there are too few keys, or one that cannot stand in a header.
 */
export function loadCallers(
  plan: CallersPlan,
  source: { readonly environment: string | undefined; readonly loopback: boolean; readonly runId: string },
): readonly Caller[] {
  const given = givenKeys(plan, source.environment)
  if (given === null && source.loopback) {
    const account = source.runId.replace(/[^A-Za-z0-9]/g, '')
    return plan.names.map(name => ({ name, key: `ref_${plan.accountTier}_${account}-${name}` }))
  }
  const where = plan.keysFile ?? 'TURNPIKE_KEYS'
  if (given === null) {
    throw new UsageError({
      where,
      got: 'nothing',
      expected: `${plan.names.length} keys, one a line or separated by commas`,
    })
  }
  const unfit = given.findIndex(key => !/^[\x21-\x7e]+$/.test(key))
  const mistakes: Mistake[] = []
  if (unfit >= 0) {
    mistakes.push({ where, got: `a space or a special character in key ${unfit + 1}`, expected: 'a plain key' })
  }
  if (new Set(given).size < given.length) {
    mistakes.push({ where, got: 'a key twice', expected: 'one key for each caller' })
  }
  if (given.length < plan.names.length) {
    mistakes.push({
      where,
      got: `${given.length} keys`,
      expected: `${plan.names.length}, one for each caller of the scenario`,
    })
  }
  if (mistakes.length > 0) throw new UsageError(mistakes)
  return plan.names.map((name, index) => ({ name, key: given[index] ?? '' }))
}

/** null when nobody has given any. A file that the plan names has been given, even if there is nothing in it. */
function givenKeys(plan: CallersPlan, environment: string | undefined): readonly string[] | null {
  const text = plan.keysFile === null ? (environment ?? '') : readKeys(plan.keysFile)
  if (plan.keysFile === null && text.trim() === '') return null
  return text
    .split(/[\r\n,]+/)
    .map(key => key.trim())
    .filter(key => key !== '')
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
