import sections from '../../site/sections.json' with { type: 'json' }
import { headingsOf, withoutBlocks } from './markdown.ts'

const schemas: readonly (readonly [path: string, title: string, what: string])[] = [
  ['scenarios/scenario.schema.json', 'Schema of scenario files', 'JSON Schema; `turnpike schema` prints it.'],
  ['scenarios/profile.schema.json', 'Schema of profiles', 'JSON Schema; `turnpike schema --of profile` prints it.'],
  ['docs/report.schema.json', 'Schema of report.json', 'JSON Schema of what `--format json` of a run prints.'],
  [
    'docs/comparison.schema.json',
    'Schema of comparison.json',
    'JSON Schema of what `turnpike compare --format json` prints.',
  ],
]

/**
 * `llms.txt`, in the format of llmstxt.org: a title, a summary, and lists of links, each with the beginning of its page.
 * The lists are the parts of the site.
 */
export function renderLlms(read: (path: string) => string): string {
  const link = (path: string) => `- [${titleOf(read(path))}](${path}): ${beginningOf(read(path), 80)}`
  const parts = Object.entries(sections).map(([part, groups]) => {
    const links = Object.values(groups).flat().map(link)
    if (part === 'Reference') links.push(...schemas.map(([path, title, what]) => `- [${title}](${path}): ${what}`))
    return `## ${part}\n\n${links.join('\n')}\n`
  })
  return [
    `# Turnpike\n\n> ${beginningOf(read('README.md'), 250)}\n`,
    'Paths are relative to this file, in the repository, in the npm package and on the site. Commands print JSON with `--format json`, and `turnpike mcp` serves tools to agents: see [Agents and programs](docs/agents.md).\n',
    ...parts,
  ].join('\n')
}

const titleOf = (markdown: string): string => headingsOf(markdown)[0]?.text ?? ''

/** The first sentences of a page, without links, until they have this many characters. */
function beginningOf(markdown: string, minChars: number): string {
  const paragraphs = withoutBlocks(markdown)
    .split(/\n{2,}/)
    .map(text => text.trim())
  const prose = paragraphs.find(text => /^[A-Z`*]/.test(text)) ?? ''
  const plainText = prose.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  const sentences = plainText
    .replace(/\s+/g, ' ')
    .replaceAll('**', '')
    .split(/(?<=[.?:]) (?=[A-Z`])/)
  let beginning = ''
  for (const sentence of sentences) if (beginning.length < minChars) beginning += ` ${sentence}`
  return beginning.trim().replace(/:$/, '.')
}
