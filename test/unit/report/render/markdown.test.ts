import { expect, test } from 'vitest'
import { longestMarkdownBytes } from '../../../../src/report/render/markdown.ts'
import { renderMarkdown } from '../../../../src/report/render/renderers.ts'
import { failingReport, passingReport } from '../fixtures.ts'
import { hostileReport } from '../hostile-report.ts'

const golden = (name: string) => `../../../golden/${name}`

test('the verdict comes first, then why, then what it rests on', async () => {
  await expect(renderMarkdown(failingReport)).toMatchFileSnapshot(golden('report-fail.md'))
})

test('a run that passes has no findings to show', () => {
  const text = renderMarkdown(passingReport)
  expect(text).toMatch(/^## ✅ pass: replay\n/)
  expect(text).not.toContain('### Findings')
})

/** The lines of a document outside of its code blocks, with the names of what stands between backticks taken out. */
function prose(document: string): string {
  let fence = ''
  const lines = document.split('\n').filter(line => {
    const [ticks = ''] = /^`{3,}/.exec(line) ?? []
    if (fence === '' && ticks !== '') fence = ticks
    else if (fence !== '' && line === fence) fence = ''
    else return fence === ''
    return false
  })
  return lines.join('\n').replace(/(`+)(?!`).*?[^`]\1(?!`)/g, '')
}

test('what a target says is text: no markup, no link, no mention, no way out of its block', () => {
  const text = prose(renderMarkdown(hostileReport))
  expect(text).toContain('### The harness itself')
  expect(text.match(/<(?!\/?(?:details|summary)>)/g)).toBeNull()
  expect(text.match(/<details>/g)?.length).toBe(text.match(/<\/details>/g)?.length)
  expect(text).not.toMatch(/[^\\]!?\[|@\w|[^\\]:\/\/|www\.|(?<!\\)\*\*[bi]/)
  expect(text).not.toMatch(/^# heading|^::/m)
  expect(text.replaceAll('\n', '').replaceAll('@\u200B', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
})

test('every row of a table has as many cells as its titles', () => {
  for (const block of prose(renderMarkdown(hostileReport))
    .split('\n\n')
    .filter(part => part.startsWith('|'))) {
    const cells = block.split('\n').map(row => row.split(/(?<!\\)\|/).length)
    expect(new Set(cells).size).toBe(1)
  }
})

test('it fits into the summary of a step, and says what was left out', () => {
  const [finding] = failingReport.findings
  if (finding === undefined) throw new Error('the fixture has a finding')
  const many = Array.from({ length: 300 }, () => ({ ...finding, message: 'é'.repeat(3_000) }))
  const text = renderMarkdown({ ...failingReport, findings: many })
  expect(Buffer.byteLength(text)).toBeLessThan(longestMarkdownBytes)
  expect(text).toMatch(/_\d+ more findings: see report.html or report.json._/)
  expect(text).toContain('### The harness itself')
})
