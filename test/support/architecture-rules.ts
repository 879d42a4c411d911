import { codeOf, importsOf, type SourceFile } from './source-code.ts'

type Tree = readonly SourceFile[]

/** What a rule has against a tree, a line for each offence, each line beginning with the path of the offender. */
export type Rule = (tree: Tree) => readonly string[]

/** A folder of `src`, or a file that stands beside the folders, and all that its files may import of the others. */
export type Place = { readonly name: string; readonly sees: readonly string[]; readonly because: string }

const isSource = ({ path }: SourceFile): boolean => /^src\/.*\.ts$/.test(path)
const isTypeScript = ({ path }: SourceFile): boolean => path.endsWith('.ts')
const sources = (tree: Tree): Tree => tree.filter(isSource)

/** The folder, or the file beside the folders, that a path of `src` belongs to. */
const placeOf = (path: string): string => path.split('/')[1] ?? ''

/** Places see only places that stand before them, and nothing sees what its row does not name. */
export function seesOnly(places: readonly Place[]): Rule {
  const order = places.map(({ name }) => name)
  return tree => [
    ...places.flatMap(({ name, sees }, position) =>
      sees
        .filter(seen => !order.slice(0, position).includes(seen.split('/')[0] ?? ''))
        .map(seen => `src/${name} is said to see ${seen}, which does not stand to its left`),
    ),
    ...sources(tree).flatMap(file => {
      const place = places.find(({ name }) => name === placeOf(file.path))
      if (place === undefined) return [`${file.path} is in no known place`]
      return importsOf(file)
        .flatMap(({ file: target }) => (target === null ? [] : [target]))
        .filter(target => placeOf(target) !== place.name)
        .filter(target => !place.sees.some(seen => target === `src/${seen}` || target.startsWith(`src/${seen}/`)))
        .map(target => `${file.path} imports ${target}`)
    }),
  ]
}

/** A row names nothing that its place does not use: the table is the diagram, and shows no arrow that is not there. */
export function usesAllItSees(places: readonly Place[]): Rule {
  return tree =>
    places.flatMap(({ name, sees }) => {
      const targets = sources(tree)
        .filter(({ path }) => placeOf(path) === name)
        .flatMap(file => importsOf(file).map(({ file: target }) => target ?? ''))
      return sees
        .filter(seen => !targets.some(target => target === `src/${seen}` || target.startsWith(`src/${seen}/`)))
        .map(seen => `src/${name} does not import ${seen} any more`)
    })
}

export type Door = { readonly files: readonly string[]; readonly because: string }

/** A package, or a module of Node's with effects, is imported by the listed files and folders only. */
export function oneDoor(doors: Readonly<Record<string, Door>>, harmless: readonly string[]): Rule {
  return tree =>
    sources(tree).flatMap(file =>
      importsOf(file)
        .filter(each => each.file === null && !harmless.includes(each.specifier))
        .filter(({ specifier }) => !doors[packageOf(specifier)]?.files.some(door => isAtOrUnder(file.path, door)))
        .map(({ specifier }) => `${file.path} imports ${specifier}`),
    )
}

/**
 * Every dependency is imported: those of the program by `src`, those of development by tests and benches, if they are
 * not tools. Types need no more than that what they describe is there.
 */
