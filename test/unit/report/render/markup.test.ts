import { expect, test } from 'vitest'
import { html, styleSheet } from '../../../../src/report/render/markup.ts'

test('escapes inserted text, and keeps inserted markup', () => {
  const inner = html`<b>${'<i>'}</b>`
  expect(html`<p title="${`"><script>'`}">${inner}${['a & b', 3, null]}</p>`.markup).toBe(
    '<p title="&quot;&gt;&lt;script&gt;&apos;"><b>&lt;i&gt;</b>a &amp; b3</p>',
  )
})

test('escapes characters that could hide or reverse text', () => {
  expect(html`${'a\u0000b\u202Ec\ud800\nd'}`.markup).toBe('a\\x00b\\u202ec\\ud800\nd')
})

test('keeps a style sheet verbatim', () => {
  expect(styleSheet('a > b {}').markup).toBe('<style>a > b {}</style>')
})
