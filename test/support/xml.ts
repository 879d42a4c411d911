export type XmlElement = {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly XmlElement[]
  readonly text: string
}

const declaration = /^<\?xml version="1\.0" encoding="UTF-8"\?>\n/
const tag = /<(\/?)([A-Za-z-]+)((?: [a-z]+="[^"<]*")*)(\/?)>/y
const attribute = / ([a-z]+)="([^"]*)"/g
/** The characters that XML 1.0 allows in a document. */
const fit = /^[\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]*$/u
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Reads the subset of XML that reports use. Throws for anything that a strict parser rejects. */
export function parseXml(document: string): XmlElement {
  if (!declaration.test(document)) throw new Error('the XML declaration is missing')
  if (!fit.test(document)) throw new Error('a character is not valid in XML')
  const stack: { name: string; attributes: Record<string, string>; children: XmlElement[]; text: string }[] = [
    { name: '', attributes: {}, children: [], text: '' },
  ]
  let at = document.indexOf('\n') + 1
  while (at < document.length) {
    const open = stack.at(-1)
    if (open === undefined) throw new Error('more closing tags than opening tags')
    tag.lastIndex = at
    const found = tag.exec(document)
    if (found === null) {
      const next = document.indexOf('<', at + 1)
      const end = next === -1 ? document.length : next
      if (document[at] === '<') throw new Error(`no tag at ${document.slice(at, at + 40)}`)
      open.text += unescaped(document.slice(at, end))
      at = end
      continue
    }
    at = tag.lastIndex
    const [, closing, name = '', attributeText = '', empty] = found
    if (closing) {
      if (stack.pop()?.name !== name) throw new Error(`</${name}> closes another element`)
      stack.at(-1)?.children.push(open)
      continue
    }
    const attributes = Object.fromEntries(
      [...attributeText.matchAll(attribute)].map(([, key, value = '']) => [key, unescaped(value)]),
    )
    const element = { name, attributes, children: [], text: '' }
    if (empty) open.children.push(element)
    else stack.push(element)
  }
  const [root] = stack[0]?.children ?? []
  if (stack.length !== 1 || root === undefined || stack[0]?.text.trim() !== '')
    throw new Error('the document must have exactly one root element')
  return root
}

const unescaped = (text: string): string =>
  text.replace(/&([^;]*);?/g, (_, name: string) => {
    const character = entities[name]
    if (character === undefined) throw new Error(`&${name} is not an entity`)
    return character
  })
