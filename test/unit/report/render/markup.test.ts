import { expect, test } from 'vitest'
import { html, styleSheet } from '../../../../src/report/render/markup.ts'

test('what is filled in is text, and markup only where it was made as such', () => {
  const inner = html`<b>${'<i>'}</b>`
  expect(html`<p title="${`"><script>'`}">${inner}${['a & b', 3, null]}</p>`.markup).toBe(
    '<p title="&quot;&gt;&lt;script&gt;&apos;"><b>&lt;i&gt;</b>a &amp; b3</p>',
  )
})

test('what could hide or reverse what stands beside it is shown as a sign', () => {
  expect(html`${'a\u0000b\u202Ec\ud800\nd'}`.markup).toBe('a\uFFFDb\uFFFDc\uFFFD\nd')
})

test('a style sheet is as it was written', () => {
  expect(styleSheet('a > b {}').markup).toBe('<style>a > b {}</style>')
})
