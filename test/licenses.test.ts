import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { dependenciesOf, type Locked, permissive, renderLicenses } from './support/render-licenses.ts'

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
const dependencies = dependenciesOf(packages as Readonly<Record<string, Locked>>)

test('THIRD_PARTY.md is what package-lock.json makes of it', () => {
  const current = renderLicenses(dependencies)
  if (process.env.UPDATE_DOCS === '1') writeFileSync('THIRD_PARTY.md', current)
  expect(readFileSync('THIRD_PARTY.md', 'utf8'), 'UPDATE_DOCS=1 npx vitest run test/licenses.test.ts').toBe(current)
})

test('every direct dependency is listed', () => {
  const { dependencies: always, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const listed = (isOptional: boolean) =>
    dependencies.filter(each => each.isOptional === isOptional).map(({ name }) => name)
  const named = (versions: Record<string, string>) =>
    Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  expect(named(always).filter(name => !listed(false).includes(name))).toEqual([])
  expect(named(optionalDependencies).filter(name => !listed(true).includes(name))).toEqual([])
})

test('no dependency has a license that asks for more than a notice', () => {
  expect(dependencies.filter(({ license }) => !permissive.includes(license))).toEqual([])
})

test.each([
  ['none is stated', {}, 'none'],
  ['it asks for more', { license: 'AGPL-3.0' }, 'AGPL-3.0'],
])('a package is listed if %s, and one of developers is not', (_, stated, license) => {
  const locked = {
    '': {},
    'node_modules/a/node_modules/@b/c': { version: '1.0.0', ...stated },
    'node_modules/d': { dev: true },
  }
  expect(dependenciesOf(locked)).toEqual([{ name: '@b/c 1.0.0', license, isOptional: false }])
})

test('every dependency runs on each Node.js that package.json names', () => {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8'))
  const needed = Object.entries<{ readonly dev?: true; readonly engines?: { readonly node?: string } }>(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, each]) => [path, each.engines?.node ?? '*'] as const)
  const lowest = ['20.19.0', '22.12.0', '23.0.0', '24.0.0', '26.0.0']
  expect(lowest.map(version => isIn(version, engines.node))).not.toContain(false)
  expect(needed.filter(([, range]) => !lowest.every(version => isIn(version, range)))).toEqual([])
  const unsupported = ['20.18.9', '21.0.0', '22.11.9']
  expect(unsupported.map(version => isIn(version, engines.node))).not.toContain(true)
})

/** Whether a version is in a range such as `^20.19.0 || >=23`. */
const isIn = (version: string, range: string): boolean =>
  range.split('||').some(part => {
    const [, sign, major = '*', rest = ''] = /^\s*(\^|>=|)\s*(\d+|\*)((?:\.(?:\d+|\*|x))*)\s*$/.exec(part) ?? []
    if (sign === undefined) throw new Error(`a range that this test cannot read: ${part}`)
    if (major === '*') return true
    const from = [major, ...rest.split('.').slice(1)].map(each => Number(each) || 0)
    const its = version.split('.').map(Number)
    const differs = its.findIndex((each, index) => each !== (from[index] ?? 0))
    const isLater = differs < 0 || (its[differs] ?? 0) > (from[differs] ?? 0)
    return isLater && (sign === '>=' || its[0] === from[0])
  })

test('npm runs no script of the package when somebody installs it', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  expect(Object.keys(scripts).filter(name => /^(pre|post)?(install|prepare)$/.test(name))).toEqual([])
})
