/**
 * Caches the last call of a pure function, since several judges compute the same value for one response. It holds one
 * value, so it needs no bound.
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

/**
 * Caches the value of a pure function for each object, until the object is collected. One thread may hold several
 * contracts: each of its workers has one.
 */
export function memoizeByObject<Key extends object, Value extends object>(
  make: (key: Key) => Value,
): (key: Key) => Value {
  const values = new WeakMap<Key, Value>()
  return key => {
    const known = values.get(key)
    if (known !== undefined) return known
    const value = make(key)
    values.set(key, value)
    return value
  }
}
