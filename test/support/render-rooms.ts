import type { Room } from './architecture-rules.ts'

/** The table of rooms in `docs/architecture.md`: each room, the rooms that it may import, and the reason. */
export function renderRooms(rooms: readonly Room[]): string {
  const cells = rooms.map(({ name, sees, because }) => [
    roomOf(name),
    sees.map(roomOf).join(', ') || 'nothing',
    because,
  ])
  return [['Room', 'May import', 'Because'], ['---', '---', '---'], ...cells]
    .map(row => `| ${row.join(' | ')} |`)
    .join('\n')
}

/** The name of a folder ends in a slash. */
const roomOf = (name: string): string => (name.endsWith('.ts') ? `\`${name}\`` : `\`${name}/\``)

/** The page with its table of rooms replaced. The columns identify the table. */
export function withRooms(markdown: string, rooms: readonly Room[]): string {
  const parts = markdown.split(/^\| Room \| May import \| Because \|\n(?:\|.*\n)*/m)
  if (parts.length !== 2) throw new Error('the page must have exactly one table of rooms')
  return parts.join(`${renderRooms(rooms)}\n`)
}
