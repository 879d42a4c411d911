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

test('npm runs no script of the package when somebody installs it', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  expect(Object.keys(scripts).filter(name => /^(pre|post)?(install|prepare)$/.test(name))).toEqual([])
})
