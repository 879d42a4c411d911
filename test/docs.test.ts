import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { commands } from '../src/cli/commands.ts'
import { unjudgedClauses } from '../src/contract/clauses/not-judged.ts'
import { clauses } from '../src/contract/clauses.ts'
import { type Contract, contractSchema } from '../src/contract/contract.ts'
import { documentedContract } from '../src/contract/documented.ts'
import { loadProfile } from '../src/contract/profile.ts'
import { toObject } from '../src/lib/json.ts'
import { UsageError } from '../src/lib/usage-error.ts'
import { lies } from '../src/service/lies/lies.ts'
import { blocksOf, headingsOf, linksOf, plain, spansOf, tableUnder } from './support/markdown.ts'
import { renderClauses } from './support/render-clauses.ts'
import { withProfileKeys } from './support/render-profile-keys.ts'
import { renderReference } from './support/render-reference.ts'
import { importsOf } from './support/source-code.ts'
import { virtualRun } from './support/virtual-run.ts'

const read = (file: string): string => readFileSync(file, 'utf8')
const documents = filesUnder('', /\.md$/)
const described = documents.map(file => [file, read(file)] as const)

function filesUnder(folder: string, named: RegExp): readonly string[] {
  const left = ['node_modules', '.git', 'dist', 'dist-bench', 'runs']
  return readdirSync(folder || '.', { withFileTypes: true })
    .filter(({ name }) => !left.includes(name))
    .flatMap(entry => (entry.isDirectory() ? filesUnder(`${folder}${entry.name}/`, named) : `${folder}${entry.name}`))
    .filter(file => named.test(file))
}

describe.each(described)('%s', (file, markdown) => {
  test('links to nothing that is not there', () => {
    const broken = linksOf(markdown)
      .map(({ target }) => target)
      .filter(target => !/^[a-z]+:/.test(target))
      .filter(target => {
        const [path = '', anchor] = target.split('#')
        const linked = path === '' ? file : normalize(join(dirname(file), path))
        if (!existsSync(linked)) return true
        return anchor !== undefined && !headingsOf(read(linked)).some(heading => heading.anchor === anchor)
      })
    expect(broken).toEqual([])
  })

  test('names no file of the project that is not there', () => {
    const paths = spansOf(markdown).filter(span => /^[\w.-]+(\/[\w.-]+)+\.(ts|md|yaml|json)$/.test(span))
    // What `turnpike init` writes is in a project of a user.
    const own = paths.filter(path => !path.startsWith('turnpike/'))
    expect(own.filter(path => !existsSync(path) && !existsSync(`src/${path}`))).toEqual([])
  })

  test('names no command and no flag that is not there', () => {
    expect(mentionsOf(markdown).flatMap(misuseOf)).toEqual([])
    const alone = spansOf(markdown).flatMap(span => /^--[\w-]+/.exec(span) ?? [])
    // What is on unless it is switched off.
    const nameOf = (flag: string) => flag.replace(/^--(no-)?/, '')
    expect(alone.filter(flag => !commands.some(({ flags }) => nameOf(flag) in flags))).toEqual([])
  })

  test('names no npm script that is not there', () => {
    const { scripts } = JSON.parse(read('package.json'))
    const named = [...markdown.matchAll(/npm (?:run )?(?:--silent )?((?<=run (?:--silent )?)[\w:-]+|start|test)\b/g)]
    expect(named.map(([, script = '']) => script).filter(script => !(script in scripts))).toEqual([])
  })
})

