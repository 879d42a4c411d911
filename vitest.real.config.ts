import { defineConfig } from 'vitest/config'

/** Tests against programs of others, which the project does not install by itself: not part of `npm test`. */
export default defineConfig({
  test: { include: ['test/real/**/*.test.ts'], testTimeout: 60_000, pool: 'threads' },
})
