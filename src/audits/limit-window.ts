import type { Say } from '../checks/docket.ts'

/** One request of a window, as its limit sees it. All instants in milliseconds since the start of the run. */
export type Member = {
  readonly seq: number
  readonly sentMs: number
  readonly endMs: number
  /**
   * accepted: it counts · rejected: a 429, which need not count · uncertain: another non-success, or no answer, or a
   * probe; whether it counts is open
   */
  readonly sort: 'accepted' | 'rejected' | 'uncertain'
  /** Requests of the window, this one included, that were used up by what the answer said is left; null: it said nothing. */
  readonly used: number | null
  /** The most tokens that the request can have drawn. */
  readonly tokensMost: number
}

/** The requests whose answers named the same reset time, with those that named none but may belong to it. */
export type WindowUse = {
  readonly limit: number
  readonly members: readonly Member[]
  /** Whether all of the window's use is known: it began under our eyes, on accounts that nobody else uses. */
  readonly whole: boolean
  readonly tokenLimit: number | null
}

export type WindowVerdict = { readonly unexpected429: number; readonly missing429: number }

/** Judges a window that no request can join any more. */
export function judgeWindow(window: WindowUse, scope: string, say: Say<'limiter'>): WindowVerdict {
  const { limit, members, whole } = window
  const accepted = members.filter(member => member.sort === 'accepted')
  const ends = accepted.map(member => member.endMs).sort((a, b) => a - b)
  const starts = members
    .filter(member => member.sort !== 'rejected')
    .map(member => member.sentMs)
    .sort((a, b) => a - b)
  const rejectedStarts = members
    .filter(member => member.sort === 'rejected')
    .map(member => member.sentMs)
    .sort((a, b) => a - b)

  for (const member of accepted) {
    const { used } = member
    if (used === null) continue
    const least = 1 + countUpTo(ends, member.sentMs, false)
    // A rejected request may count or not.
    const most = countUpTo(starts, member.endMs) + countUpTo(rejectedStarts, member.endMs)
    if (used >= least && (used <= most || !whole)) say.kept('limit.requests.remaining')
    else {
      const range = whole ? `${least} to ${most}` : `at least ${least}`
      say.broken(
        'limit.requests.remaining',
        `${used} requests of ${scope} are said to be used in the window, expected ${range}`,
        [member.seq],
      )
    }
  }

  const surplus = accepted.toSorted((a, b) => a.sentMs - b.sentMs).slice(limit)
  if (surplus.length > 0) {
    const seqs = surplus.slice(0, 8).map(member => member.seq)
    say.broken(
      'limit.requests.enforced',
      `${accepted.length} requests of ${scope} were accepted in a window of ${limit}`,
      seqs,
    )
  } else if (members.some(member => member.sort === 'rejected')) say.kept('limit.requests.enforced')

  let unexpected429 = 0
  for (const member of whole ? members : []) {
    if (member.sort !== 'rejected') continue
    const possible = countUpTo(starts, member.endMs)
    if (possible >= limit || mayLackTokens(member, window)) say.kept('limit.requests.not-early')
    else {
      unexpected429++
      say.broken(
        'limit.requests.not-early',
        `a 429 came when at most ${possible} of ${limit} requests of ${scope} were used`,
        [member.seq],
      )
    }
  }
  return { unexpected429, missing429: surplus.length }
}

/** Whether the tokens of everything that may have come before the request can have used up the token window. */
function mayLackTokens(member: Member, { members, tokenLimit }: WindowUse): boolean {
  if (tokenLimit === null) return false
  const drawn = members.reduce((sum, other) => sum + (other.sentMs <= member.endMs ? other.tokensMost : 0), 0)
  return drawn > tokenLimit
}

/** How many of the ascending numbers are below `bound`, or equal to it where `orEqual`. */
function countUpTo(ascending: readonly number[], bound: number, orEqual = true): number {
  let [low, high] = [0, ascending.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const value = ascending[middle] ?? 0
    if (value < bound || (orEqual && value === bound)) low = middle + 1
    else high = middle
  }
  return low
}
