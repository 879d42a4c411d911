/** What XML 1.0 has no way to say, halves of surrogate pairs among it, and what could steer whoever prints the text. */
const unfit = /[^\P{C}\n\t\p{Co}]/gu

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

const escaped = (text: string): string =>
  text.replace(unfit, '\uFFFD').replace(/[&<>"']/g, sign => entities[sign] ?? sign)

/** An element; an attribute that is null is left out. What is in `children` is XML already. */
export function element(
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

export const xmlText = (text: string): string => escaped(text)
