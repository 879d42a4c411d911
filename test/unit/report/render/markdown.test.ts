import { expect, test } from 'vitest'
import { maxMarkdownBytes } from '../../../../src/report/render/markdown.ts'
import { renderMarkdown } from '../../../../src/report/render/renderers.ts'
import { failingReport, passingReport } from '../fixtures.ts'
import { hostileReport } from '../hostile-report.ts'

const golden = (name: string) => `../../../golden/${name}`

test('shows the verdict first, then its reasons, then the details', async () => {
  await expect(renderMarkdown(failingReport)).toMatchFileSnapshot(golden('report-fail.md'))
})

test('a passed run has no section for findings', () => {
  const text = renderMarkdown(passingReport)
  expect(text).toMatch(/^## ✅ pass: replay\n/)
  expect(text).not.toContain('### Findings')
})

/** The lines of a document outside of its code blocks, without inline code. */
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

test('text of the target stays text: no markup, no link, no mention, no way out of its block', () => {
  const text = prose(renderMarkdown(hostileReport))
  expect(text).toContain('### Turnpike itself')
  expect(text.match(/<(?!\/?(?:details|summary)>)/g)).toBeNull()
  expect(text.match(/<details>/g)?.length).toBe(text.match(/<\/details>/g)?.length)
  expect(text).not.toMatch(/[^\\]!?\[|@\w|[^\\]:\/\/|www\.|(?<!\\)\*\*[bi]/)
  expect(text).not.toMatch(/^# heading|^::/m)
  expect(text.replaceAll('\n', '').replaceAll('@\u200B', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
})

test('every row of a table has one cell for each title', () => {
  for (const block of prose(renderMarkdown(hostileReport))
    .split('\n\n')
    .filter(part => part.startsWith('|'))) {
    const cells = block.split('\n').map(row => row.split(/(?<!\\)\|/).length)
    expect(new Set(cells).size).toBe(1)
  }
})

test('it fits into the summary of a step, and states the number of omitted findings', () => {
  const [finding] = failingReport.findings
  if (finding === undefined) throw new Error('the fixture has a finding')
  const many = Array.from({ length: 300 }, () => ({ ...finding, message: 'é'.repeat(3_000) }))
  const text = renderMarkdown({ ...failingReport, findings: many })
  expect(Buffer.byteLength(text)).toBeLessThan(maxMarkdownBytes)
  expect(text).toMatch(/_\d+ more findings: see report.html or report.json._/)
  expect(text).toContain('### Turnpike itself')
})
