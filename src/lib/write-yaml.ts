import { isObject } from './json.ts'
import { wrap } from './text-layout.ts'

/** A value of a YAML file: the keys that lead to it, and the comment lines above it. */
export type YamlEntry = {
  readonly path: readonly string[]
  readonly value: unknown
  readonly comment: readonly string[]
  /** Whether the value is written as a comment too, so that a reader of the file does not get it. */
  readonly isShownOnly?: boolean
}

/** The lines of nested mappings with these values. Entries of one mapping are in their order. */
export function yamlLines(entries: readonly YamlEntry[], depth = 0): readonly string[] {
  const keys = [...new Set(entries.map(({ path }) => path[depth] ?? ''))]
  return keys.flatMap(key => {
    const inside = entries.filter(({ path }) => path[depth] === key)
    const leaf = inside.find(({ path }) => path.length === depth + 1)
    const at = '  '.repeat(depth)
    if (leaf === undefined) return [`${at}${keyText(key)}:`, ...yamlLines(inside, depth + 1)]
    const lines = leafLines(key, leaf.value).map(line => (leaf.isShownOnly === true ? `# ${line}` : line))
    return [...leaf.comment, ...lines].map(line => at + line)
  })
}

const leafLines = (key: string, leaf: unknown): readonly string[] =>
  Array.isArray(leaf) && leaf.some(isObject)
    ? [`${keyText(key)}:`, ...leaf.map(item => `  - ${yamlFlow(item)}`)]
    : [`${keyText(key)}: ${yamlFlow(leaf)}`]

/** A value on one line. */
export function yamlFlow(value: unknown): string {
  if (typeof value === 'string') return yamlText(value)
  if (Array.isArray(value)) return `[${value.map(yamlFlow).join(', ')}]`
  if (!isObject(value)) return String(value ?? null)
  const members = Object.entries(value).map(([key, each]) => `${keyText(key)}: ${yamlFlow(each)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

const keyText = (key: string): string =>
  /^[A-Za-z][A-Za-z0-9_-]*$/.test(key) && !/^(y|n|yes|no|on|off|true|false|null)$/i.test(key) ? key : yamlText(key)

/** A text in double quotes, with everything escaped that is not plain ASCII. */
export const yamlText = (plain: string): string =>
  JSON.stringify(plain).replaceAll(
    /[\u007f-\uffff]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

const page = { columns: 110, color: false }

/** A sentence as comment lines. `lead` starts the first line and indents the others. */
export const yamlComment = (sentence: string, lead = ''): readonly string[] =>
  wrap(page, sentence, 0, lead).map(line => `# ${line}`)
