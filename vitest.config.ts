import { defineConfig } from 'vitest/config'

/** Every lie, and many honest services, in virtual time. They keep a processor busy, at any speed. */
const sweeps = ['test/sweeps/**/*.test.ts', 'test/honest/**/*.test.ts']
/** Services and hostile targets over real sockets, and whole runs of the program. They wait more than they compute. */
const slow = ['test/slow/**/*.test.ts', 'test/hostile/**/*.test.ts']

/** They run scripts with bash, and recipes and repro scripts need it. */
const needsBash = ['curl', 'repro-script'].map(name => `test/unit/run/${name}.test.ts`)

/** Recipes for CI systems, an installation that few users have, and the steps of a release: by night. */
const byNight = ['recipes', 'without-optional', 'release-steps'].map(name => `test/slow/installed/${name}.test.ts`)
const isNightly = process.env.TURNPIKE_NIGHTLY === '1'

/** Long tests take the part of this day. Threads inherit it, so midnight changes nothing within a run. */
process.env.TURNPIKE_DAY ??= new Date().toISOString().slice(0, 10)
if (!isNightly) process.stdout.write(`Long tests take the part of TURNPIKE_DAY=${process.env.TURNPIKE_DAY}\n`)

/** One more than CI has cores, for tests that wait. */
const maxWaiting = 3

/** A test takes as long as the machine needs. The limit only ends one that hangs. */
const testTimeout = 300_000

const shared = {
  pool: 'threads',
  // Projects that run in one command need the same number.
  maxWorkers: 2,
  testTimeout,
  hookTimeout: testTimeout,
  expect: { poll: { timeout: 60_000 } },
} as const

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...shared,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [
            ...[...sweeps, ...slow, 'test/real/**', 'test/alone/**'],
            ...(process.platform === 'win32' ? needsBash : []),
          ],
          // A thread that has loaded `undici` would use it for `fetch`, too.
          setupFiles: ['src/lib/keep-fetch.ts'],
          // Each thread loads a module once for all files, which saves a fifth of the time. A test that spies restores.
          isolate: false,
        },
      },
      // They take minutes, so `npm test` leaves them out.
      { test: { ...shared, name: 'sweeps', include: sweeps, testTimeout: 4 * testTimeout, isolate: false } },
      { test: { ...shared, maxWorkers: maxWaiting, name: 'slow', include: slow, exclude: isNightly ? [] : byNight } },
      // They measure what the machine can do, so nothing may run beside them.
      { test: { ...shared, maxWorkers: 1, name: 'alone', include: ['test/alone/**/*.test.ts'] } },
      // Tests against programs that the project does not install: Prometheus, Pushgateway, Chromium.
      {
        test: {
          ...shared,
          maxWorkers: maxWaiting,
          name: 'real',
          include: ['test/real/**/*.test.ts'],
          maxConcurrency: 2,
        },
      },
    ],
  },
})
