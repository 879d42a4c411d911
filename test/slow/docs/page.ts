import { readdirSync, readFileSync } from 'node:fs'
import { commands } from '../../../src/cli/commands.ts'

/** What a reader of a page does, from its top to its end. */
export type Step = { readonly line: number; readonly text: string } & (
  | { readonly kind: 'command' }
  /** Writes a file. */
  | { readonly kind: 'file'; readonly name: string }
  /** Replaces lines of a file, each with the same key. */
  | { readonly kind: 'change'; readonly name: string }
  /** Compares what the commands above it in the section printed. */
  | { readonly kind: 'shown' }
  /** Another section begins. */
  | { readonly kind: 'section' }
)

export type Page = { readonly file: string; readonly text: string; readonly steps: readonly Step[] }

const block = /^( *)```(\S*)\n([\s\S]*?)^\1```/gm
const inlineCommand = /`((npx )?turnpike ([a-z-]+)([^`\n…]*))`/g
/** Of what kind a file is that a block shows. */
const endings: Readonly<Record<string, string>> = { yaml: '.yaml', ts: '.ts', js: '.js', python: '.py' }

export function stepsOf(markdown: string): readonly Step[] {
  const lineAt = (index: number) => markdown.slice(0, index).split('\n').length
  const blocks = [...markdown.matchAll(block)]
  const prose = markdown.replace(block, text => text.replace(/[^\n]/g, ' '))
  const inline = [...prose.matchAll(inlineCommand)].flatMap(
    ({ 1: text = '', 2: npx, 3: name = '', 4: rest = '', index }) =>
      isComplete(name, rest, npx !== undefined)
        ? { at: index, steps: [{ kind: 'command', line: lineAt(index), text } as const] }
        : [],
  )
  const sections = [...prose.matchAll(/^#+ .*$/gm)].map(({ 0: text, index }) => ({
    at: index,
    steps: [{ kind: 'section', line: lineAt(index), text } as const],
  }))
  const fenced = blocks.map(({ 0: _, 1: indent = '', 2: language = '', 3: body = '', index }) => ({
    at: index,
    steps: stepsOfBlock(language, body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''), {
      line: lineAt(index),
      before: paragraphBefore(prose, index),
    }),
  }))
  return [...inline, ...sections, ...fenced].sort((a, b) => a.at - b.at).flatMap(({ steps }) => steps)
}

/** Without placeholders, and with what the command works on. Otherwise the text names the command. */
const isComplete = (name: string, rest: string, isTyped: boolean): boolean =>
  !/[<>]|\bURL\b/.test(rest) &&
  (isTyped || rest !== '') &&
  (/^ [^-]/.test(rest) || commands.some(({ usage }) => usage.split(' ')[0] === name && !usage.includes('<')))

const paragraphBefore = (prose: string, index: number): string =>
  prose
    .slice(0, index)
    .trimEnd()
    .split(/\n\s*\n/)
    .at(-1) ?? ''

function stepsOfBlock(
  language: string,
  text: string,
  { line, before }: { readonly line: number; readonly before: string },
): readonly Step[] {
  if (language === 'sh')
    return commandsOf(text).map(each => ({ kind: 'command', line: line + each.line, text: each.text }))
  if (language === '') return [{ kind: 'shown', line, text }]
  // A file is named by its own first line, or last in the sentence that introduces it.
  const own = /^(?:#|\/\/) (\S+\.\w+)\n/.exec(text)?.[1]
  const introduced = /[:]\s*$/.test(before) ? [...before.matchAll(/`([\w./-]+\.\w+)`/g)].at(-1)?.[1] : undefined
  const name = own ?? introduced
  if (name === undefined || !name.endsWith(endings[language] ?? '\n')) return []
  return [{ kind: /^\s/.test(text) ? 'change' : 'file', line, name, text }]
}

/** One command may take several lines. Comments go. */
function commandsOf(text: string): readonly { readonly line: number; readonly text: string }[] {
  const commands: { line: number; text: string }[] = []
  let begun = ''
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.replace(/(^|\s+)#\s.*$/, '')
    begun += begun === '' ? line : `\n${line}`
    const isOpen = line.endsWith('\\') || (begun.match(/'/g)?.length ?? 0) % 2 === 1
    if (isOpen) continue
    if (begun.trim() !== '') commands.push({ line: index + 1 - (begun.split('\n').length - 1), text: begun.trim() })
    begun = ''
  }
  return commands
}

/** The pages whose commands a reader types: of each the files that it shows, and the commands in their order. */
export const pages: readonly Page[] = ['README.md', ...readdirSync('docs').map(name => `docs/${name}`)]
  .filter(file => file.endsWith('.md'))
  .map(file => {
    const text = readFileSync(file, 'utf8')
    return { file, text, steps: stepsOf(text) }
  })
  .filter(({ steps }) => steps.some(({ kind }) => kind === 'command'))
