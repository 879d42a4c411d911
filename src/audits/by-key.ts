/** How many requests came with each key of an account, in the order of the keys. */
export type ByKey = readonly number[]

export const noKeys: ByKey = []

export function plusKey(counts: ByKey, key: number): ByKey {
  // Most accounts have one key.
  if (key === 0 && counts.length < 2) return [(counts[0] ?? 0) + 1]
  const next = [...counts]
  while (next.length <= key) next.push(0)
  next[key] = (next[key] ?? 0) + 1
  return next
}

export const withKey = (counts: ByKey, key: number): number => counts[key] ?? 0

/** Whether there are requests that came with another key than this one. */
export const hasOtherKeys = (counts: ByKey, key: number): boolean =>
  counts.some((count, other) => other !== key && count > 0)
