import { codeOf, importsOf, type SourceFile } from './source-code.ts'

type Tree = readonly SourceFile[]

/** The offenses against a rule in a tree, one line each. A line starts with the path of the file. */
export type Rule = (tree: Tree) => readonly string[]

/** A room: a folder of `src` or one file, and the other rooms that its files may import. */
export type Room = { readonly name: string; readonly sees: readonly string[]; readonly because: string }

const isSource = ({ path }: SourceFile): boolean => /^src\/.*\.ts$/.test(path)
const isTypeScript = ({ path }: SourceFile): boolean => path.endsWith('.ts')
const sources = (tree: Tree): Tree => tree.filter(isSource)

/** The room of a path: the longest matching name, so `judge/checks` comes before `judge`. */
function roomOf(path: string, rooms: readonly Room[]): Room | undefined {
  return rooms
    .filter(({ name }) => isAtOrUnder(path, `src/${name}`))
    .toSorted((a, b) => b.name.length - a.name.length)[0]
}

/** Rooms import only from rooms above them, and only from those that their row names. */
export function seesOnly(rooms: readonly Room[]): Rule {
  return tree => [
    ...rooms.flatMap(({ name, sees }, position) =>
      sees
        .filter(
          seen =>
            !rooms.slice(0, position).some(above => isAtOrUnder(seen, above.name) || isAtOrUnder(above.name, seen)),
        )
        .map(seen => `src/${name} lists ${seen}, which is not above it`),
    ),
    ...sources(tree).flatMap(file => {
      const room = roomOf(file.path, rooms)
      if (room === undefined) return [`${file.path} is in no known room`]
      return targetsOf(file)
        .filter(target => roomOf(target, rooms) !== room)
        .filter(target => !room.sees.some(seen => isAtOrUnder(target, `src/${seen}`)))
        .map(target => `${file.path} imports ${target}`)
    }),
  ]
}

/** A row names only rooms that its room imports. */
export function usesAllItSees(rooms: readonly Room[]): Rule {
  return tree =>
    rooms.flatMap(({ name, sees }) => {
      const targets = sources(tree)
        .filter(({ path }) => roomOf(path, rooms)?.name === name)
        .flatMap(targetsOf)
      return sees
        .filter(seen => !targets.some(target => isAtOrUnder(target, `src/${seen}`)))
        .map(seen => `src/${name} no longer imports ${seen}`)
    })
}

/** Files under one folder import nothing under the other, in both directions. */
export function apart(one: string, other: string): Rule {
  const imports = (tree: Tree, from: string, to: string) =>
    sources(tree)
      .filter(({ path }) => isAtOrUnder(path, from))
      .flatMap(file =>
        targetsOf(file)
          .filter(target => isAtOrUnder(target, to))
          .map(target => `${file.path} imports ${target}`),
      )
  return tree => [...imports(tree, one, other), ...imports(tree, other, one)]
}

/** `file` is imported by the listed files only. */
export function importedOnlyBy(file: string, importers: readonly string[]): Rule {
  return tree =>
    sources(tree)
      .filter(({ path }) => !importers.includes(path))
      .filter(importer => targetsOf(importer).includes(file))
      .map(({ path }) => `${path} imports ${file}`)
}

/** One step of a call chain: a function that `file` exports. `handedOn`: it calls the next step through a value. */
export type Hop = { readonly file: string; readonly exports: string; readonly handedOn?: true }

/** Every step exists and imports the next one, except after `handedOn`. */
export function chain(hops: readonly Hop[]): Rule {
  return tree => {
    const files = new Map(tree.map(file => [file.path, file]))
    return hops.flatMap((hop, position) => {
      const file = files.get(hop.file)
      if (file === undefined) return [`${hop.file} does not exist`]
      const next = hops[position + 1]
      const isDeclared = new RegExp(`\\bexport (?:async )?(?:function|const) ${hop.exports}\\b`).test(file.text)
      return [
        ...(isDeclared ? [] : [`${hop.file} does not export ${hop.exports}`]),
        ...(next === undefined || hop.handedOn === true || targetsOf(file).includes(next.file)
          ? []
          : [`${hop.file} does not import ${next.file}`]),
      ]
    })
  }
}

