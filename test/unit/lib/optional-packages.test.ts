import { expect, test } from 'vitest'
import { optionalPackages } from '../../../src/lib/optional-packages.ts'

test('packages are loaded once, and not before they are needed', async () => {
  let loads = 0
  const packages = optionalPackages('Tests', ['a'], async () => ++loads)
  expect([packages.loaded(), loads]).toEqual([null, 0])
  expect(await Promise.all([packages.load(), packages.load()])).toEqual([1, 1])
  expect([packages.loaded(), await packages.load(), loads]).toEqual([1, 1, 1])
})

test('a package that is not installed is no error, and a message says what to do', async () => {
  const specifier: string = 'turnpike-has-no-such-package'
  const packages = optionalPackages('Tests', ['a', 'b'], () => import(specifier))
  expect([await packages.load(), packages.loaded()]).toEqual([null, null])
  expect(packages.missing).toBe('Tests need packages that are not installed: a, b. Run npm install --include=optional.')
})

test('an error of an installed package is an error', async () => {
  const packages = optionalPackages('Tests', ['a'], async () => {
    throw new Error('broken')
  })
  await expect(packages.load()).rejects.toThrow('broken')
})
