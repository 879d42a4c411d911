/** Markup that `html` or `element` made, and nothing else, so that no text can be taken for it. */
export type Html = { readonly markup: string }

type HtmlPart = Html | string | number | null | readonly HtmlPart[]

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** What XML 1.0 cannot hold, with halves of surrogate pairs, and what could hide or reverse the text beside it. */
const unfit = /[^\P{C}\n\t\p{Co}]/gu

/** Text for an element, or for a quoted attribute, of HTML or XML. */
export const escaped = (text: string): string =>
  text.replace(unfit, '\uFFFD').replace(/[&<>"']/g, sign => entities[sign] ?? sign)

/** Whatever is filled in is text, in an element or in a quoted attribute, unless it is markup itself. */
export const html = (strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html => ({
  markup: strings.map((fixed, index) => (index === 0 ? '' : written(parts[index - 1] ?? null)) + fixed).join(''),
})

export const nothing: Html = { markup: '' }

/** The style sheet of a document, which no part of a report gets into. */
export const styleSheet = (css: string): Html => ({ markup: `<style>${css}</style>` })

function written(part: HtmlPart): string {
  if (part === null) return ''
  if (typeof part === 'string') return escaped(part)
  if (typeof part === 'number') return String(part)
  return 'markup' in part ? part.markup : part.map(written).join('')
}

/** An element of XML. An attribute that is null is left out. `children` are XML already. */
export function xmlElement(
  name: string,
  attributes: Readonly<Record<string, string | number | null>>,
  children: readonly string[] = [],
): string {
  const said = Object.entries(attributes)
    .filter(([, value]) => value !== null)
    .map(([attribute, value]) => ` ${attribute}="${escaped(String(value).replace(/\s+/g, ' '))}"`)
    .join('')
  return children.length === 0 ? `<${name}${said}/>` : `<${name}${said}>${children.join('')}</${name}>`
}
