/** Adds a part to what is there, which it may change, and returns the sum. */
type Merge<Own, Part = Own> = (own: Own, part: Part) => Own

/** For each field of a part, how it is added to the same field of a sum. A field without a rule does not compile. */
export type MergeRules<Part, Own extends Sums<Part> = Part> = {
  readonly [Name in keyof Part]-?: Merge<Own[Name], Part[Name]>
}

type Sums<Part> = { readonly [Name in keyof Part]: unknown }

/** Adds each field of `part` to the one of `own`, and returns `own`. */
export function mergeFields<Part extends object, Own extends Sums<Part>>(
  own: Own,
  part: Part,
  rules: MergeRules<Part, Own>,
): Own {
  for (const name in rules) own[name] = rules[name](own[name], part[name])
  return own
}

/** The sum of all parts, from `empty` on. */
export const mergeAll = <Part extends object, Own extends Sums<Part>>(
  parts: readonly Part[],
  empty: () => Own,
  rules: MergeRules<Part, Own>,
): Own => parts.reduce((own, part) => mergeFields(own, part, rules), empty())

/** The same rule for several fields. */
export const eachBy = <Name extends string, Rule>(rule: Rule, names: readonly Name[]): Readonly<Record<Name, Rule>> =>
  Object.fromEntries(names.map(name => [name, rule])) as Record<Name, Rule>

/** The same value in all parts, such as a name. */
export const keep = <Value>(own: Value): Value => own

export const sum = (own: number, part: number): number => own + part
export const sumBigint = (own: bigint, part: bigint): bigint => own + part

/** The first value that is not null. */
export const first = <Value>(own: Value | null, part: Value | null): Value | null => own ?? part

/** An accumulator that merges the snapshot of another one itself. */
export function into<Snapshot, Own extends { readonly merge: (snapshot: Snapshot) => void }>(
  own: Own,
  part: Snapshot,
): Own {
  own.merge(part)
  return own
}

/** An object whose fields have rules of their own. */
export const fieldsBy =
  <Part extends object, Own extends Sums<Part>>(rules: MergeRules<Part, Own>): Merge<Own, Part> =>
  (own, part) =>
    mergeFields(own, part, rules)

/** Value by value; a key that is not there yet starts with `empty`. */
export const mapBy =
  <Own, Part>(rule: Merge<Own, Part>, empty: () => Own) =>
  <Key>(own: Map<Key, Own>, part: ReadonlyMap<Key, Part>): Map<Key, Own> => {
    for (const [key, value] of part) own.set(key, rule(own.get(key) ?? empty(), value))
    return own
  }

export const sumCounts = mapBy(sum, () => 0)

/** The same for the keys of an object. */
export const recordBy =
  <Own, Part>(rule: Merge<Own, Part>, empty: () => Own) =>
  (own: Readonly<Record<string, Own>>, part: Readonly<Record<string, Part>>): Readonly<Record<string, Own>> =>
    Object.fromEntries(mapBy(rule, empty)(new Map(Object.entries(own)), new Map(Object.entries(part))))

export function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

export function addCount<Key>(counts: Map<Key, number>, key: Key, by = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + by)
}
