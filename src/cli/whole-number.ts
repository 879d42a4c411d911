import { UsageError } from '../lib/usage-error.ts'
import { number, type Values } from './command.ts'

/** The value of a flag that is a whole number within bounds; `least` where it was not given. Throws a UsageError. */
export function wholeNumber(
  values: Values,
  name: string,
  { least, most }: { readonly least: number; readonly most: number },
): number {
  const value = number(values, name) ?? least
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value
  throw new UsageError({
    where: `--${name}`,
    got: String(value),
    expected: `a whole number from ${least} to ${most}`,
  })
}
