import { z } from 'zod'

export const decimal = z.string().regex(/^\d+(\.\d+)?$/, 'a decimal in quotes, such as "0.000000625"')
export const pattern = z.string().refine(isPattern, 'a regular expression')
export const positiveInt = z.int().positive()
export const milliseconds = z.number().nonnegative()

function isPattern(text: string): boolean {
  try {
    return new RegExp(text) instanceof RegExp
  } catch {
    return false
  }
}
