// Prints the section of the changelog for a tag such as v1.2.3, and fails if the tag is not the version of the package.
import { readFileSync } from 'node:fs'

const [tag = ''] = process.argv.slice(2)
const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const fail = message => {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
if (tag !== `v${version}`) fail(`package.json: got version ${version}, expected the version of the tag ${tag}`)
const heading = `## ${version}`
const [, section = ''] = `\n${readFileSync('CHANGELOG.md', 'utf8')}`.split(`\n${heading}\n`)
const [text = ''] = section.split(/^## /m)
if (text.trim() === '')
  fail(`CHANGELOG.md: got no text below the heading "${heading}", expected the changes of this version`)
process.stdout.write(`${text.trim()}\n`)
