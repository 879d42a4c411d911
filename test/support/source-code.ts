/** A file of the project: its path from the root, with slashes, and its text. */
export type SourceFile = { readonly path: string; readonly text: string }

/** One import or re-export. */
export type Import = {
  readonly from: string
  /** As in the source: `./plan.ts`, `node:fs`, `zod`. */
  readonly specifier: string
  /** The imported file, if it is part of the project. */
  readonly file: string | null
}

const comment = /\/\/[^\n]*|\/\*[\s\S]*?\*\//y
const quoted = /'(?:\\[\s\S]|[^'\\\n])*'|"(?:\\[\s\S]|[^"\\\n])*"/y
const templatePart = /[`}](?:\\[\s\S]|\$(?!\{)|[^`\\$])*(?:`|\$\{)/y
const regularExpression = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y

/**
 * The code of a TypeScript module with blank comments, strings and regular expressions, for pattern searches. Every
 * character keeps its position.
 */
export function codeOf(text: string): string {
  const code = known.get(text) ?? withoutWords(text)
  known.set(text, code)
  return code
}

const known = new Map<string, string>()

function withoutWords(text: string): string {
  let code = ''
  /** For each open `${`, the number of open braces inside it. */
  const open: number[] = []
  const match = (pattern: RegExp): string | null => {
    pattern.lastIndex = code.length
    return pattern.exec(text)?.[0] ?? null
  }
  const literalAt = (next: string): string | null => {
    if (next === '/') return startsExpression(code) ? match(regularExpression) : null
    return next === "'" || next === '"' ? match(quoted) : null
  }
  while (code.length < text.length) {
    const next = text.charAt(code.length)
    const inside = open.at(-1)
    const remark = next === '/' ? match(comment) : null
    const literal = remark === null ? literalAt(next) : null
    const part = next === '`' || (next === '}' && inside === 0) ? match(templatePart) : null
    if (remark !== null) {
      code += blank(remark)
    } else if (literal !== null) {
      code += next + blank(literal.slice(1, -1)) + next
    } else if (part !== null) {
      const opens = part.endsWith('${')
      if (next === '}') open.pop()
      if (opens) open.push(0)
      code += next + blank(part.slice(1, opens ? -2 : -1)) + (opens ? '${' : '`')
    } else {
      if (inside !== undefined && next === '{') open[open.length - 1] = inside + 1
      if (inside !== undefined && next === '}') open[open.length - 1] = inside - 1
      code += next
    }
  }
  return code
}

const blank = (text: string): string => text.replace(/[^\n]/g, ' ')

/** A slash after a value is a division. Elsewhere it starts a regular expression. */
const startsExpression = (code: string): boolean =>
  /(^|[([{,;=:!&|?+\-*%~^<>]|\b(return|typeof|case|in|of))$/.test(code.slice(-200).trimEnd())

const staticImport =
  /\b(?:import|export)\s+(?:type\s+)?(?:(?:[\w$]+\s*,\s*)?(?:\{[^}]*\}|\*(?:\s+as\s+[\w$]+)?|[\w$]+)\s+from\s*)(['"])( *)\1/g
const bareImport = /\bimport\s*\(?\s*(['"])( *)\1/g

/** All imports of a module, including types and dynamic imports, in source order. */
export function importsOf({ path, text }: SourceFile): readonly Import[] {
  const code = codeOf(text)
  return [staticImport, bareImport]
    .flatMap(pattern => [...code.matchAll(pattern)])
    .map(found => ({ end: found.index + found[0].length - 1, length: found[2]?.length ?? 0 }))
    .sort((a, b) => a.end - b.end)
    .map(({ end, length }) => {
      const specifier = text.slice(end - length, end)
      return { from: path, specifier, file: specifier.startsWith('.') ? resolve(path, specifier) : null }
    })
}

function resolve(from: string, specifier: string): string {
  const parts = from.split('/').slice(0, -1)
  for (const part of specifier.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '.') parts.push(part)
  }
  return parts.join('/')
}
