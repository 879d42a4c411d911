import { defineConfig } from 'vitest/config'

/** Tests that take minutes: not part of `npm test`. */
export default defineConfig({
  test: { include: ['test/slow/**/*.test.ts'], testTimeout: 120_000, pool: 'threads' },
})
