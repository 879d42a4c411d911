/** Markup that is as it should be: made by `html` alone, so that no text can be taken for it. */
export type Html = { readonly markup: string }

export type HtmlPart = Html | string | number | null | readonly HtmlPart[]

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
/** Could reverse or hide what stands beside it. */
const unfit = /[^\P{C}\n\t\p{Co}]/gu

/** Whatever is filled in is text, in an element or in a quoted attribute, unless it is markup itself. */
export const html = (strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html => ({
  markup: strings.map((fixed, index) => (index === 0 ? '' : written(parts[index - 1] ?? null)) + fixed).join(''),
})

export const nothing: Html = { markup: '' }

/** A document's own style sheet, which no part of a report comes into. */
export const styleSheet = (css: string): Html => ({ markup: `<style>${css}</style>` })

function written(part: HtmlPart): string {
  if (part === null) return ''
  if (typeof part === 'string') return part.replace(unfit, '\uFFFD').replace(/[&<>"']/g, sign => entities[sign] ?? sign)
  if (typeof part === 'number') return String(part)
  return 'markup' in part ? part.markup : part.map(written).join('')
}
