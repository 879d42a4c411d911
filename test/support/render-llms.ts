import { headingsOf, withoutBlocks } from './markdown.ts'

/** What the pages beside the guides are for. A page that neither lists is a guide. */
const reference = [
  ...['docs/scenario-reference.md', 'docs/clauses.md', 'docs/measurement.md', 'docs/billing.md', 'docs/glossary.md'],
]
const optional = [
  ...['docs/architecture.md', 'docs/trust.md', 'docs/releasing.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md'],
]

const schemas: readonly (readonly [path: string, title: string, what: string])[] = [
  ['scenarios/scenario.schema.json', 'Schema of scenario files', 'JSON Schema; `turnpike schema` prints it.'],
  ['docs/report.schema.json', 'Schema of report.json', 'JSON Schema of what `--format json` of a run prints.'],
  [
    'docs/comparison.schema.json',
    'Schema of comparison.json',
    'JSON Schema of what `turnpike compare --format json` prints.',
  ],
]

/**
 * `llms.txt`, in the format of llmstxt.org: a title, a summary, and lists of links, each with the beginning of its page.
 * `pages` are the paths of all pages in `docs`.
 */
export function renderLlms(pages: readonly string[], read: (path: string) => string): string {
  const guides = pages.filter(page => ![...reference, ...optional].includes(page))
  const link = (path: string) => `- [${titleOf(read(path))}](${path}): ${beginningOf(read(path), 80)}`
  const listed = (title: string, lines: readonly string[]) => `## ${title}\n\n${lines.join('\n')}\n`
  return [
    `# Turnpike\n\n> ${beginningOf(read('README.md'), 250)}\n`,
    'Paths are relative to this file, in the repository and in the npm package. Commands print JSON with `--format json`, and `turnpike mcp` serves tools to agents: see [Agents and programs](docs/agents.md).\n',
    listed('Guides', ['README.md', ...guides].map(link)),
    listed('Reference', [
      ...reference.map(link),
      ...schemas.map(([path, title, what]) => `- [${title}](${path}): ${what}`),
    ]),
    listed('Optional', optional.map(link)),
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
