import { textHash } from '../../lib/random.ts'

/** A word that no other request asks for. `name`: what tells requests apart. */
export const canaryOf = (name: string): string => `canary-${(textHash(name) >>> 0).toString(16).padStart(8, '0')}`

/** All such words of a text. */
export const canariesIn = (text: string): readonly string[] =>
  text.includes('canary-') ? (text.match(/canary-[0-9a-f]{8}/g) ?? []) : []
