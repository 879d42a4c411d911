/** `value` with other members; undefined removes one, since it is not written in JSON. */
export const amended = (value: unknown, changes: Readonly<Record<string, unknown>>): unknown => ({
  ...(typeof value === 'object' ? value : {}),
  ...changes,
})