/** What follows `turnpike` in code, up to the end of the line or a comment. */
function mentionsOf(markdown: string): readonly string[] {
  const lines = [...blocksOf(markdown).join('\n').split('\n'), ...spansOf(markdown)]
  return lines.flatMap(line => /(?:^|\s)turnpike +([^#]*)/.exec(line.replace(/^\$ /, ''))?.[1] ?? [])
}

function misuseOf(mention: string): readonly string[] {
  const [name = '', ...words] = mention.trim().split(/\s+/)
  if (name.startsWith('-')) return ['--help', '--version'].includes(name) ? [] : [mention]
  const command = commands.find(({ usage }) => usage.split(' ')[0] === name)
  if (command === undefined) return [mention]
  const known = Object.keys(command.flags).flatMap(flag => [`--${flag}`, `--no-${flag}`])
  return words.filter(word => word.startsWith('--') && ![...known, '--help'].includes(word.replace(/=.*/, '')))
}

test('the README names every command', () => {
  const named = new Set(mentionsOf(read('README.md')).map(mention => mention.split(' ')[0]))
  expect(commands.map(({ usage }) => usage.split(' ')[0]).filter(name => !named.has(name))).toEqual([])
})

test('docs/clauses.md is what the clauses and the lies make of it', () => {
  const file = 'docs/clauses.md'
  const current = renderClauses(clauses, unjudgedClauses, lies)
  if (process.env.UPDATE_DOCS === '1') writeFileSync(file, current)
  expect(read(file), 'UPDATE_DOCS=1 npx vitest run test/docs.test.ts').toBe(current)
})

test('docs/scenario-reference.md is what the schema of scenarios makes of it', () => {
  const file = 'docs/scenario-reference.md'
  const current = renderReference()
  if (process.env.UPDATE_DOCS === '1') writeFileSync(file, current)
  expect(read(file), 'UPDATE_DOCS=1 npx vitest run test/docs.test.ts').toBe(current)
})

describe('docs/architecture.md', () => {
  const markdown = read('docs/architecture.md')
  const rooms = tableUnder(markdown, 'The rooms of `src`').flatMap(({ Room }) =>
    Room === undefined ? [] : plain(Room).replace(/\/$/, ''),
  )

  test('lists every room of src and no other', () => {
    expect([...new Set(rooms.map(room => room.split('/')[0]))].toSorted()).toEqual(
      readdirSync('src')
        .filter(name => name !== 'tsconfig.json')
        .toSorted(),
    )
    expect(rooms.filter(room => !existsSync(`src/${room}`))).toEqual([])
  })

  test('lists them in an order in which each imports only from above', () => {
    const inRoom = (path: string, room: string) => path === `src/${room}` || path.startsWith(`src/${room}/`)
    const roomOf = (path: string) => rooms.findIndex(room => inRoom(path, room))
    const backwards = filesUnder('src/', /\.ts$/).flatMap(path =>
      importsOf({ path, text: read(path) })
        .filter(({ file }) => file !== null && roomOf(file) > roomOf(path))
        .map(({ file }) => `${path} imports ${file}`),
    )
    expect(backwards).toEqual([])
  })

  test.each(tableUnder(markdown, 'What is bounded'))(
    'bounds $What by $Limit',
    ({ Limit = '', Constant = '', In = '' }) => {
      expect(read(plain(In))).toMatch(new RegExp(`\\b${plain(Constant)}( =|:) ${boundAsWritten(Limit)}\\b`))
    },
  )
})

/** A bound may be written with or without separators. */
const boundAsWritten = (cell: string): string => [...cell.replaceAll('_', '')].join('_?')

describe('docs/glossary.md', () => {
  const markdown = read('docs/glossary.md')
  const words = headingsOf(markdown).flatMap(({ text }) => tableUnder(markdown, text))

  test.each(words)('$Word is where it is said to be', ({ 'In the code': place = '' }) => {
    const [, name, file] = /^`(\w+)` in `(\S+)`$/.exec(place) ?? []
    const named = new RegExp(`\\b(type|const|function) ${name}\\b|\\b${name}(:|\\()`)
    expect(named.test(read(file ?? place)), place).toBe(true)
  })

  test('has no word twice', () => {
    const each = words.flatMap(({ Word = '' }) => Word.split(', '))
    expect(each.filter((word, index) => each.indexOf(word) < index)).toEqual([])
  })
})

describe('docs/profiles.md', () => {
  const markdown = read('docs/profiles.md')
  const [example = '', mistaken = ''] = blocksOf(markdown, 'yaml')
  const keys = tableUnder(markdown, 'Every key').map(({ Key = '', Documented = '' }) => ({
    path: plain(Key).split('.'),
    value: plain(Documented),
  }))

  test('has the table of keys that the code has', () => {
    const current = withProfileKeys(read('docs/profiles.md'))
    if (process.env.UPDATE_DOCS === '1') writeFileSync('docs/profiles.md', current)
    expect(read('docs/profiles.md'), 'UPDATE_DOCS=1 npx vitest run test/docs.test.ts').toBe(current)
  })

  test('lists every key of the contract and no other', () => {
    const listed = keys.map(({ path }) => path.map(step => (step.startsWith('<') ? '*' : step)).join('.'))
    // Turnpike itself notes where values come from.
    const inSchema = leavesOf(z.toJSONSchema(contractSchema.omit({ sources: true }))).map(path =>
      path.replace(/^accounts\.\w+\.\w+/, 'accounts.*.*'),
    )
    expect(listed.toSorted()).toEqual([...new Set(inSchema)].toSorted())
  })

  test.each(keys.filter(({ value }) => value !== ''))('says what is documented of $path', ({ path, value }) => {
    expect(String(memberAt(documentedContract, path))).toBe(value)
  })

  test('says of every single value what is documented', () => {
    const silent = keys.filter(({ path, value }) => value === '' && !path.some(step => step.startsWith('<')))
    expect(silent).toEqual([])
  })

  test('has the documented limits', () => {
    const limits = tableUnder(markdown, 'Limits by tier').map(row => Object.values(row))
    const { default: usual, partner } = documentedContract.accounts
    const expected = (['XS', 'S', 'M', 'L'] as const).map(tier =>
      [tier, ...[usual, partner].flatMap(of => [of[tier].requestsPerMinute, of[tier].tokensPerMinute])].map(String),
    )
    expect(limits).toEqual(expected)
  })

  test('has the documented models', () => {
    const models = tableUnder(markdown, 'Models').map(row => Object.values(row).map(plain))
    const expected = documentedContract.models.map(({ id, name, tier, maxCompletionTokens, logprobs, usdPerMillion }) =>
      [id, name, tier, maxCompletionTokens, logprobs, ...Object.values(usdPerMillion ?? {})].map(String),
    )
    expect(models).toEqual(expected)
  })

  test('has the documented networks', () => {
    const networks = tableUnder(markdown, 'Networks').flatMap(({ Family, 'Base credits': credits, Networks = '' }) =>
      plain(Networks)
        .split(' ')
        .map(slug => [slug, { baseCredits: Number(credits), family: Family }] as const),
    )
    expect(Object.fromEntries(networks)).toEqual(documentedContract.rpc.networks)
    expect(networks).toHaveLength(Object.keys(documentedContract.rpc.networks).length)
  })

  test('has an example that changes what it says and nothing else', () => {
    const { rpc, idempotency, limits, ...others } = documentedContract
    expect(profile(example)).toEqual({
      ...others,
      name: 'acme',
      headerPrefix: 'x-acme-',
      rpc: { ...rpc, usdPerCredit: '0.0000007' },
      idempotency: { ...idempotency, concurrent: 'best-effort' },
      limits: { ...limits, requestsReset: 'unix-milliseconds' },
      sources: {
        name: 'profile',
        headerPrefix: 'profile',
        'rpc.usdPerCredit': 'profile',
        'idempotency.concurrent': 'profile',
        'limits.requestsReset': 'profile',
      },
    })
  })

  test('has an example, and a service that follows it has no finding', async () => {
    const { report } = await virtualRun({ scenario: 'scenarios/rpc-only.yaml', contract: profile(example) })
    expect(report.reasons).toEqual([expect.stringContaining('no billing discrepancy')])
    expect(report.verdict).toBe('pass')
  })

  test('shows mistakes as they are told', () => {
    const shown = blocksOf(markdown, 'text').find(block => block.includes(': got '))
    expect(() => profile(mistaken)).toThrow(UsageError)
    expect(() => profile(mistaken)).toThrow(shown?.trim())
  })

  test('is right that an empty profile is the documented contract', () => {
    expect(profile('')).toEqual(documentedContract)
  })
})

/** Loads the profile as `acme.yaml` of the reader's working directory. */
function profile(text: string): Contract {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-docs-'))
  writeFileSync(join(folder, 'acme.yaml'), text)
  try {
    return loadProfile(join(folder, 'acme.yaml'))
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause
    throw new UsageError(cause.mistakes.map(told => ({ ...told, where: told.where.replace(`${folder}/`, '') })))
  }
}

/** Paths to the values of a JSON Schema that are neither mapping nor list, or may be a text; a key that is free is a star. */
function leavesOf(schema: unknown): readonly string[] {
  const { anyOf, properties, type, items, additionalProperties } = toObject(schema) ?? {}
  const under = (step: string, part: unknown) => leavesOf(part).map(path => (path === '' ? step : `${step}.${path}`))
  const alternatives: readonly unknown[] = Array.isArray(anyOf) ? anyOf : []
  if (alternatives.some(each => toObject(each)?.type === 'string')) return ['']
  const mapping = alternatives.find(hasKeys)
  if (mapping !== undefined) return leavesOf(mapping)
  if (properties !== undefined)
    return Object.entries(toObject(properties) ?? {}).flatMap(([key, part]) => under(key, part))
  if (type === 'array') return under('*', items)
  return type === 'object' ? under('*', additionalProperties) : ['']
}

/** Whether an object has known members, or any members of a known kind. */
function hasKeys(schema: unknown): boolean {
  const { properties, additionalProperties } = toObject(schema) ?? {}
  return properties !== undefined || Object.keys(toObject(additionalProperties) ?? {}).length > 0
}

/** Of what is null, every member is. */
const memberAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((at, step) => (typeof at === 'object' && at !== null ? Reflect.get(at, step) : at), value)
