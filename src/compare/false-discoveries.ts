/**
 * Which of many tests may be believed: by Benjamini and Hochberg, so that of those that are believed no more than `share`
 * are wrong on average, and where nothing has changed at all, any is believed in no more than `share` of all cases. Both
 * hold for tests that rise and fall together, as those of one run do.
 */
export function believable<Test>(
  tests: readonly Test[],
  chanceOf: (test: Test) => number,
  share: number,
): readonly Test[] {
  const ascending = tests.toSorted((a, b) => chanceOf(a) - chanceOf(b))
  const last = ascending.findLastIndex((test, rank) => chanceOf(test) <= (share * (rank + 1)) / tests.length)
  return ascending.slice(0, last + 1)
}
