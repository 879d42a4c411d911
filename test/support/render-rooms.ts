import type { Place } from './architecture-rules.ts'

/** The table of rooms in `docs/architecture.md`: each room, all that it may import of the others, and the reason. */
export function renderRooms(rooms: readonly Place[]): string {
  const cells = rooms.map(({ name, sees, because }) => [
    roomOf(name),
    sees.map(roomOf).join(', ') || 'nothing',
    because,
  ])
  return [['Room', 'May import', 'Because'], ['---', '---', '---'], ...cells]
    .map(row => `| ${row.join(' | ')} |`)
    .join('\n')
}

/** A folder has a slash at its end. */
const roomOf = (name: string): string => (name.endsWith('.ts') ? `\`${name}\`` : `\`${name}/\``)

/** The page with its table of rooms, which is the one with these columns, replaced. */
export function withRooms(markdown: string, rooms: readonly Place[]): string {
  const parts = markdown.split(/^\| Room \| May import \| Because \|\n(?:\|.*\n)*/m)
  if (parts.length !== 2) throw new Error('the page has not exactly one table of rooms')
  return parts.join(`${renderRooms(rooms)}\n`)
}
