/** How wide a line may be. */
const width = 96

/**
 * Rows under their titles, in columns as wide as they need to be; the last column is wrapped at commas and spaces where
 * a line would be too long. Numbers stand to the right.
 */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = titles.length === 0 ? rows : [titles, ...rows]
  const columns = Math.max(0, ...all.map(row => row.length))
  const widths = Array.from({ length: columns }, (_, column) => Math.max(...all.map(row => row[column]?.length ?? 0)))
  const numeric = widths.map(
    (_, column) => column > 0 && rows.every(row => /^([\d,.]+( ?m?s|%)?)?$/.test(row[column] ?? '')),
  )
  const last = columns - 1
  const before = widths.slice(0, last).reduce((sum, each) => sum + each + 2, 0)
  return all
    .flatMap(row => {
      const cells = row.slice(0, last).map((cell, column) => pad(cell, widths[column] ?? 0, numeric[column] === true))
      const ends = wrap(row[last] ?? '', width - before)
      return ends.map((end, line) => {
        const start = line === 0 ? cells.map(cell => `${cell}  `).join('') : ' '.repeat(before)
        return `${start}${pad(end, widths[last] ?? 0, numeric[last] === true)}`.trimEnd()
      })
    })
    .join('\n')
}

const pad = (cell: string, to: number, right: boolean): string => (right ? cell.padStart(to) : cell.padEnd(to))

function wrap(text: string, most: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > most) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}
