import { defineConfig } from 'vitest/config'

/** Sweeps, and whole runs of the program that take long: not part of `npm test`, which is to be over within two minutes. */
export default defineConfig({
  test: { include: ['test/slow/**/*.test.ts'], testTimeout: 120_000, pool: 'threads', maxWorkers: 2 },
})
