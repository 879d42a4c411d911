/**
 * The same function, which remembers the last thing that it was asked: whoever judges a request asks for what the judge
 * before has asked for. To be used where equal arguments give equal values. It keeps one value, so it needs no bound.
 */
export function rememberLast<Key, Value, Context = void>(
  make: (key: Key, context: Context) => Value,
): (key: Key, context: Context) => Value {
  let last: { readonly key: Key; readonly context: Context; readonly value: Value } | null = null
  return (key, context) => {
    if (last === null || last.key !== key || last.context !== context)
      last = { key, context, value: make(key, context) }
    return last.value
  }
}
