import { documentedContract } from '../../src/contract/documented.ts'
import { profileKeys } from '../../src/contract/profile-keys.ts'
import { isObject } from '../../src/lib/json.ts'

/** Each key of a profile with its documented value and its meaning. A key that the profile names has no value. */
function renderProfileKeys(): string {
  const rows = profileKeys().map(([key, meaning]) => {
    const path = key.split('.')
    const value = path.some(step => step.startsWith('<')) ? '' : code(String(documentedAt(path)))
    return [code(key), value, meaning.replaceAll('|', '\\|')]
  })
  return [['Key', 'Documented', 'Meaning'], ['---', '---', '---'], ...rows]
    .map(cells => `|${cells.map(cell => (cell === '---' ? cell : cell === '' ? ' ' : ` ${cell} `)).join('|')}|`)
    .join('\n')
}

const code = (text: string): string => `\`${text.replaceAll('|', '\\|')}\``

/** Of what is null, every member is. */
const documentedAt = (path: readonly string[]): unknown =>
  path.reduce<unknown>((at, step) => (isObject(at) ? at[step] : at), documentedContract)

/** The page with its table of keys replaced. The columns identify the table. */
export function withProfileKeys(markdown: string): string {
  const parts = markdown.split(/^\| Key \| Documented \| Meaning \|\n(?:\|.*\n)*/m)
  if (parts.length !== 2) throw new Error('the page must have exactly one table of keys')
  return parts.join(`${renderProfileKeys()}\n`)
}
