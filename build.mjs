// Builds `dist`: the program, and the declarations of what `exports` opens. With `--program` without declarations.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { build } from 'esbuild'

const dist = 'dist'
rmSync(dist, { recursive: true, force: true })
if (!process.argv.includes('--program')) writeDeclarations()

/** What the command line, an import of the library, and the program's own threads start from. */
const entries = [
  'main',
  'turnpike',
  'vitest',
  'run/thread-main',
  'run/warm-up-service',
  'run/signer-main',
  'prove/thread-main',
]
const withFile = /\bimport\.meta\.url\b/g

/** A module that finds a file beside itself still does so in a chunk, which is a file of `dist` itself. */
const filesBesideModules = {
  name: 'files-beside-modules',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const place = relative(resolve('src'), path).replace(/\.ts$/, '.js').split(sep).join('/')
      const contents = readFileSync(path, 'utf8').replace(withFile, `new URL('./${place}', import.meta.url).href`)
      return { contents, loader: 'ts' }
    }),
}

/**
 * Few files, since each costs time when the program and each of its threads start. A command that is loaded on demand is
 * a chunk of its own. Names stay readable for stack traces, and packages are not part of it.
 */
const { metafile } = await build({
  entryPoints: entries.map(entry => `src/${entry}.ts`),
  outbase: 'src',
  outdir: dist,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  packages: 'external',
  charset: 'utf8',
  plugins: [filesBesideModules],
  metafile: true,
  logLevel: 'warning',
})
chmodSync(join(dist, 'main.js'), 0o755)
for (const [output, { inputs }] of Object.entries(metafile.outputs))
  for (const input of Object.keys(inputs))
    if (dirname(output) !== dist && withFile.test(readFileSync(input, 'utf8')))
      throw new Error(`${input} is part of ${output}, so that it does not find the files beside it`)
const scripts = join('run', 'queue', 'scripts')
cpSync(join('src', scripts), join(dist, scripts), { recursive: true })

function writeDeclarations() {
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')
  const { status } = spawnSync(process.execPath, [tsc, '-p', 'src/tsconfig.json'], { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
  /** The declarations that those of the entries refer to. The others describe private files. */
  const open = new Set()
  const visit = file => {
    if (open.has(file)) return
    open.add(file)
    const imports = readFileSync(file, 'utf8').matchAll(/\b(?:from|import)\s*\(?\s*['"](\.[^'"]+)\.[tj]s['"]/g)
    for (const [, path] of imports) visit(join(dirname(file), `${path}.d.ts`))
  }
  for (const entry of ['turnpike', 'vitest']) visit(join(dist, `${entry}.d.ts`))
  for (const file of readdirSync(dist, { recursive: true, encoding: 'utf8' }).map(each => join(dist, each)))
    if (file.endsWith('.d.ts') && !open.has(file)) rmSync(file)
}
