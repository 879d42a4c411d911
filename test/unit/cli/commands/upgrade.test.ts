import { readFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { runCli } from '../../../../src/cli/cli.ts'
import { howToUpgrade } from '../../../../src/cli/commands/upgrade.ts'

test.each([
  ['/home/ann/.npm/_npx/1a2b/node_modules/turnpike/dist/main.js', 'npx turnpike@latest'],
  ['/opt/homebrew/Cellar/turnpike/0.1.0/libexec/lib/node_modules/turnpike/dist/main.js', 'brew upgrade turnpike'],
  ['/app/dist/main.js', 'docker pull <the image that you run>'],
  ['/home/ann/.nvm/versions/node/v22/lib/node_modules/turnpike/dist/main.js', 'npm install --global turnpike@latest'],
  [
    'C:\\Users\\Ann\\AppData\\Roaming\\npm\\node_modules\\turnpike\\dist\\main.js',
    'npm install --global turnpike@latest',
  ],
  ['/home/ann/shop/node_modules/turnpike/dist/main.js', 'npm install --save-dev turnpike@latest'],
  ['C:\\shop\\node_modules\\turnpike\\dist\\main.js', 'npm install --save-dev turnpike@latest'],
  ['/shop/node_modules/.pnpm/turnpike@0.1.0/node_modules/turnpike/dist/main.js', 'pnpm add --save-dev turnpike@latest'],
  [
    '/home/ann/.local/share/pnpm/global/5/node_modules/.pnpm/turnpike@0.1.0/node_modules/turnpike/dist/main.js',
    'pnpm add --global turnpike@latest',
  ],
  ['/home/ann/turnpike/dist/main.js', 'git pull && npm ci && npm run build'],
])('the program at %s is upgraded by %s', (path, command) => {
  expect(howToUpgrade(path)).toBe(command)
})

test('the image has its program where the hint expects it', () => {
  expect(readFileSync('Dockerfile', 'utf8')).toMatch(
    /\nWORKDIR \/app\nCOPY --from=build .*\nCOPY --from=build \/app\/dist dist\n/,
  )
})

test('turnpike upgrade prints the command alone to stdout', async () => {
  const written: string[] = []
  const [out, err] = [process.stdout, process.stderr].map(stream =>
    vi.spyOn(stream, 'write').mockImplementation(text => written.push(`${text}`) > 0),
  )
  try {
    expect(await runCli(['upgrade'])).toBe(0)
  } finally {
    out?.mockRestore()
    err?.mockRestore()
  }
  expect(written).toEqual([
    expect.stringMatching(/^This is turnpike \d+\.\d+\.\d+\S*\. The command installs the newest version:\n$/),
    'git pull && npm ci && npm run build\n',
  ])
})