/** `src` has at most this many files. */
export const atMostFiles =
  (max: number): Rule =>
  tree =>
    sources(tree).length > max ? [`src has ${sources(tree).length} files, more than ${max}`] : []

/** No folder of `src` has more files than this, without subfolders. */
export const atMostFilesPerFolder =
  (max: number): Rule =>
  tree => {
    const counts = new Map<string, number>()
    for (const { path } of sources(tree)) {
      const folder = path.slice(0, path.lastIndexOf('/'))
      counts.set(folder, (counts.get(folder) ?? 0) + 1)
    }
    return [...counts].filter(([, count]) => count > max).map(([folder, count]) => `${folder} has ${count} files`)
  }

/**
 * At most `max` files have one importer only. Files that one of `tables` imports do not count. `maxBeside` bounds
 * fragments: such files of at most 60 lines in the folder of their importer.
 */
export function fewFragments(max: number, maxBeside: number, tables: readonly string[]): Rule {
  return tree => {
    const importers = new Map<string, string[]>()
    for (const file of sources(tree))
      for (const target of new Set(targetsOf(file)))
        importers.set(target, [...(importers.get(target) ?? []), file.path])
    const single = sources(tree).flatMap(file => {
      const [importer, ...others] = importers.get(file.path) ?? []
      if (importer === undefined || others.length > 0 || tables.includes(importer)) return []
      return [{ path: file.path, importer, lines: file.text.trimEnd().split('\n').length }]
    })
    const folder = (path: string) => path.slice(0, path.lastIndexOf('/'))
    const beside = single.filter(({ path, importer, lines }) => folder(path) === folder(importer) && lines <= 60)
    const list = (files: readonly { readonly path: string }[]) => files.map(({ path }) => path).join(' ')
    return [
      ...(single.length > max ? [`src has ${single.length} files with one importer: ${list(single)}`] : []),
      ...(beside.length > maxBeside ? [`src has ${beside.length} fragments: ${list(beside)}`] : []),
    ]
  }
}

/** No two files of `src` export the same name. */
export const oneMeaning: Rule = tree => {
  const owners = new Map<string, string[]>()
  for (const { path, text } of sources(tree)) {
    const declared = codeOf(text).matchAll(/^export (?:async )?(?:type|function\*?|const|let|class|interface) (\w+)/gm)
    for (const name of new Set([...declared].map(found => found[1] ?? '')))
      owners.set(name, [...(owners.get(name) ?? []), path])
  }
  return [...owners]
    .filter(([, paths]) => paths.length > 1)
    .map(([name, paths]) => `${paths.join(' and ')} both export ${name}`)
}

export type Door = { readonly files: readonly string[]; readonly because: string }

/** Only the listed files and folders import a package, or a Node.js module with effects. */
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
 * Every dependency is imported: by `src`, or for development by tests and benches, except for tools. A package of types
 * only needs the package that it describes.
 */
