import { fileURLToPath } from 'node:url'
import { exitCodes, version } from '../flags.ts'

/** By where the program is: what installs the newest version there. The first that fits counts. */
const ways: readonly (readonly [place: RegExp, command: string])[] = [
  [/\/_npx\//, 'npx turnpike@latest'],
  [/\/Cellar\//, 'brew upgrade turnpike'],
  // The folder of the image.
  [/^\/app\/dist\//, 'docker pull <the image that you run>'],
  [/\/pnpm\/global\//, 'pnpm add --global turnpike@latest'],
  [/\/node_modules\/\.pnpm\//, 'pnpm add --save-dev turnpike@latest'],
  [/\/(?:lib|npm)\/node_modules\/turnpike\//, 'npm install --global turnpike@latest'],
  [/\/node_modules\/turnpike\//, 'npm install --save-dev turnpike@latest'],
]

/** What upgrades the program whose files are at `path`; in a clone, as its README builds it. */
export const howToUpgrade = (path: string): string =>
  ways.find(([place]) => place.test(path.replaceAll('\\', '/')))?.[1] ?? 'git pull && npm ci && npm run build'

/** Prints a command, and runs nothing: Turnpike asks no registry whether there is a newer version. */
export async function upgradeCommand(): Promise<number> {
  process.stderr.write(`This is turnpike ${version}. The command installs the newest version:\n`)
  process.stdout.write(`${howToUpgrade(fileURLToPath(import.meta.url))}\n`)
  return exitCodes.pass
}
