// Builds `dist`: the program, and the declarations of what `exports` opens.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const dist = 'dist'
rmSync(dist, { recursive: true, force: true })
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')
const { status } = spawnSync(process.execPath, [tsc, '-p', 'src/tsconfig.json'], { stdio: 'inherit' })
if (status !== 0) process.exit(status ?? 1)
chmodSync(join(dist, 'main.js'), 0o755)
const scripts = join('run', 'queue', 'scripts')
cpSync(join('src', scripts), join(dist, scripts), { recursive: true })

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
