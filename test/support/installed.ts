import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { endOf } from './shell.ts'
import { type Ended, freshDirectory } from './turnpike.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** What a report says if the machine was too busy to measure times. */
export const ofBusyMachine = /Turnpike (?:stalled|was late)|not\s+exact\s+enough/

/** A run of the smoke scenario against its own reference service. On a busy machine it proves nothing about times. */
export function expectSmokePassed({ code, stdout }: Ended): void {
  const isBusy = code === 3 && ofBusyMachine.test(stdout)
  expect([isBusy ? 0 : code, stdout]).toEqual([0, expect.stringMatching(/^(PASS|INCONCLUSIVE) {2}smoke/)])
}

type Environment = Readonly<Record<string, string>>

/** The package, installed from its tarball in a folder that held nothing else. */
export type Installed = {
  readonly folder: string
  readonly tarball: string
  /** Runs a script of bash in the folder. Its exit code is that of its last command. */
  readonly bash: (script: string, environment?: Environment) => Promise<Ended>
  /** `npx turnpike` with these arguments. */
  readonly turnpike: (args: string, environment?: Environment) => Promise<Ended>
  /** Starts a command that prints the address of its service. It ends when the test does. */
  readonly serve: (command: string, onEnd: (end: () => void) => void) => Promise<string>
}

/** Packs the project and installs the tarball. Needs the npm registry, or npm's cache, for the dependencies. */
export async function install(flags = ''): Promise<Installed> {
  const { folder, tarball } = await pack()
  const project = join(folder, 'project')
  mkdirSync(project)
  await succeed(`npm install --prefer-offline --no-audit --no-fund --save-dev ${flags} '${tarball}'`, project)
  return installedIn(project, tarball)
}

/** The tarball of a copy of the project, in which an earlier build has left a file. */
export async function pack(): Promise<{ readonly folder: string; readonly tarball: string }> {
  const folder = freshDirectory()
  const copy = copyProject(folder)
  mkdirSync(join(copy, 'dist'))
  writeFileSync(join(copy, 'dist', 'stale.js'), '')
  const { stdout } = await succeed(`npm pack --silent --pack-destination '${folder}'`, copy)
  return { folder, tarball: join(folder, stdout.trim()) }
}

/** A copy of the project that can be built: without tests, and without what earlier builds and runs left. */
export function copyProject(folder: string): string {
  const copy = join(folder, 'copy')
  const left = ['node_modules', '.git', 'dist', 'dist-bench', 'runs', 'test', 'site']
  for (const name of readdirSync(root).filter(each => !left.includes(each)))
    cpSync(join(root, name), join(copy, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

/** The package in a folder in which it is installed. */
export function installedIn(folder: string, tarball: string): Installed {
  const bash = (script: string, environment: Environment = {}) => endOf(start(script, folder, environment))
  return {
    folder,
    tarball,
    bash,
    turnpike: (args, environment) => bash(`npx --no-install turnpike ${args}`, environment),
    serve: (command, onEnd) =>
      new Promise((resolve, reject) => {
        const child = start(command, folder, {}, true)
        // With npx and what it has started.
        onEnd(() => void (child.exitCode === null && child.pid !== undefined && process.kill(-child.pid, 'SIGKILL')))
        let stderr = ''
        child.stderr.on('data', bytes => {
          stderr += bytes
          const address = /http:\S+\/api\/v1/.exec(stderr)?.[0]
          if (address !== undefined) resolve(address)
        })
        child.once('close', () => reject(new Error(`the service ended: ${stderr}`)))
      }),
  }
}

async function succeed(script: string, folder: string): Promise<Ended> {
  const result = await endOf(start(script, folder, {}))
  if (result.code !== 0) throw new Error(`${script} ended with ${result.code}: ${result.stderr}`)
  return result
}

const start = (script: string, cwd: string, environment: Environment, detached = false) =>
  spawn('bash', ['-c', script], {
    cwd,
    detached,
    env: { ...ownEnvironment(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })

/** The environment of a user: nothing of `npm run`, of a CI, or of Turnpike. */
export function ownEnvironment(): NodeJS.ProcessEnv {
  const foreign =
    /^(npm_(?!config_)|npm_config_(local_)?prefix$|INIT_CWD$|NODE_ENV$|VITEST|TURNPIKE_|GITHUB_|CI$|NO_COLOR$|FORCE_COLOR$)/
  const own = Object.entries(process.env).filter(([name]) => !foreign.test(name))
  const path = (process.env.PATH ?? '').split(':').filter(each => !each.endsWith('node_modules/.bin'))
  return { ...Object.fromEntries(own), PATH: path.join(':') }
}
