import { visible } from '../../lib/visible.ts'

/** Markup made by `html`. Text has another type, so that it cannot be mistaken for markup. */
export type Html = { readonly markup: string }

type HtmlPart = Html | string | number | null | readonly HtmlPart[]

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** Code points that XML 1.0 cannot hold, and that no text should have. */
const unassigned = /\p{Cn}/gu

/** Text for an element or a quoted attribute of HTML or XML. */
export const escaped = (text: string): string =>
  visible(text)
    .replace(unassigned, '\uFFFD')
    .replace(/[&<>"']/g, sign => entities[sign] ?? sign)

/** A template. Inserted values are escaped, for an element or a quoted attribute, unless they are markup. */
export const html = (strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html => ({
  markup: strings.map((fixed, index) => (index === 0 ? '' : written(parts[index - 1] ?? null)) + fixed).join(''),
})

export const nothing: Html = { markup: '' }

/** The style sheet of a document. It must not contain text of a report. */
export const styleSheet = (css: string): Html => ({ markup: `<style>${css}</style>` })

/** The script of a page: fixed text without a closing tag. It must not contain text of a report. */
export const fixedScript = (code: string): Html => ({ markup: `<script>${code}</script>` })

function written(part: HtmlPart): string {
  if (part === null) return ''
  if (typeof part === 'string') return escaped(part)
  if (typeof part === 'number') return String(part)
  return 'markup' in part ? part.markup : part.map(written).join('')
}

/** An XML element. Attributes that are null are left out. `children` must be XML. */
export function xmlElement(
  name: string,
  attributes: Readonly<Record<string, string | number | null>>,
  children: readonly string[] = [],
): string {
  const pairs = Object.entries(attributes)
    .filter(([, value]) => value !== null)
    .map(([attribute, value]) => ` ${attribute}="${escaped(String(value).replace(/\s+/g, ' '))}"`)
    .join('')
  return children.length === 0 ? `<${name}${pairs}/>` : `<${name}${pairs}>${children.join('')}</${name}>`
}
