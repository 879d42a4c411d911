import { z } from 'zod'

/**
 * The fields of a mapping that are right, read one by one, so that a mistake in one of them does not hide those of the
 * others. What is no mapping has no fields.
 */
export function salvage<S extends z.ZodRawShape>(
  schema: z.ZodObject<S>,
  value: unknown,
): Partial<z.output<z.ZodObject<S>>> {
  const fields = entriesOf(value)
  const right: Record<string, unknown> = {}
  for (const [key, field] of Object.entries(schema.shape)) {
    const result = z.safeParse(field, fields[key])
    if (result.success && result.data !== undefined) right[key] = result.data
  }
  return right as Partial<z.output<z.ZodObject<S>>>
}

/** The entries of a mapping; none of anything else. */
export function entriesOf(value: unknown): Readonly<Record<string, unknown>> {
  const isMapping = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isMapping ? (value as Readonly<Record<string, unknown>>) : {}
}