export function noIdleDependency(tools: Readonly<Record<string, string>>): Rule {
  return tree => {
    const manifest = tree.find(({ path }) => path === 'package.json')
    const { dependencies = {}, devDependencies = {} } = JSON.parse(manifest?.text ?? '{}')
    const imported = (files: Tree) =>
      new Set(files.flatMap(file => importsOf(file).map(({ specifier }) => packageOf(specifier))))
    const described = (name: string) => {
      const subject = name.replace(/^@types\//, '')
      return subject !== name && (subject === 'node' || subject in dependencies || subject in devDependencies)
    }
    const bySource = imported(sources(tree))
    const byOthers = imported(tree.filter(file => isTypeScript(file) && !isSource(file)))
    return [
      ...Object.keys(dependencies)
        .filter(name => !bySource.has(name))
        .map(name => `package.json: nothing in src imports ${name}`),
      ...Object.keys(devDependencies)
        .filter(name => !byOthers.has(name) && !described(name) && !(name in tools))
        .map(name => `package.json: no test, bench or tool needs ${name}`),
    ]
  }
}

const packageOf = (specifier: string): string =>
  specifier.startsWith('node:') ? specifier : specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')

const isAtOrUnder = (path: string, place: string): boolean => path === place || path.startsWith(`${place}/`)

const effects = {
  clock: /\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\s*\)|\bperformance\./,
  timer: /\bset(?:Timeout|Interval|Immediate)\b|\bAbortSignal\.timeout\b/,
  chance: /\bMath\.random\b|\bcrypto\.(?:randomUUID|getRandomValues)\b/,
  process: /(?<![.\w])process\b(?!\s*:)/,
  console: /\bconsole\b/,
  network: /(?<![.\w])fetch\(/,
} as const
export type Effect = keyof typeof effects

export type Edge = { readonly touches: readonly Effect[]; readonly because: string }

/** Time, chance, and the process around us are touched by the listed files only, each for its effects. */
export function effectsAtEdges(edges: Readonly<Record<string, Edge>>): Rule {
  return tree =>
    sources(tree).flatMap(file => {
      const code = codeOf(file.text)
      const allowed = edges[file.path]?.touches ?? []
      return Object.entries(effects)
        .filter(([name, pattern]) => pattern.test(code) && !allowed.some(each => each === name))
        .map(([name]) => `${file.path} touches the ${name}`)
    })
}

/** The pattern is nowhere in the code of `src`: comments and texts may say what they like. */
export const notInCode =
  (pattern: RegExp, what: string): Rule =>
  tree =>
    sources(tree).flatMap(({ path, text }) => linesWith(pattern, codeOf(text)).map(line => `${path}:${line} ${what}`))

/** The pattern is nowhere in the texts of the project, or of a part of it. */
export const notInText =
  (pattern: RegExp, what: string, under = ''): Rule =>
  tree =>
    tree
      .filter(({ path }) => path.startsWith(under))
      .flatMap(({ path, text }) => linesWith(pattern, text).map(line => `${path}:${line} ${what}`))

function linesWith(pattern: RegExp, text: string): readonly number[] {
  const every = new RegExp(pattern.source, `${pattern.flags.replace('g', '')}g`)
  return [...text.matchAll(every)].map(({ index }) => text.slice(0, index).split('\n').length)
}

/** TypeScript files are called by what is in them. */
export function namedForTheirIdea(vague: readonly string[]): Rule {
  return tree =>
    tree.filter(isTypeScript).flatMap(({ path }) => {
      const name = path.slice(path.lastIndexOf('/') + 1)
      if (vague.includes(name.replace(/\..*$/, ''))) return [`${path} has a name that says nothing`]
      return /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)*\.ts$/.test(name) ? [] : [`${path} is not in kebab case`]
    })
}

export function atMostLines(most: number, tables: Readonly<Record<string, string>>): Rule {
  return tree =>
    tree
      .filter(file => isTypeScript(file) && !(file.path in tables))
      .map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }))
      .filter(({ lines }) => lines > most)
      .map(({ path, lines }) => `${path} has ${lines} lines`)
}

/** No file imports itself by way of others; types count, because a reader goes round as well. */
export const noCycle: Rule = tree => {
  const graph = new Map(sources(tree).map(file => [file.path, importsOf(file).flatMap(({ file: to }) => to ?? [])]))
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start >= 0) cycles.push([...trail.slice(start), path].join(' → '))
    if (start >= 0 || done.has(path)) return
    for (const target of graph.get(path) ?? []) visit(target, [...trail, path])
    done.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
  return cycles
}

/** Every file of `src` is reached by imports from one of those where the program, or a thread of it, begins. */
export const noDeadFile =
  (...beginnings: readonly string[]): Rule =>
  tree => {
    const files = new Map(sources(tree).map(file => [file.path, file]))
    const reached = new Set<string>()
    const reach = (path: string): void => {
      const file = files.get(path)
      if (file === undefined || reached.has(path)) return
      reached.add(path)
      for (const { file: target } of importsOf(file)) if (target !== null) reach(target)
    }
    for (const path of beginnings) reach(path)
    return [...files.keys()].filter(path => !reached.has(path)).map(path => `${path} is reached by nothing`)
  }

/** Unit tests are found where their subject is: `test/unit/x` tests `src/x`. */
export const testsMirrorSources: Rule = tree => {
  const places = new Set(sources(tree).map(({ path }) => placeOf(path)))
  return tree.flatMap(({ path }) => {
    const folder = /^test\/unit\/([^/]+)\//.exec(path)?.[1]
    return folder === undefined || places.has(folder) ? [] : [`${path} tests no folder of src`]
  })
}
