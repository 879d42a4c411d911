import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../support/free-port.ts'
import { expectSmokePassed, type Installed, installedIn, ofBusyMachine, pack } from '../../support/installed.ts'
import { blocksOf, headingsOf, linksOf } from '../../support/markdown.ts'
import type { Ended } from '../../support/turnpike.ts'

const readme = readFileSync('README.md', 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'turnpike-readme-'))
/** The first two commands of the README. */
const [install = '', run = ''] = (blocksOf(readme, 'sh')[0] ?? '').split('\n')

let installed: Installed
let installing: Ended
beforeAll(async () => {
  installed = installedIn(folder, (await pack()).tarball)
  // The tarball in place of its name in the registry.
  installing = await installed.bash(install.replace(/turnpike$/, installed.tarball))
})

const packageFolder = () => join(installed.folder, 'node_modules/turnpike')
const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))

describe('the package', () => {
  test('runs with npx in an empty folder without a project, and leaves nothing there', async () => {
    const empty = mkdtempSync(join(tmpdir(), 'turnpike-npx-'))
    const { bash } = installedIn(empty, installed.tarball)
    const { code, stdout } = await bash(
      `npx --yes --prefer-offline --package '${installed.tarball}' turnpike --version`,
    )
    expect([code, stdout]).toEqual([0, `${JSON.parse(readFileSync('package.json', 'utf8')).version}\n`])
    expect(readdirSync(empty)).toEqual([])
  })

  test('holds what its README names, and no build leftovers, tests or sources', () => {
    const files = filesIn(packageFolder())
    const expected = [
      ...['README.md', 'CHANGELOG.md', 'LICENSE', 'package.json', 'dist/main.js', 'scenarios/smoke.yaml'],
      ...['scenarios/scenario.schema.json', 'scenarios/profile.schema.json', 'docs/report.schema.json'],
      'scenarios/profiles/openai-compatible.yaml',
      ...['dashboards/grafana/run.json', 'dashboards/prometheus/alerts.rules.yml', 'docs/recipes.md'],
      ...['docs/examples/nightly.sh', 'docs/examples/github-nightly.yml'],
    ]
    expect(expected.filter(file => !files.includes(file))).toEqual([])
    // The build removes what an earlier one left in dist.
    expect(
      files.filter(file => /stale|(?<!\.d)\.ts$|tsbuildinfo|\.map$|^(src|test|runs|node_modules)\//.test(file)),
    ).toEqual([])
    // Each file of the program is one that it starts from, or part of another one.
    const built = files.filter(file => file.startsWith('dist/') && file.endsWith('.js'))
    const imported = new Set(
      built.flatMap(file =>
        [...readFileSync(join(packageFolder(), file), 'utf8').matchAll(/(?:from |import |import\()"(\.[^"]+)"/g)].map(
          ([, path = '']) => join(dirname(file), path),
        ),
      ),
    )
    expect(built.filter(file => !imported.has(file)).sort()).toEqual([
      ...[
        'dist/main.js',
        'dist/prove/thread-main.js',
        'dist/run/signer-main.js',
        'dist/run/thread-main.js',
        'dist/run/warm-up-service.js',
      ],
      ...['dist/turnpike.js', 'dist/vitest.js'],
    ])
  })

  test('has links that work in the package', () => {
    const pages = filesIn(packageFolder()).filter(file => file.endsWith('.md'))
    const broken = pages.flatMap(page => {
      const read = (file: string) => readFileSync(join(packageFolder(), file), 'utf8')
      return linksOf(read(page))
        .map(({ target }) => target)
        .filter(target => {
          const [path = '', anchor] = target.split('#')
          if (/^[a-z]+:/.test(target)) return false
          const linked = path === '' ? page : normalize(join(dirname(page), path))
          if (!existsSync(join(packageFolder(), linked))) return true
          return anchor !== undefined && !headingsOf(read(linked)).some(heading => heading.anchor === anchor)
        })
        .map(target => `${page}: ${target}`)
    })
    expect(pages.length).toBeGreaterThan(20)
    expect(broken).toEqual([])
  })

  test('is at most a megabyte and a half to download', async () => {
    const { stdout } = await installed.bash(`wc -c <'${installed.tarball}'`)
    expect(Number(stdout)).toBeLessThan(1_572_864)
  })

  test('closes its internals, and opens its library and its schemas', async () => {
    const load = (name: string) =>
      installed.bash(`node -e "import('${name}', { with: { type: 'json' } }).catch(cause => console.log(cause.code))"`)
    expect((await load('turnpike/dist/main.js')).stdout).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED\n')
    expect((await load('turnpike/dist/turnpike.js')).stdout).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED\n')
    expect(
      (await installed.bash(`node -e "import('turnpike').then(all => console.log(Object.keys(all).join()))"`)).stdout,
    ).toBe('UsageError,defineScenario,diff,importTraffic,prove,renderReport,run,shrink,startService\n')
    for (const name of ['package', 'scenario.schema', 'report.schema', 'comparison.schema'])
      expect((await load(`turnpike/${name}.json`)).stdout).toBe('')
  })
})

describe('the first page of the README, in an empty folder', () => {
  test('installs', () => {
    expect(install).toBe('npm install --save-dev turnpike')
    expect([installing.code, installing.stderr]).toEqual([0, expect.not.stringContaining('ERR')])
  })

  test('runs a shipped scenario by its name', async () => {
    expect(run).toMatch(/^npx turnpike run smoke\b/)
    expectSmokePassed(await installed.bash(run))
  })
})

test('the tutorial catches the service that it starts', async ({ onTestFinished }) => {
  const { bash, serve } = installed
  const tutorial = readFileSync('docs/tutorial.md', 'utf8')
  const [scenario = '', changed = ''] = blocksOf(tutorial, 'yaml')
  const [notNoticed = '', failed = ''] = blocksOf(tutorial, '')
  const [installs = '', profile = '', ...steps] = blocksOf(tutorial, 'sh')
  const [plan = '', honest = '', prove = '', proveAgain = '', service = '', wrong = '', show = '', shrink = ''] = steps
  expect([installs, steps.length]).toEqual([`${install}\n${run.replace(/ *#.*/, '')}\n`, 8])
  const port = String(await freePort())
  const ended = async (script: string) => {
    const { code, stdout, stderr } = await bash(script.replaceAll('8402', port))
    return { code, said: `${stdout}${stderr}` }
  }
  const write = (text: string) => writeFileSync(join(folder, 'mine.yaml'), text)

  expect(await ended(profile)).toEqual({ code: 0, said: '' })
  write(scenario)
  const planned = await ended(plan)
  expect([planned.code, planned.said]).toEqual([
    0,
    expect.stringMatching(/forecast +90 requests,.* worst case \$0\.01/),
  ])
  const passed = await ended(honest)
  expect(passed.said).toMatch(passed.code === 3 ? ofBusyMachine : /^PASS {2}mine/m)
  expect((await ended(prove)).said).toContain(notNoticed)
  write(scenario.replace(/^ {2}batch: .*\n/m, changed))
  const proved = await ended(proveAgain)
  expect([proved.code, proved.said]).toEqual([0, expect.not.stringContaining('failed-item-in-full')])

  await serve(service.trim().replaceAll('8402', port), onTestFinished)
  const withoutNumber = (text: string) => text.replace(/\d+ violations/, 'N violations')
  const caught = await ended(wrong)
  expect([caught.code, withoutNumber(caught.said)]).toEqual([1, expect.stringContaining(withoutNumber(failed))])
  const shown = await ended(show)
  expect([shown.code, shown.said]).toEqual([0, expect.stringContaining('x-service-rpc-credits: 100')])
  expect(shown.said).toContain('expected 85')
  const [withoutProfile = ''] = shrink.split(' --profile')
  expect((await ended(withoutProfile)).said).toContain('--profile: got nothing, expected the file of the profile')
  const shrunk = await ended(shrink)
  expect([shrunk.code, shrunk.said]).toEqual([0, expect.stringContaining('size: 1, failing-items: 1 }')])
})
