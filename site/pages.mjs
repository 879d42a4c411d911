import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, join, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = path => readFileSync(join(root, path), 'utf8')

/** What the site holds of the repository: as pages if it is Markdown, and as it is. */
const held = readdirSync(root).filter(name => /\.md$|^(?:LICENSE|llms\.txt|docs|scenarios)$/.test(name))

/** The parts of the site, each with its groups of pages. `llms.txt` has the same parts. */
export const sections = JSON.parse(read('site/sections.json'))

export const titleOf = path => /^# (.+)$/m.exec(read(path))?.[1].replaceAll('`', '') ?? basename(path)

const filesUnder = path =>
  statSync(join(root, path)).isDirectory()
    ? readdirSync(join(root, path))
        .toSorted()
        .flatMap(name => filesUnder(`${path}/${name}`))
    : [path]

/**
 * Writes the source of the site to a folder. Paths stay those of the repository, so that its links work. What a page links
 * to and is no page becomes one: a file that shows its text, a folder that lists its files. `public` holds every file as it
 * is, so each page has a Markdown twin, and `llms.txt` lists them.
 */
export function writePages(folder) {
  const write = (path, text) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const files = held.flatMap(filesUnder).filter(path => extname(path) !== '.ts')
  for (const path of files) cpSync(join(root, path), join(folder, 'public', path))
  const shown = new Set()
  for (const path of files.filter(each => extname(each) === '.md'))
    write(
      path,
      withPagesForLinks(path, read(path), target => shown.add(target)),
    )
  for (const path of shown) {
    const isFolder = statSync(join(root, path)).isDirectory()
    write(isFolder ? `${path}/index.md` : `${path}.md`, isFolder ? listOf(path) : textOf(path))
  }
  write(
    'index.md',
    withPagesForLinks('site/index.md', read('site/index.md'), () => {}),
  )
}

/** Links of a page to files and folders lead to the pages that show them, and pictures are those of `public`. */
const withPagesForLinks = (page, markdown, show) =>
  markdown.replace(/\[([^\]]*)\]\(([\w./-]+?)\/?\)/g, (link, text, target) => {
    const path = normalize(join(dirname(page), target))
    if (target.endsWith('.png')) return `[${text}](/${path})`
    if (/\.(?:md|json|txt)$/.test(target) || !existsSync(join(root, path))) return link
    show(path)
    return statSync(join(root, path)).isDirectory() ? `[${text}](${target}/index.md)` : `[${text}](${target}.md)`
  })

const languages = { '.yml': 'yaml', '.yaml': 'yaml', '.sh': 'bash', '': 'text' }
const textOf = path =>
  `---\ntwin: false\n---\n\n# \`${basename(path)}\`\n\n\`\`\`\`${languages[extname(path)] ?? 'text'}\n${read(path).trimEnd()}\n\`\`\`\`\n`

const listOf = path => {
  const items = filesUnder(path).map(file => {
    const isPage = extname(file) === '.md'
    return `- [${isPage ? titleOf(file) : basename(file)}](${relative(path, file)}${isPage ? '' : '.md'})`
  })
  const name = basename(path)
  return `---\ntwin: false\n---\n\n# ${name[0].toUpperCase()}${name.slice(1)}\n\n${items.join('\n')}\n`
}
