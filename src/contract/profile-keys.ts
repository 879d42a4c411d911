import { z } from 'zod'
import { contractSchema } from './contract.ts'

const profileSchema = contractSchema.omit({ sources: true })

/**
 * Every key of a profile with its meaning in Markdown, as the schema describes it: the comments of `turnpike profile` and
 * the table of docs/profiles.md. `<...>` stands for a key that the profile names, or for any of several that mean the same.
 */
export const profileKeys = (): readonly (readonly [key: string, meaning: string])[] => keysOf(profileSchema, [])

function keysOf(schema: unknown, path: readonly string[]): readonly (readonly [string, string])[] {
  const { field, description, keys } = fieldOf(schema)
  if (description !== undefined) return [[path.join('.'), description]]
  if (field instanceof z.ZodArray) return keysOf(field.element, [...path, '<index>'])
  if (field instanceof z.ZodRecord) return keysOf(field.valueType, [...path, keys ?? '<key>'])
  if (!(field instanceof z.ZodObject)) return []
  const members = Object.entries(field.shape)
  if (keys === undefined) return members.flatMap(([key, member]) => keysOf(member, [...path, key]))
  return members.slice(0, 1).flatMap(([, member]) => keysOf(member, [...path, keys]))
}

/** Whether the document leaves the value of the contract at `path` open. */
export function isOpenPath(path: string): boolean {
  let schema: unknown = profileSchema
  for (const step of path.split('.')) {
    const { field, isOpen = false } = fieldOf(schema)
    if (isOpen === true || (isOpen !== false && isOpen.includes(step))) return true
    if (field instanceof z.ZodArray) schema = field.element
    else if (field instanceof z.ZodRecord) schema = field.valueType
    else schema = field instanceof z.ZodObject ? field.shape[step] : undefined
  }
  return fieldOf(schema).isOpen === true
}

/** A schema without what makes it optional, and the metadata of both. */
function fieldOf(schema: unknown): z.GlobalMeta & { readonly field: unknown } {
  if (!(schema instanceof z.ZodType)) return { field: null }
  const isWrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault
  return { field: schema, ...(isWrapped && fieldOf(schema.unwrap())), ...schema.meta() }
}