export function noIdleDependency(tools: Readonly<Record<string, string>>): Rule {
  return tree => {
    const manifest = tree.find(({ path }) => path === 'package.json')
    const { dependencies = {}, optionalDependencies = {}, devDependencies = {} } = JSON.parse(manifest?.text ?? '{}')
    const imported = (files: Tree) =>
      new Set(files.flatMap(file => importsOf(file).map(({ specifier }) => packageOf(specifier))))
    const described = (name: string) => {
      const subject = name.replace(/^@types\//, '')
      return subject !== name && (subject === 'node' || subject in dependencies || subject in devDependencies)
    }
    const bySource = imported(sources(tree))
    const byOthers = imported(tree.filter(file => isTypeScript(file) && !isSource(file)))
    return [
      ...Object.keys({ ...dependencies, ...optionalDependencies })
        .filter(name => !bySource.has(name) && !(name in tools))
        .map(name => `package.json: nothing in src imports ${name}`),
      ...Object.keys(devDependencies)
        .filter(name => !byOthers.has(name) && !described(name) && !(name in tools))
        .map(name => `package.json: no test, bench or tool needs ${name}`),
    ]
  }
}

/** No file of `src` loads an optional package before it needs it: it may be missing. Imports of types load nothing. */
export const optionalOnUse: Rule = tree => {
  const manifest = tree.find(({ path }) => path === 'package.json')
  const { optionalDependencies = {} } = JSON.parse(manifest?.text ?? '{}')
  return sources(tree).flatMap(({ path, text }) =>
    [...text.matchAll(/^(?:import|export) (?!type )[^'\n]*from '([^']+)'/gm)]
      .map(([, specifier = '']) => packageOf(specifier))
      .filter(name => Object.hasOwn(optionalDependencies, name))
      .map(name => `${path} loads ${name}, which may be missing, before it needs it`),
  )
}

const packageOf = (specifier: string): string =>
  specifier.startsWith('node:') ? specifier : specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')

const isAtOrUnder = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

const targetsOf = (file: SourceFile): readonly string[] => importsOf(file).flatMap(({ file: target }) => target ?? [])

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

/** Only the listed files use time, randomness, and the process, each only its listed effects. */
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

/** The pattern does not occur in the code of `src`. Comments and strings are free. */
export const notInCode =
  (pattern: RegExp, what: string): Rule =>
  tree =>
    sources(tree).flatMap(({ path, text }) => linesWith(pattern, codeOf(text)).map(line => `${path}:${line} ${what}`))

/** The pattern does not occur in the files of the project, or of a part of it. */
export const notInText =
  (pattern: RegExp, what: string, under = ''): Rule =>
  tree =>
    tree
      .filter(({ path }) => path.startsWith(under))
      .flatMap(({ path, text }) => linesWith(pattern, text).map(line => `${path}:${line} ${what}`))

/** No text of the project has one of these words: pattern → the word to use. `exempt` may, since they list old words. */
export const noPrivateWords =
  (words: Readonly<Record<string, string>>, exempt: readonly string[]): Rule =>
  tree =>
    Object.entries(words).flatMap(([word, instead]) =>
      notInText(
        new RegExp(word, 'i'),
        `has a private word (${word}): say ${instead}`,
      )(tree.filter(({ path }) => !exempt.some(each => isAtOrUnder(path, each)))),
    )

function linesWith(pattern: RegExp, text: string): readonly number[] {
  const every = new RegExp(pattern.source, `${pattern.flags.replace('g', '')}g`)
  return [...text.matchAll(every)].map(({ index }) => text.slice(0, index).split('\n').length)
}

/** TypeScript files have specific names in kebab case. */
export function namedForTheirIdea(vague: readonly string[]): Rule {
  return tree =>
    tree.filter(isTypeScript).flatMap(({ path }) => {
      const name = path.slice(path.lastIndexOf('/') + 1)
      if (vague.includes(name.replace(/\..*$/, ''))) return [`${path} has a vague name`]
      return /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)*\.ts$/.test(name) ? [] : [`${path} is not in kebab case`]
    })
}

export function atMostLines(max: number, tables: Readonly<Record<string, string>>): Rule {
  return tree =>
    tree
      .filter(file => isTypeScript(file) && !(file.path in tables))
      .map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }))
      .filter(({ lines }) => lines > max)
      .map(({ path, lines }) => `${path} has ${lines} lines`)
}

/** There are no import cycles. Type imports count, because a reader follows them too. */
export const noCycle: Rule = tree => {
  const graph = new Map(sources(tree).map(file => [file.path, targetsOf(file)]))
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

/** Every file of `src` is reachable by imports from an entry point of the program or of a thread. */
export const noDeadFile =
  (...beginnings: readonly string[]): Rule =>
  tree => {
    const files = new Map(sources(tree).map(file => [file.path, file]))
    const reached = new Set<string>()
    const reach = (path: string): void => {
      const file = files.get(path)
      if (file === undefined || reached.has(path)) return
      reached.add(path)
      for (const target of targetsOf(file)) reach(target)
    }
    for (const path of beginnings) reach(path)
    return [...files.keys()].filter(path => !reached.has(path)).map(path => `${path} is not reachable`)
  }
