import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Installed, install } from '../../support/installed.ts'
import { blocksOf } from '../../support/markdown.ts'
import { todays } from '../../support/nightly.ts'

/** Of a user, who may have others than this project. */
const tools = [
  'typescript@5.9.3',
  '@types/node@20.19.43',
  'vitest@4.1.12',
  'publint@0.3.15',
  '@arethetypeswrong/cli@0.18.5',
]

/** The files of docs/library.md: each example starts with its name. */
const examples = new Map(
  blocksOf(readFileSync('docs/library.md', 'utf8'), 'ts').map(text => [/^\/\/ (\S+)\n/.exec(text)?.[1] ?? '', text]),
)

/** A test of a service that breaks a rule, by an author who does not know it yet. */
const failing = `import { run, startService } from 'turnpike'
import 'turnpike/vitest'
import { expect, test } from 'vitest'
import { scenario } from './scenario.js'

test('the service keeps its documentation', async () => {
  const service = await startService({ lies: ['failed-item-in-full'] })
  await expect(run(scenario, { target: service.url })).toPass()
})
`

/** A scenario file of a few seconds. */
const quick = JSON.stringify({
  name: 'quick',
  callers: { count: 2 },
  calls: { rpc: { kind: 'rpc', network: 'ethereum-mainnet', methods: { eth_call: 1 } } },
  stages: [{ name: 'steady', duration: '4s', shape: 'constant', rate: '3/s', mix: { rpc: 1 } }],
  thresholds: [{ expect: 'violations == 0', why: 'The service documents each rule.' }],
})

/** What the compiler must refuse. */
const mistakes = `import { type Report, run, type RunOptions, type Scenario } from 'turnpike'
// @ts-expect-error there is no such kind of call
export const calls: Scenario['calls'] = { chat: { kind: 'chatt', 'prompt-tokens': 20 } }
// @ts-expect-error there is no such option
export const options: RunOptions = { budget: 3 }
export const report: Promise<Report> = run('smoke', { seed: undefined, keys: ['one', ['two', 'three']] })
// @ts-expect-error a verdict is not a number
export const verdict: number = (await report).verdict
`

const compilerOptions = {
  ...{ target: 'es2022', lib: ['es2022'], types: ['node'], strict: true, noEmit: true, skipLibCheck: false },
  ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, verbatimModuleSyntax: true },
}

let installed: Installed
beforeAll(async () => {
  installed = await install()
  const { code, stderr } = await installed.bash(
    `npm pkg set type=module && npm install --prefer-offline --no-audit --no-fund --save-dev ${tools.join(' ')}`,
  )
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('npm error')])
  const files = { ...Object.fromEntries(examples), 'failing.test.ts': failing, 'mistakes.ts': mistakes }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(installed.folder, name), text)
})

describe('the library in a project of somebody else', () => {
  test('has the examples of its page', () => {
    expect([...examples.keys()]).toEqual(['scenario.ts', 'service.test.ts', 'nightly.ts'])
  })

  const resolutions: readonly (readonly [module: string, resolution: string])[] = [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ]

  test.for(todays(resolutions, 2))(
    'has types under strict settings, with the module %s and the resolution %s',
    async ([module, moduleResolution]) => {
      const write = (name: string, include: readonly string[], more: object = {}) =>
        writeFileSync(
          join(installed.folder, name),
          JSON.stringify({ compilerOptions: { ...compilerOptions, module, moduleResolution, ...more }, include }),
        )
      // The types of vitest itself need more than this library.
      write('tsconfig.json', ['scenario.ts', 'nightly.ts', 'mistakes.ts'])
      write('tsconfig.test.json', ['*.test.ts'], { skipLibCheck: true })
      const { code, stdout } = await installed.bash('npx tsc -p . && npx tsc -p tsconfig.test.json')
      expect([code, stdout]).toEqual([0, ''])
    },
  )

  test('runs in vitest, against a service that the test started', async () => {
    const { code, stdout, stderr } = await installed.bash('npx vitest run service.test.ts --testTimeout 60000')
    expect([code, stdout + stderr]).toEqual([0, expect.stringMatching(/2 passed/)])
  })

  test('shows what a failing service did, with the evidence', async () => {
    const { code, stdout, stderr } = await installed.bash('npx vitest run failing.test.ts --testTimeout 60000', {
      NO_COLOR: '1',
    })
    const shown = stdout + stderr
    expect([code, shown]).toEqual([1, expect.stringContaining('expected the run to pass, but it has the verdict fail')])
    expect(shown).toMatch(/1\. {2}rpc\.batch\.error-price/)
    expect(shown).toMatch(/observed +\d+ credits for a batch of 4 .*with 1 failed item, expected \d+/)
    expect(shown).toMatch(/> POST \/crypto\/rpc\/ethereum-mainnet/)
    expect(shown).toMatch(/\$ curl -sS/)
    expect(shown).toContain('failing.test.ts:8')
  })

  test('runs where a test runner transforms it like the code of the project', async () => {
    const config = "export default { test: { server: { deps: { inline: ['turnpike'] } }, pool: 'threads' } }"
    writeFileSync(join(installed.folder, 'inline.config.js'), config)
    const { code, stdout, stderr } = await installed.bash(
      'npx vitest run --config inline.config.js service.test.ts --testTimeout 60000',
    )
    expect([code, stdout + stderr]).toEqual([0, expect.stringMatching(/2 passed/)])
  })

  test('runs from a program', async () => {
    // The shipped scenario takes a minute.
    writeFileSync(join(installed.folder, 'quick.yaml'), quick)
    const program = examples.get('nightly.ts')?.replace("run('smoke'", "run('quick.yaml'") ?? ''
    writeFileSync(join(installed.folder, 'quick.ts'), program)
    const { code, stdout } = await installed.bash(
      'npx tsc quick.ts --target es2022 --module nodenext --skipLibCheck --types node && { node quick.js; code=$?; head -c 15 report.html; exit $code; }',
    )
    // On a busy machine, the run proves nothing about times.
    const isBusy = readFileSync(join(installed.folder, 'report.html'), 'utf8').includes('class="verdict">inconclusive<')
    expect([isBusy ? 0 : code, stdout]).toEqual([
      0,
      expect.stringMatching(/^(?:\(opening\) \d+ 0\n)*steady \d+ 0\n[\s\S]*<!doctype html>$/i),
    ])
  })

  test('satisfies publint and arethetypeswrong', async () => {
    const { code, stdout } = await installed.bash(
      `npx publint --strict '${installed.tarball}' && npx attw '${installed.tarball}' --profile esm-only`,
    )
    expect([code, stdout]).toEqual([0, expect.stringMatching(/All good!/)])
  })
})
