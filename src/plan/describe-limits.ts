import { plainTable } from '../lib/text-layout.ts'
import type { LimitsPlan } from './plan.ts'

/** Whose limits rates go by, and what the target was asked, in a line. */
export function describeLimits({ by, asked, scopes }: LimitsPlan): string {
  if (asked.kind === 'not-asked') return `of the profile: ${asked.why}`
  const who = `asked as ${asked.caller}`
  if (asked.kind === 'failed') return `of the profile: ${who}, the target did not say (${asked.why})`
  const others = scopes.filter(isOther).length
  const said = others === 0 ? 'they are those of the profile' : `${others} of them not as in the profile`
  return by === 'target'
    ? `of the target, as far as it says: ${who}, ${said}`
    : `of the profile, as the scenario wants it: ${who}, the target says ${others === 0 ? 'the same' : `${others} otherwise`}`
}

/** Each limit by both, when the target has said what it grants; else nothing. */
export function limitsTable({ asked, scopes }: LimitsPlan): string {
  if (asked.kind !== 'answered' || scopes.length === 0) return ''
  return plainTable(
    ['a minute', 'profile', 'target', 'rates go by', ''],
    scopes.map(row => [
      row.scope,
      amount(row.profile),
      amount(row.target),
      row.from === null ? 'nothing' : `the ${row.from}`,
      isOther(row) ? 'differs' : '',
    ]),
  )
}

/** The limits that the two state differently, each in a few words. */
export function differingLimits({ scopes }: LimitsPlan): readonly string[] {
  return scopes
    .filter(isOther)
    .map(({ scope, profile, target }) => `${scope} ${amount(target)} instead of ${amount(profile)}`)
}

type Row = LimitsPlan['scopes'][number]

/** What one of them is silent about is no difference. */
const isOther = ({ profile, target }: Row): boolean => profile !== null && target !== null && profile !== target

const amount = (perMinute: number | null): string => (perMinute === null ? '–' : perMinute.toLocaleString('en'))
