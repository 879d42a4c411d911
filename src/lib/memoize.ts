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
 * Caches the value of each object, such as a contract, until the object is collected. Workers in one thread each have a
 * contract of their own.
 */
export function memoizeByObject<Key extends object, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const values = new WeakMap<Key, { readonly value: Value }>()
  const cached = (key: Key) => {
    const known = values.get(key) ?? { value: make(key) }
    values.set(key, known)
    return known.value
  }
  return memoizeLast<Key, Value>(cached)
}
