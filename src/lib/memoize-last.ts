/**
 * Caches the last call of a pure function. Several judges compute the same value for one response, and a run has one
 * contract. The cache holds one value, so it needs no bound.
 */
export function memoizeLast<Key, Value, Context = void>(
  make: (key: Key, context: Context) => Value,
): (key: Key, context: Context) => Value {
  let last: { key: Key; context: Context; value: Value } | null = null
  return (key, context) => {
    if (last === null) last = { key, context, value: make(key, context) }
    else if (last.key !== key || last.context !== context) {
      last.value = make(key, context)
      last.key = key
      last.context = context
    }
    return last.value
  }
}
